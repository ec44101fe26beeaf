"""A model in the ONNX format as a function of arrays: run, compiled, differentiated, exported.

    python examples/onnx/onnx_model.py [MODEL.onnx]

A graph of ONNX is a list of operations on named values.  The interpreter below walks over it and
calls, for each, a function on arrays; so a model is an ordinary function, which `jit` compiles,
`grad` differentiates and `export` writes down as StableHLO.

Numbers that decide about shapes (the new shape of a `Reshape`, the places of a `Slice`) must be
known while a function is traced.  In ONNX they are tensors like all others.  So integers that are
part of the model, and what is computed of them and of shapes alone, are NumPy arrays here, which
tracing leaves alone.  Floating-point numbers of the model are its parameters.

Without a file, the program makes a small convolutional classifier with the `onnx` package.  Results
are compared with those of the reference implementation that comes with it.

Reference: the operators of ONNX, https://onnx.ai/onnx/operators/.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper, numpy_helper

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

Values = dict[str, Any]
Operator = Callable[..., Any]


def _xp(*values: Any) -> Any:
    """NumPy where all is known, so that the result is known too."""
    return np if all([isinstance(x, np.ndarray | np.generic) for x in values]) else jnp


def _numbers(x: Any) -> tuple[int, ...]:
    """The integers of a tensor that decides about shapes."""
    if isinstance(x, jax.core.Tracer):
        raise TypeError(
            f"a shape of the model depends on {x}, which is not known while it is traced; "
            "make it a constant of the model"
        )
    return tuple(np.asarray(x).ravel().tolist())


def _shape(x: Any) -> Any:
    """The sizes as a tensor; of objects, where some are symbols."""
    are_known = all([isinstance(n, int) for n in x.shape])
    sizes = np.empty(x.ndim, np.int64 if are_known else object)
    sizes[:] = x.shape
    return sizes


# Windows: convolutions and pooling.


def _pads(
    rank: int, auto_pad: str = "NOTSET", pads: Sequence[int] = (), **_: Any
) -> str | list[tuple[int, int]]:
    if auto_pad not in ("NOTSET", ""):
        return {"SAME_UPPER": "SAME", "SAME_LOWER": "SAME_LOWER", "VALID": "VALID"}[auto_pad]
    given = list(pads) or [0] * 2 * rank
    return list(zip(given[:rank], given[rank:], strict=True))


def _conv(
    x: Any,
    w: Any,
    bias: Any = None,
    *,
    strides: Any = None,
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    **padding: Any,
) -> Any:
    rank = x.ndim - 2
    out = lax.conv_general_dilated(
        x,
        w,
        strides or (1,) * rank,
        _pads(rank, **padding),
        rhs_dilation=dilations,
        feature_group_count=group,
    )
    return out if bias is None else out + bias.reshape(-1, *[1] * rank)


def _pool(x: Any, start: float, combine: Any, shape: Any, strides: Any, **padding: Any) -> Any:
    rank = x.ndim - 2
    pads = _pads(rank, **padding)
    if isinstance(pads, list):
        pads = [(0, 0), (0, 0), *pads]
    window, steps = (1, 1, *shape), (1, 1, *(strides or (1,) * rank))
    return lax.reduce_window(x, np.asarray(start, x.dtype)[()], combine, window, steps, pads)


def _max_pool(x: Any, *, kernel_shape: Any, strides: Any = None, **padding: Any) -> Any:
    _check_plain("MaxPool", padding)
    return _pool(x, -np.inf, lax.max, kernel_shape, strides, **padding)


def _average_pool(
    x: Any,
    *,
    kernel_shape: Any,
    strides: Any = None,
    count_include_pad: int = 0,
    **padding: Any,
) -> Any:
    _check_plain("AveragePool", padding)
    total = _pool(x, 0.0, lax.add, kernel_shape, strides, **padding)
    if count_include_pad:
        return total / math.prod(kernel_shape)
    return total / _pool(jnp.ones_like(x), 0.0, lax.add, kernel_shape, strides, **padding)


def _check_plain(name: str, options: Mapping[str, Any]) -> None:
    if options.get("ceil_mode", 0) or any([d != 1 for d in options.get("dilations", ())]):
        raise NotImplementedError(f"{name} with dilations, or with ceil_mode: {dict(options)}")


# Normalisation.


def _batch_norm(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float = 1e-5, **_: Any
) -> Any:
    shape = (-1, *[1] * (x.ndim - 2))
    factor = scale / jnp.sqrt(variance + epsilon)
    return x * factor.reshape(shape) + (bias - mean * factor).reshape(shape)


def _layer_norm(
    x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5, **_: Any
) -> Any:
    axes = tuple(range(axis % x.ndim, x.ndim))
    centred = x - x.mean(axes, keepdims=True)
    out = centred * lax.rsqrt((centred * centred).mean(axes, keepdims=True) + epsilon) * scale
    return out if bias is None else out + bias


# Products.


def _gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    product = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return product if c is None else product + beta * c


# Shapes and places.


def _reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    sizes = _numbers(shape)
    if not allowzero:
        sizes = tuple([x.shape[i] if n == 0 else n for i, n in enumerate(sizes)])
    return x.reshape(sizes)


def _flatten(x: Any, *, axis: int = 1) -> Any:
    return x.reshape(math.prod(x.shape[: axis % (x.ndim + 1)]), -1)


def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    places = range(x.ndim) if axes is None else _numbers(axes)
    strides = [1] * x.ndim if steps is None else _numbers(steps)
    index = [slice(None)] * x.ndim
    bounds = zip(places, _numbers(starts), _numbers(ends), strides, strict=False)
    for axis, start, end, step in bounds:
        # Backwards, an end far below the first element means that it is taken too.
        stop = None if step < 0 and end < -x.shape[axis] else end
        index[axis] = slice(start, stop, step)
    return x[tuple(index)]


def _squeeze(x: Any, axes: Any = None) -> Any:
    return x.squeeze(None if axes is None else _numbers(axes))


def _gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    xp = _xp(x, indices)
    size = x.shape[axis]
    return xp.take(x, xp.where(indices < 0, indices + size, indices), axis=axis)


def _cast(x: Any, *, to: int, **_: Any) -> Any:
    return x.astype(helper.tensor_dtype_to_np_dtype(to))


def _constant(*, value: Any = None, value_float: Any = None, value_int: Any = None) -> Any:
    given = [v for v in (value, value_float, value_int) if v is not None]
    dtype = np.float32 if value_float is not None else None
    return np.asarray(given[0], dtype)


def _reduction(name: str) -> Operator:
    def reduce(
        x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Any:
        if axes is None and noop_with_empty_axes:
            return x
        return getattr(_xp(x), name)(
            x, axis=None if axes is None else _numbers(axes), keepdims=bool(keepdims)
        )

    return reduce


def _elementwise(name: str) -> Operator:
    return lambda *xs: getattr(_xp(*xs), name)(*xs)


def _divide(x: Any, y: Any) -> Any:
    """Integers are divided as in C: towards zero."""
    if np.issubdtype(x.dtype, np.integer):
        xp = _xp(x, y)
        return (xp.sign(x) * xp.sign(y) * (abs(x) // abs(y))).astype(x.dtype)
    return x / y


OPERATORS: dict[str, Operator] = {
    "Abs": _elementwise("abs"),
    "Add": _elementwise("add"),
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": lambda x, low=None, high=None: _xp(x).clip(x, low, high),
    "Concat": lambda *xs, axis: _xp(*xs).concatenate(xs, axis),
    "Constant": _constant,
    "Conv": _conv,
    "Div": _divide,
    "Dropout": lambda x, *_, **__: x,
    "Equal": _elementwise("equal"),
    "Erf": lax.erf,
    "Exp": _elementwise("exp"),
    "Expand": lambda x, shape: x * jnp.ones(_numbers(shape), x.dtype),
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": lambda x: x.mean(tuple(range(2, x.ndim)), keepdims=True),
    "Identity": lambda x: x,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": lambda x, alpha=0.01: jax.nn.leaky_relu(x, alpha),
    "Log": _elementwise("log"),
    "MatMul": _elementwise("matmul"),
    "MaxPool": _max_pool,
    "Mul": _elementwise("multiply"),
    "Neg": _elementwise("negative"),
    "Pow": lambda x, y: _xp(x, y).power(x, y).astype(x.dtype),
    "ReduceMax": _reduction("max"),
    "ReduceMean": _reduction("mean"),
    "ReduceSum": _reduction("sum"),
    "Relu": jax.nn.relu,
    "Reshape": _reshape,
    "Shape": _shape,
    "Sigmoid": jax.nn.sigmoid,
    "Slice": _slice,
    "Softmax": lambda x, axis=-1: jax.nn.softmax(x, axis),
    "Sqrt": _elementwise("sqrt"),
    "Squeeze": _squeeze,
    "Sub": _elementwise("subtract"),
    "Tanh": _elementwise("tanh"),
    "Transpose": lambda x, perm=None: x.transpose(perm),
    "Unsqueeze": lambda x, axes: _xp(x).expand_dims(x, _numbers(axes)),
    "Where": _elementwise("where"),
}
OLDEST_OPSET = 13  # before, some operators had attributes where these take tensors


def as_function(model: Any) -> tuple[Callable[..., tuple[Any, ...]], Values]:
    """The function that a model is, and its parameters.

    Returns:
        ``f(parameters, *inputs)``, whose results are those of the model, and the parameters: the
        floating-point tensors of the model, by name.

    Raises:
        NotImplementedError: for an operator that `OPERATORS` lacks, or an opset that is too old.
    """
    graph = model.graph
    (opset,) = [i.version for i in model.opset_import if i.domain in ("", "ai.onnx")]
    missing = sorted({node.op_type for node in graph.node} - OPERATORS.keys())
    if missing or opset < OLDEST_OPSET:
        raise NotImplementedError(
            f"model {graph.name!r}: operators {missing} of opset {opset}; there are "
            f"{sorted(OPERATORS)}, of opset {OLDEST_OPSET} and later"
        )
    tensors = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    parameters = {k: v for k, v in tensors.items() if np.issubdtype(v.dtype, np.floating)}
    known = {k: v for k, v in tensors.items() if k not in parameters}
    names = [i.name for i in graph.input if i.name not in tensors]

    def function(parameters: Values, *inputs: Any) -> tuple[Any, ...]:
        values = {**known, **parameters, **dict(zip(names, inputs, strict=True))}
        for node in graph.node:
            operands = [values[name] if name else None for name in node.input]
            results = OPERATORS[node.op_type](*operands, **_attributes(node))
            outputs = results if isinstance(results, tuple) else (results,)
            values.update(zip(node.output, outputs, strict=False))
        return tuple([jnp.asarray(values[o.name]) for o in graph.output])

    return function, parameters


def _attributes(node: Any) -> dict[str, Any]:
    found = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    as_python = {bytes: bytes.decode, TensorProto: numpy_helper.to_array}
    return {k: as_python.get(type(v), lambda v: v)(v) for k, v in found.items()}


def classifier() -> Any:
    """A model for pictures of 8 × 8 in four classes, of random parameters."""
    draw = np.random.default_rng(0)

    def tensor(name: str, *shape: int) -> Any:
        scale = math.prod(shape[1:]) ** -0.5
        return numpy_helper.from_array((draw.normal(size=shape) * scale).astype(np.float32), name)

    node = helper.make_node
    nodes = [
        node("Conv", ["pictures", "kernel", "bias"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", ["m"], ["sizes"]),
        node("Gather", ["sizes", "first"], ["batch"]),
        node("Concat", ["batch", "rest"], ["flat"], axis=0),
        node("Reshape", ["m", "flat"], ["f"]),
        node("LayerNormalization", ["f", "scale"], ["n"]),
        node("Gemm", ["n", "weights", "offsets"], ["scores"], transB=1),
        node("Softmax", ["scores"], ["probabilities"], axis=-1),
    ]
    tensors = [
        tensor("kernel", 6, 1, 3, 3),
        tensor("bias", 6),
        numpy_helper.from_array(np.ones(96, np.float32), "scale"),
        tensor("weights", 4, 96),
        tensor("offsets", 4),
        numpy_helper.from_array(np.array([0]), "first"),
        numpy_helper.from_array(np.array([-1]), "rest"),
    ]
    pictures = helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["n", 1, 8, 8])
    out = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 4])
    graph = helper.make_graph(nodes, "classifier", [pictures], [out], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


def inputs_of(model: Any) -> list[Any]:
    """Random numbers for each input; sizes that the model leaves open are 5."""
    draw = np.random.default_rng(1)
    given = {t.name for t in model.graph.initializer}
    found = []
    for each in model.graph.input:
        if each.name not in given:
            kind = each.type.tensor_type
            shape = [d.dim_value or 5 for d in kind.shape.dim]
            dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
            found.append(draw.normal(size=shape).astype(dtype))
    return found


def check(model: Any) -> None:
    """Compare the function, compiled and not, with the reference implementation."""
    function, parameters = as_function(model)
    inputs = inputs_of(model)
    names = [i.name for i in model.graph.input if i.name not in parameters]
    expected = onnx.reference.ReferenceEvaluator(model).run(
        None, dict(zip(names, inputs, strict=False))
    )
    for run in (function, jax.jit(function)):
        for found, right in zip(run(parameters, *inputs), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)
    print(f"{model.graph.name}: {len(model.graph.node)} operations, as the reference has them")


def train(model: Any, steps: int) -> Values:
    """Fit the parameters to labels, by gradients through the graph."""
    function, parameters = as_function(model)
    (pictures,) = inputs_of(model)
    labels = np.arange(len(pictures)) % 4

    def loss(parameters: Values) -> Any:
        probabilities = function(parameters, pictures)[0]
        return -jnp.log(probabilities[np.arange(len(labels)), labels]).mean()

    @jax.jit
    def step(parameters: Values) -> tuple[Values, Any]:
        value, gradient = jax.value_and_grad(loss)(parameters)
        return jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradient), value

    losses = []
    for _ in range(steps):
        parameters, value = step(parameters)
        losses.append(float(value))
    assert losses[-1] < 0.1 * losses[0], losses
    print(f"trained: loss {losses[0]:.3f} to {losses[-1]:.3f} in {steps} steps")
    return parameters


def export(model: Any, parameters: Values) -> None:
    """Write the model down as StableHLO for any number of pictures, read it back and call it."""
    function, _ = as_function(model)
    pictures = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n, 1, 8, 8"), np.float32)
    exported = jax.export.export(jax.jit(lambda x: function(parameters, x)))(pictures)
    data = exported.serialize()
    again = jax.export.deserialize(data)
    for size in (1, 7):
        x = np.random.default_rng(size).normal(size=(size, 1, 8, 8)).astype(np.float32)
        np.testing.assert_allclose(
            again.call(x)[0], function(parameters, x)[0], rtol=1e-4, atol=1e-6
        )
    print(f"exported: {len(data)} bytes, for any number of pictures")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="a file; by default a model is made")
    given = parser.parse_args().model
    if given:
        check(onnx.load(given))
        return
    model = classifier()
    check(model)
    export(model, train(model, 100))


if __name__ == "__main__":
    main()
