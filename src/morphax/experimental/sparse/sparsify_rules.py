"""What primitives mean for sparse arrays: one table, by primitive.

Everywhere else a primitive has its rules as methods.  These stand apart, because a sparse array is
a library's notion: `lax` lies far below, and knows nothing of it.  The table is read by `sparsify`
alone, and what is not in it is refused.

Elementwise functions are in it if they take zero to zero.  Those that are not linear need elements
at equal places added up first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.branches.cond_primitive import cond_p
from ...control.checkpoint.checkpoint_primitive import checkpoint_p
from ...control.jit.jit_primitive import jit_p
from ...control.loops.scan_primitive import scan_p
from ...control.loops.while_primitive import while_p
from ...core import Primitive, aval_of, without_references
from .base import JAXSparse
from .bcoo import (
    BCOO,
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_conv_general_dilated,
    bcoo_dot_general,
    bcoo_dynamic_slice,
    bcoo_gather,
    bcoo_multiply_sparse,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_sum_duplicates,
)
from .bcoo.arithmetic import read_at_places
from .bcoo.layout import with_batch
from .bcsr import BCSR, bcsr_dot_general
from .creation import todense_p
from .sparsify_trace import Rule, refusal, run_program

_LINEAR = (
    lax.neg_p,
    lax.real_p,
    lax.imag_p,
    lax.conj_p,
    lax.copy_p,
)
_ZERO_TO_ZERO = (
    lax.abs_p,
    lax.asin_p,
    lax.asinh_p,
    lax.atan_p,
    lax.atanh_p,
    lax.cbrt_p,
    lax.ceil_p,
    lax.erf_inv_p,
    lax.erf_p,
    lax.expm1_p,
    lax.floor_p,
    lax.log1p_p,
    lax.round_p,
    lax.sign_p,
    lax.sin_p,
    lax.sinh_p,
    lax.sqrt_p,
    lax.square_p,
    lax.tan_p,
    lax.tanh_p,
)


def _on_data(primitive: Primitive, mat: BCOO, params: dict[str, Any]) -> BCOO:
    return mat.replaced(data=primitive.bind(mat.data, **params))


def _linear(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return _on_data(primitive, _bcoo(primitive, values)[0], params)


def _zero_to_zero(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return _on_data(primitive, _summed(_bcoo(primitive, values)[0]), params)


def _summed(mat: BCOO) -> BCOO:
    return mat if mat.unique_indices else bcoo_sum_duplicates(mat, nse=mat.nse)


def _bcoo(primitive: Primitive, values: Sequence[Any]) -> Sequence[Any]:
    """The operands, if those that are sparse are BCOO arrays."""
    if all(isinstance(x, BCOO) or not isinstance(x, JAXSparse) for x in values):
        return values
    raise refusal(primitive.name, values)


def _all_bcoo(primitive: Primitive, values: Sequence[Any]) -> Sequence[Any]:
    """The operands, if all are BCOO arrays."""
    if all(isinstance(x, BCOO) for x in values):
        return values
    raise refusal(primitive.name, values)


def _convert(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    (mat,) = values
    # To numbers that can hold sums of the old ones conversion is linear, but for rounding.
    kept = dtypes.issubdtype(params["new_dtype"], np.inexact) or dtypes.promote_types(
        mat.dtype, params["new_dtype"]
    ) == np.dtype(params["new_dtype"])
    is_linear = kept and mat.dtype != np.bool_
    if isinstance(mat, BCSR) and (is_linear or mat.unique_indices):
        data = primitive.bind(mat.data, **params)
        return mat.replaced(
            data,
            mat.indices,
            mat.indptr,
            indices_sorted=mat.indices_sorted,
            unique_indices=mat.unique_indices,
        )
    (mat,) = _bcoo(primitive, values)
    return _on_data(primitive, mat if is_linear else _summed(mat), params)


def _integer_pow(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    if params["y"] <= 0:
        raise refusal(f"integer_pow with the exponent {params['y']}", values)
    return _zero_to_zero(primitive, values, params)


def _add(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    x, y = _bcoo(primitive, values)
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return _both(primitive, x, y)
    mat, dense = (x, y) if isinstance(x, BCOO) else (y, x)
    if aval_of(dense).shape != mat.shape:
        raise refusal(f"{primitive.name} with a dense array of another shape", values)
    return primitive.bind(mat.todense(), dense, **params)


def _sub(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    x, y = _all_bcoo(primitive, values)
    return _both(primitive, x, y.replaced(data=lax.neg(y.data)))


def _both(primitive: Primitive, x: BCOO, y: BCOO) -> BCOO:
    """What is stored in either: the sum."""
    if (x.shape, x.n_batch, x.n_dense) != (y.shape, y.n_batch, y.n_dense):
        raise refusal(f"{primitive.name} of arrays with different layouts", (x, y))
    if _same_places(x, y):
        return x.replaced(data=lax.add(x.data, y.data))
    batch = x.shape[: x.n_batch]
    data, indices = [
        jnp.concatenate([with_batch(part, batch) for part in parts], x.n_batch)
        for parts in ((x.data, y.data), (x.indices, y.indices))
    ]
    return x.replaced(data=data, indices=indices)


def _same_places(x: BCOO, y: BCOO) -> bool:
    """Whether the places are one array: a sum has no more of them, and loops may carry it."""
    return x.indices is y.indices and aval_of(x.data).shape == aval_of(y.data).shape


def _mul(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    x, y = _bcoo(primitive, values)
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return bcoo_multiply_sparse(x, y)
    mat, dense = (x, y) if isinstance(x, BCOO) else (y, x)
    return mat.replaced(data=primitive.bind(mat.data, read_at_places(mat, dense), **params))


def _div(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    x, y = _bcoo(primitive, values)
    if isinstance(y, BCOO):
        raise refusal("div by a sparse array", values)
    if not dtypes.issubdtype(x.dtype, np.inexact):
        x = _summed(x)
    return x.replaced(data=primitive.bind(x.data, read_at_places(x, y), **params))


def _dot_general(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    x, y = values
    product: Any = bcoo_dot_general
    if isinstance(x, BCSR) or isinstance(y, BCSR):
        product = bcsr_dot_general
    elif not all(isinstance(v, BCOO) or not isinstance(v, JAXSparse) for v in values):
        raise refusal(primitive.name, values)
    return product(
        x,
        y,
        dimension_numbers=params["dimension_numbers"],
        preferred_element_type=params["preferred_element_type"],
    )


def _reduce_sum(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    result = bcoo_reduce_sum(_bcoo(primitive, values)[0], axes=params["axes"])
    return result if result.shape else result.todense()


def _transpose(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return values[0].transpose(tuple(params["permutation"]))


def _reshape(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    (mat,) = _bcoo(primitive, values)
    return bcoo_reshape(mat, new_sizes=params["new_sizes"], dimensions=params["dimensions"])


def _squeeze(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return bcoo_squeeze(_bcoo(primitive, values)[0], dimensions=params["dimensions"])


def _rev(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return bcoo_rev(_bcoo(primitive, values)[0], params["dimensions"])


def _broadcast(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    (mat,) = _bcoo(primitive, values)
    axes = params["broadcast_dimensions"]
    return bcoo_broadcast_in_dim(mat, shape=params["shape"], broadcast_dimensions=axes)


def _slice(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return bcoo_slice(_bcoo(primitive, values)[0], **params)


def _dynamic_slice(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    mat, *starts = _bcoo(primitive, values)
    if not isinstance(mat, BCOO) or any(isinstance(x, BCOO) for x in starts):
        raise refusal(primitive.name, values)
    return bcoo_dynamic_slice(mat, starts, params["slice_sizes"])


def _gather(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    mat, places = _bcoo(primitive, values)
    if not isinstance(mat, BCOO) or isinstance(places, BCOO):
        raise refusal(primitive.name, values)
    return bcoo_gather(mat, places, params["dimension_numbers"], params["slice_sizes"])


def _concatenate(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return bcoo_concatenate(_all_bcoo(primitive, values), dimension=params["dimension"])


def _stack(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    axis, parts = params["axis"], []
    for mat in _all_bcoo(primitive, values):
        axes = [a + (a >= axis) for a in range(mat.ndim)]
        shape = (*mat.shape[:axis], 1, *mat.shape[axis:])
        parts.append(bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=axes))
    return bcoo_concatenate(parts, dimension=axis)


def _split(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    (mat,) = _bcoo(primitive, values)
    axis, end, parts = params["axis"], 0, []
    for size in params["sizes"]:
        starts, limits = [0] * mat.ndim, list(mat.shape)
        starts[axis], end = end, end + size
        limits[axis] = end
        parts.append(bcoo_slice(mat, start_indices=starts, limit_indices=limits))
    return parts


def _convolution(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    x, y = _all_bcoo(primitive, values)
    numbers = params["dimension_numbers"]
    standard = tuple(range(x.ndim))
    return bcoo_conv_general_dilated(
        x,
        y,
        window_strides=params["window_strides"],
        padding=params["padding"],
        lhs_dilation=params["lhs_dilation"],
        rhs_dilation=params["rhs_dilation"],
        dimension_numbers=None if {tuple(spec) for spec in numbers} == {standard} else numbers,
        feature_group_count=params["feature_group_count"],
        batch_group_count=params["batch_group_count"],
        preferred_element_type=params["preferred_element_type"],
    )


def _todense(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return values[0].todense()


def _call(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    return run_program(RULES, without_references(params["jaxpr"]), values)


def _cond(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    place, *operands = values

    def applied(branch: Any) -> Callable[..., list[Any]]:
        return lambda *xs: list(map(_unpromised, run_program(RULES, branch, xs)))

    branches = [applied(without_references(branch)) for branch in params["branches"]]
    return lax.switch(place, branches, *operands)


def _while(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    condition, body = [without_references(params[f"{name}_jaxpr"]) for name in ("cond", "body")]
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    tested, used, carry = values[:first], values[first:second], values[second:]

    def step(carry: Sequence[Any]) -> list[Any]:
        return list(map(_unpromised, run_program(RULES, body, [*used, *carry])))

    def goes_on(carry: Sequence[Any]) -> Any:
        return run_program(RULES, condition, [*tested, *carry])[0]

    return lax.while_loop(goes_on, step, list(map(_unpromised, carry)))


def _scan(primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
    first = params["num_consts"]
    second = first + params["num_carry"]
    consts, carry, xs = values[:first], values[first:second], values[second:]
    if any(isinstance(x, JAXSparse) for x in xs):
        raise refusal("scan over a sparse array", xs)
    jaxpr = without_references(params["jaxpr"])

    def step(carry: Sequence[Any], xs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        results = list(map(_unpromised, run_program(RULES, jaxpr, [*consts, *carry, *xs])))
        return results[: params["num_carry"]], results[params["num_carry"] :]

    carry, ys = lax.scan(
        step,
        list(map(_unpromised, carry)),
        list(xs),
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*carry, *ys]


def _unpromised(x: Any) -> Any:
    """A sparse array of which nothing is promised, so that all steps have the same structure."""
    return x.replaced(indices=x.indices) if isinstance(x, BCOO) else x


RULES: dict[Primitive, Rule] = {
    **dict.fromkeys(_LINEAR, _linear),
    **dict.fromkeys(_ZERO_TO_ZERO, _zero_to_zero),
    lax.add_any_p: _add,
    lax.add_p: _add,
    lax.broadcast_in_dim_p: _broadcast,
    lax.concatenate_p: _concatenate,
    lax.conv_general_dilated_p: _convolution,
    lax.convert_element_type_p: _convert,
    lax.div_p: _div,
    lax.dot_general_p: _dot_general,
    lax.dynamic_slice_p: _dynamic_slice,
    lax.gather_p: _gather,
    lax.integer_pow_p: _integer_pow,
    lax.mul_p: _mul,
    lax.reduce_sum_p: _reduce_sum,
    lax.reshape_p: _reshape,
    lax.rev_p: _rev,
    lax.slice_p: _slice,
    lax.split_p: _split,
    lax.squeeze_p: _squeeze,
    lax.stack_p: _stack,
    lax.sub_p: _sub,
    lax.transpose_p: _transpose,
    todense_p: _todense,
    checkpoint_p: _call,
    cond_p: _cond,
    jit_p: _call,
    scan_p: _scan,
    while_p: _while,
}
