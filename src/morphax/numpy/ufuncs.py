"""The universal functions of `jnp`, with methods that know more than `folds` do.

Their operations are associative, but for subtraction, so elements need not be combined one after
the other: `reduce` is the reduction of that name, or halves the axis again and again; `accumulate`
is a running reduction; `at` is a scatter where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from . import arithmetic, exponential, logic
from .at import AtIndex
from .cumulative import cumprod, cumsum
from .folds import Fold, check_mask, leading, single_axis
from .of_numpy import segments_of_numpy
from .operands import as_array, as_truth, promoted_inexact
from .reductions import Reduction, max, min, prod, sum
from .ufunc import ufunc

Axis = Any
_REPLAYED = {
    "reduce": replayed(1, ("initial", "where")),
    "accumulate": replayed(1),
    "outer": replayed(2),
}
"""How methods are replayed; `at` and `reduceat` are made so."""


def _universal(
    function: Callable[..., Any], nin: int = 2, identity: Any = None, **methods: Any
) -> ufunc:
    """A function of `jnp` as a universal function, whose methods are replayed."""
    if nin == 2:
        fold = Fold(function.__name__, function, nin, 1, identity)
        methods |= {"outer": _outer(fold), "reduceat": _reduceat(fold)}
        methods |= {
            name: replayed_as(methods[name])
            for name, replayed_as in _REPLAYED.items()
            if name in methods
        }
    made = ufunc(function, nin, 1, identity=identity, call=function, **methods)
    made.__call__ = function  # which refuses `out` and `where` itself
    made.__module__ = __name__
    return made


def _outer(fold: Fold) -> Callable[..., Any]:
    def outer(a: Any, b: Any) -> Any:
        return fold.outer(a, b)

    return outer


def _reduceat(fold: Fold) -> Callable[..., Any]:
    def of_numpy(
        out: Any, a: Any, indices: Any, *, axis: Any, dtype: Any
    ) -> Callable[..., Any] | None:
        return segments_of_numpy(fold.name, fold.check_places, out, axis)

    @replayed(2, by_numpy=of_numpy)
    def reduceat(a: Any, indices: Any, *, axis: Any, dtype: Any) -> Any:
        return fold.reduceat(a, indices, axis=axis, dtype=dtype)

    return reduceat


def _reduced_by(name: str, reduction: Callable[..., Any]) -> Callable[..., Any]:
    """`reduce` by a reduction of `jnp`."""

    def reduce(a: Any, *, axis: Axis, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        check_mask(name, where)
        if reduction in (sum, prod):
            return reduction(a, axis, dtype, None, keepdims, initial, where)
        return reduction(_as(name, a, dtype), axis, None, keepdims, initial, where)

    return reduce


def _as(name: str, a: Any, dtype: Any) -> Any:
    return a if dtype is None else convert(a, dtypes.requested(dtype, name))


def _associative(
    function: Callable[..., Any],
    identity: Any,
    over_axes: Callable[[Any, tuple[int, ...]], Any],
    prepare: Callable[[str, Any], Any] = as_array,
) -> dict[str, Any]:
    """`reduce` and `accumulate` of an associative function.

    Args:
        function: of two arrays.
        identity: dtype → that of the function.
        over_axes: array, axes → their elements combined.
        prepare: name, operand → array on which the function is closed.
    """
    name = function.__name__
    reduction = Reduction(f"{name}.reduce", over_axes, identity, function)

    def reduce(a: Any, *, axis: Axis, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        check_mask(name, where)
        a = prepare(f"{name}.reduce", _as(name, a, dtype))
        return _as(name, reduction(a, axis, keepdims, initial, where, None), dtype)

    def accumulate(a: Any, *, axis: Any, dtype: Any) -> Any:
        a = prepare(f"{name}.accumulate", _as(name, a, dtype))
        a = convert(a, a.aval.dtype)
        place = single_axis(f"{name}.accumulate", axis, a.aval.ndim)
        return _as(name, lax.associative_scan(function, a, axis=place), dtype)

    return {"reduce": reduce, "accumulate": accumulate}


def _halved(function: Callable[..., Any]) -> Callable[[Any, tuple[int, ...]], Any]:
    """Elements over axes combined in pairs, the results in pairs, and so on."""

    def over_axes(a: Any, axes: tuple[int, ...]) -> Any:
        rows = leading(a, axes)
        if not rows.aval.shape[0]:
            return lax.full(rows.aval.shape[1:], -np.inf, rows.aval.dtype)
        while (count := rows.aval.shape[0]) > 1:
            half = count // 2
            pairs = function(
                lax.slice_in_dim(rows, 0, half), lax.slice_in_dim(rows, half, 2 * half)
            )
            left = [lax.slice_in_dim(rows, count - 1, None)] if count % 2 else []
            rows = lax.concatenate([pairs, *left], 0)
        return lax.squeeze(rows, (0,))

    return over_axes


def _inexact(name: str, a: Any) -> Any:
    return promoted_inexact(name, as_array(name, a))[0]


def _running_extreme(name: str, cumulative: Callable[..., Any], either: Any) -> Callable[..., Any]:
    """`accumulate` of the largest, or least; of booleans, by `either`."""

    def accumulate(a: Any, *, axis: Any, dtype: Any) -> Any:
        place = single_axis(f"{name}.accumulate", axis, a.aval.ndim)
        a = _as(name, a, dtype)
        if a.aval.dtype == np.bool_:
            return lax.associative_scan(either, a, axis=place)
        return cumulative(convert(a, a.aval.dtype), place)

    return accumulate


def _running_total(cumulative: Callable[..., Any]) -> Callable[..., Any]:
    """`accumulate` by a function of `jnp`, strongly typed."""

    def accumulate(a: Any, *, axis: Any, dtype: Any) -> Any:
        return cumulative(convert(a, a.aval.dtype), axis, dtype)

    return accumulate


def _scattered(method: Callable[..., Any]) -> Callable[..., Any]:
    """`at` by a method of ``x.at[indices]``."""

    def at(a: Any, indices: Any, b: Any) -> Any:
        return method(AtIndex(a, indices), b)

    replaying = replayed(1, ("indices", "b"))(at)

    def quiet_or_warning(a: Any, indices: Any, b: Any) -> Any:
        """A replay of values that the array may not hold would not warn."""
        return (replaying if getattr(b, "dtype", None) == a.dtype else at)(a, indices, b)

    return quiet_or_warning


def _multiplied_at(a: Any, indices: Any, b: Any) -> Any:
    """`at` of products: a scatter where no place is named twice, which has all derivatives."""
    at = AtIndex(a, indices)
    if at.may_repeat():
        return Fold("multiply", arithmetic.multiply, 2, 1, 1).at(a, indices, b)
    return at.multiply(b, unique_indices=True)


def _all_bits(dtype: Any) -> Any:
    """The number whose bits are all set."""
    return np.array(-1).astype(dtype)


def _no_bits(dtype: Any) -> Any:
    return dtype.type(0)


def _log_of_zero(dtype: Any) -> Any:
    return dtype.type(-np.inf)


add = _universal(
    arithmetic.add,
    identity=0,
    reduce=_reduced_by("add", sum),
    accumulate=_running_total(cumsum),
    at=_scattered(AtIndex.add),
)
subtract = _universal(arithmetic.subtract, at=_scattered(AtIndex.subtract))
multiply = _universal(
    arithmetic.multiply,
    identity=1,
    reduce=_reduced_by("multiply", prod),
    accumulate=_running_total(cumprod),
    at=_multiplied_at,
)
negative = _universal(arithmetic.negative, 1)
maximum = _universal(
    arithmetic.maximum,
    reduce=_reduced_by("maximum", max),
    accumulate=_running_extreme("maximum", lax.cummax, lax.bitwise_or),
    at=_scattered(AtIndex.max),
)
minimum = _universal(
    arithmetic.minimum,
    reduce=_reduced_by("minimum", min),
    accumulate=_running_extreme("minimum", lax.cummin, lax.bitwise_and),
    at=_scattered(AtIndex.min),
)
logical_and = _universal(
    logic.logical_and,
    identity=True,
    **_associative(logic.logical_and, _all_bits, lax.reduce_and, as_truth),
)
logical_or = _universal(
    logic.logical_or,
    identity=False,
    **_associative(logic.logical_or, _no_bits, lax.reduce_or, as_truth),
)
logical_xor = _universal(
    logic.logical_xor,
    identity=False,
    **_associative(logic.logical_xor, _no_bits, lax.reduce_xor, as_truth),
)
bitwise_and = _universal(
    logic.bitwise_and, identity=-1, **_associative(logic.bitwise_and, _all_bits, lax.reduce_and)
)
bitwise_or = _universal(
    logic.bitwise_or, identity=0, **_associative(logic.bitwise_or, _no_bits, lax.reduce_or)
)
bitwise_xor = _universal(
    logic.bitwise_xor, identity=0, **_associative(logic.bitwise_xor, _no_bits, lax.reduce_xor)
)
logaddexp = _universal(
    exponential.logaddexp,
    identity=-np.inf,
    **_associative(exponential.logaddexp, _log_of_zero, _halved(exponential.logaddexp), _inexact),
)
logaddexp2 = _universal(
    exponential.logaddexp2,
    identity=-np.inf,
    **_associative(exponential.logaddexp2, _log_of_zero, _halved(exponential.logaddexp2), _inexact),
)
