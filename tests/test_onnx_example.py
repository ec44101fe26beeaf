"""The interpreter of `examples/onnx` against the reference implementation of ONNX."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx.reference
import pytest
from onnx import helper, numpy_helper

import morphax as jax

PATH = Path(__file__).resolve().parent.parent / "examples" / "onnx" / "onnx_model.py"
spec = importlib.util.spec_from_file_location("onnx_model", PATH)
assert spec is not None
assert spec.loader is not None
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

draw = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return draw.normal(size=shape).astype(np.float32)


X = numbers(2, 3, 4)
PICTURES = numbers(2, 4, 7, 6)
I64 = np.int64
# Operator, inputs that are arguments, tensors of the model, attributes.
NODES: list[tuple[str, list[Any], list[Any], dict[str, Any]]] = [
    ("Add", [X, numbers(4)], [], {}),
    ("Div", [np.array([7, -7, 7, -7, 0]), np.array([2, 2, -2, -2, 3])], [], {}),
    ("Pow", [abs(X)], [np.array(2, I64)], {}),
    ("Clip", [X, np.float32(-0.5), np.float32(0.25)], [], {}),
    ("Conv", [PICTURES], [numbers(6, 2, 3, 2)], {"group": 2, "strides": [2, 1]}),
    ("Conv", [PICTURES], [numbers(3, 4, 3, 3), numbers(3)],
        {"pads": [1, 0, 2, 1], "dilations": [1, 2]}),
    ("Conv", [PICTURES], [numbers(3, 4, 2, 2)], {"auto_pad": "SAME_LOWER"}),
    ("MaxPool", [PICTURES], [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ("AveragePool", [PICTURES], [], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ("AveragePool", [PICTURES], [],
        {"kernel_shape": [2, 2], "strides": [2, 2], "count_include_pad": 1}),
    ("GlobalAveragePool", [PICTURES], [], {}),
    ("BatchNormalization", [PICTURES],
        [numbers(4), numbers(4), numbers(4), abs(numbers(4))], {"epsilon": 1e-3}),
    ("LayerNormalization", [X], [numbers(3, 4), numbers(3, 4)], {"axis": 1}),
    ("Gemm", [numbers(3, 2), numbers(3, 5), numbers(5)], [],
        {"transA": 1, "alpha": 0.5, "beta": 2.0}),
    ("MatMul", [X, numbers(4, 2)], [], {}),
    ("Softmax", [X], [], {"axis": 1}),
    ("Erf", [X], [], {}),
    ("LeakyRelu", [X], [], {"alpha": 0.2}),
    ("Reshape", [X], [np.array([0, -1])], {}),
    ("Flatten", [X], [], {"axis": 2}),
    ("Transpose", [X], [], {"perm": [2, 0, 1]}),
    ("Concat", [X, X], [], {"axis": -1}),
    ("Slice", [X], [np.array([-1, 1]), np.array([-99, 99]), np.array([1, 2]), np.array([-1, 2])],
        {}),
    ("Slice", [X], [np.array([1]), np.array([2])], {}),
    ("Gather", [X, np.array([[0, -1], [2, 1]])], [], {"axis": 1}),
    ("Squeeze", [X[:, :1]], [np.array([1])], {}),
    ("Unsqueeze", [X], [np.array([0, -1])], {}),
    ("Expand", [X[:, :1]], [np.array([2, 3, 1])], {}),
    ("ReduceMean", [X], [np.array([0, -1])], {"keepdims": 0}),
    ("ReduceMax", [X], [], {}),
    ("ReduceSum", [X], [], {"noop_with_empty_axes": 1}),
    ("Where", [X > 0, X, np.float32(2)], [], {}),
    ("Cast", [X], [], {"to": onnx.TensorProto.INT32}),
    ("Shape", [X], [], {}),
]  # fmt: skip


def model_of(operator: str, inputs: list[Any], tensors: list[Any], attributes: Any) -> Any:
    names = [f"x{i}" for i in range(len(inputs))]
    known = [numpy_helper.from_array(t, f"t{i}") for i, t in enumerate(tensors)]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, map(np.asarray, inputs), strict=True)
    ]
    node = helper.make_node(operator, [*names, *[t.name for t in known]], ["out"], **attributes)
    out = helper.make_empty_tensor_value_info("out")
    graph = helper.make_graph([node], operator, infos, [out], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize(("operator", "inputs", "tensors", "attributes"), NODES)
def test_operator(operator: str, inputs: list[Any], tensors: list[Any], attributes: Any) -> None:
    model = model_of(operator, inputs, tensors, attributes)
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(
        None, {f"x{i}": np.asarray(x) for i, x in enumerate(inputs)}
    )
    function, parameters = example.as_function(model)
    for run in (function, jax.jit(function)):
        (found,) = run(parameters, *inputs)
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_what_it_does_not_know() -> None:
    with pytest.raises(NotImplementedError, match=r"operators \['Hardmax'\].*'Softmax'"):
        example.as_function(model_of("Hardmax", [X], [], {}))
    shapes = model_of("Reshape", [X, np.array([2, -1])], [], {})
    function, parameters = example.as_function(shapes)
    with pytest.raises(TypeError, match="a shape of the model depends on"):
        jax.jit(function)(parameters, X, np.array([2, -1]))
