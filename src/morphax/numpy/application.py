"""Applying Python functions along axes, over axes, and piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import lax
from ..control.branches.branching import switch
from ..control.remembered import remembered
from ..core import Jaxpr, apply_jaxpr, current_trace, root_trace, stage_with_operands
from ..engines.reference.bodies import apply_body
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import check_callable, members
from ..transforms.vmap import vmap
from ..util.messages import message
from .axes import canonical_axis
from .creation import asarray
from .operands import as_array, as_truth
from .selection import where
from .shaping import broadcast_arrays, moveaxis, ravel


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d` applied to each vector along an axis, whose axes its results replace.

    Args:
        func1d: function of a vector.
        axis: axis of the vectors.
        arr: array.
        *args, **kwargs: further arguments of `func1d`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.apply_along_axis(jnp.cumsum, 1, jnp.array([[1, 2, 3], [4, 5, 6]]))
        Array([[ 1,  3,  6],
               [ 4,  9, 15]], dtype=int32)
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
    """``func(a, axis)`` for one axis after the other; axes that it drops are kept with size 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.apply_over_axes(jnp.sum, jnp.arange(24).reshape(2, 3, 4), [0, 2])
        Array([[[ 60],
                [ 92],
                [124]]], dtype=int32)
    """
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
        condlist: conditions, which broadcast against `x`; one alone need not stand in a list.
        funclist: a function of a scalar, or a number, for each; one more is for elements where all
            are false, which are 0 without it.
        *args, **kw: further arguments of the functions.

    Returns:
        Array of the dtype of `x`, and of the common shape.  Where a function is not chosen it
        has no part in the derivative, finite there or not.

    Raises:
        ValueError: there are no conditions, or not as many functions as they need.
        TypeError: a function does not return a scalar.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.array([-4.0, 4.0])
        >>> jnp.piecewise(x, [x > 0], [jnp.sqrt, 7])
        Array([7., 2.], dtype=float32)
    """
    x = as_array("piecewise", x)
    functions = members("jnp.piecewise, argument funclist", funclist, "functions or numbers")
    conditions = _conditions(condlist, len(functions))
    if len(functions) == len(conditions):
        functions.append(0)
    chosen: Any = asarray(len(conditions), np.int32)  # the function of elements that meet none
    for place, condition in enumerate(conditions):
        chosen = where(as_truth("piecewise", condition), np.int32(place), chosen)
    chosen, x = broadcast_arrays(chosen, x)
    branches = [partial(_of_scalar, f, x.aval.dtype, args, kw) for f in functions]
    values = _values_of_choices(branches, ravel(chosen), ravel(x))
    return lax.reshape(values, x.aval.shape)


def _values_of_choices(branches: Sequence[Callable[[Any], Any]], chosen: Any, x: Any) -> Any:
    """The values of the functions with these numbers, element by element.

    Their choice is traced once for functions that are the same (`control.remembered`).
    """
    avals = [chosen.aval, x.aval]

    def trace() -> tuple[Jaxpr, list[Any]]:
        choice = vmap(lambda place, v: switch(place, branches, v))
        return stage_with_operands(lambda *operands: [choice(*operands)], avals)

    program, captured = remembered(branches, ("jnp.piecewise", *avals), trace)
    apply = apply_body if current_trace() is root_trace() else apply_jaxpr
    (values,) = apply(program, *captured, chosen, x)
    return values


def _conditions(condlist: Any, functions: int) -> list[Any]:
    """The conditions one by one: what is as long as the functions has one for each."""
    is_one = not isinstance(condlist, (tuple, list)) and asarray(condlist).aval.ndim == 0
    given = [condlist] if is_one else list(condlist)
    if not given:
        raise ValueError(
            message(
                "jnp.piecewise, argument condlist",
                given="no conditions",
                expected="at least one, of the shape of x",
                fix="Give a list of boolean arrays.",
            )
        )
    conditions = [asarray(c) for c in given]
    if functions - len(given) in (0, 1):
        return conditions
    if functions in (1, 2) and all([c.aval.ndim == 0 for c in conditions]):
        return [asarray(condlist)]
    raise ValueError(
        message(
            "jnp.piecewise",
            given=f"{len(given)} conditions and {functions} functions",
            expected="as many functions as conditions, or one more",
            fix="Give a list with one function or constant for each condition.",
        )
    )


def _of_scalar(function: Any, dtype: Any, args: Any, kw: Any, x: Any) -> Any:
    """The value of a function, or a number, as a scalar of this dtype."""
    value = asarray(function(x, *args, **kw) if callable(function) else function)
    if value.aval.ndim:
        raise TypeError(
            message(
                "jnp.piecewise, argument funclist",
                given=f"a function whose value is {value.aval}",
                expected="functions from a scalar to a scalar, or numbers",
                fix="Write what is done to one element; other arrays can be passed after funclist.",
            )
        )
    return convert(value, dtype)
