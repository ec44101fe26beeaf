"""Applying Python functions along axes, over axes, and piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from .. import lax
from ..core import aval_of
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import check_callable, members
from ..transforms.vmap import vmap
from ..util.messages import message
from .axes import canonical_axis
from .creation import asarray
from .operands import as_array, as_truth
from .selection import where
from .shaping import moveaxis


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d` applied to each vector along an axis, whose axes its results replace.

    Args:
        func1d: function of a vector.
        axis: axis of the vectors.
        arr: array.
        *args, **kwargs: further arguments of `func1d`.
    """
    check_callable("jnp.apply_along_axis, argument func1d", func1d)
    arr = as_array("apply_along_axis", arr)
    ndim = arr.aval.ndim
    axis = canonical_axis("apply_along_axis", axis, ndim)

    def function(vector: Any) -> Any:
        return func1d(vector, *args, **kwargs)

    for _ in range(ndim - 1):
        function = vmap(function)
    result = asarray(function(moveaxis(arr, axis, -1)))
    added = result.aval.ndim - (ndim - 1)
    behind = range(axis, ndim - 1)
    return moveaxis(result, tuple(behind), tuple([i + added for i in behind]))


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """``func(a, axis)`` for one axis after the other; axes that it drops are kept with size 1."""
    check_callable("jnp.apply_over_axes, argument func", func)
    a = as_array("apply_over_axes", a)
    for axis in axes if np.iterable(axes) else [axes]:
        place = canonical_axis("apply_over_axes", axis, a.aval.ndim)
        result = asarray(func(a, place))
        if result.aval.ndim == a.aval.ndim - 1:
            result = lax.expand_dims(result, (place,))
        if result.aval.ndim != a.aval.ndim:
            raise ValueError(
                message(
                    "jnp.apply_over_axes, argument func",
                    given=f"a result with {result.aval.ndim} axes for {a.aval}",
                    expected="as many axes, or one less",
                    fix="Return the result with or without the reduced axis.",
                )
            )
        a = result
    return a


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """The last function whose condition is true, element by element.

    Args:
        x: array.
        condlist: conditions, of the shape of `x`, or truth values that hold everywhere.
        funclist: a function or constant for each; one more is for elements where all are false,
            which are 0 without it.
        *args, **kw: further arguments of the functions.

    Every function is computed everywhere, so a derivative may be NaN where a function blows up even
    if another one is chosen there.
    """
    x = as_array("piecewise", x)
    conditions = [as_truth("piecewise", c) for c in _conditions(condlist, x)]
    functions = members("jnp.piecewise, argument funclist", funclist, "functions or numbers")
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            message(
                "jnp.piecewise",
                given=f"{len(conditions)} conditions and {len(funclist)} functions",
                expected="as many functions as conditions, or one more",
                fix="Give a list with one function or constant for each condition.",
            )
        )
    dtype = x.aval.dtype
    values = [asarray(f(x, *args, **kw) if callable(f) else f) for f in functions]
    *values, result = [convert(v, dtype) for v in values]
    for condition, value in zip(conditions, values, strict=True):
        result = where(condition, value, result)
    return lax.broadcast_in_dim(result, x.aval.shape, ()) if not aval_of(result).ndim else result


def _check_not_empty(condlist: Sequence[Any]) -> None:
    if not condlist:
        raise ValueError(
            message(
                "jnp.piecewise, argument condlist",
                given="no conditions",
                expected="at least one, of the shape of x",
                fix="Give a list of boolean arrays.",
            )
        )


def _conditions(condlist: Any, x: Any) -> list[Any]:
    """The conditions one by one; a single one need not stand in a list."""
    if isinstance(condlist, (tuple, list)):
        _check_not_empty(condlist)
        nested = [asarray(c) for c in condlist]
        single = all(c.aval.ndim == 0 for c in nested) and x.aval.ndim > 0
        return [asarray(condlist)] if single else nested
    array = asarray(condlist)
    if array.aval.ndim in (0, x.aval.ndim) and array.aval.shape in ((), x.aval.shape):
        return [array]
    return [
        lax.index_in_dim(array, index(i), 0, keepdims=False) for i in range(array.aval.shape[0])
    ]
