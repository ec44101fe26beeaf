"""Joining arrays along an axis that they have, or along a new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import carries_aval
from ..engines.reference.replay import replayed
from ..errors import AxisError, ShapeError
from ..lax.elementwise.convert import convert_as_asked
from ..lax.ground.axes import members
from ..util.messages import message
from .axes import canonical_axis
from .operands import as_array, check_no_out, filling, of_one_dtype
from .shaping import moveaxis, ravel, reshape

Shape = Sequence[Any]


def _common(name: str, arrays: Any, dtype: Any) -> list[Any]:
    """A sequence of arrays of one dtype."""
    items = [as_array(name, a) for a in members(f"jnp.{name}", arrays)]
    if not items:
        raise ValueError(
            message(
                f"jnp.{name}",
                given="an empty sequence",
                expected="at least one array",
                fix="Pass the arrays in a list or tuple.",
            )
        )
    if dtype is None:
        return of_one_dtype(name, *items)
    target = dtypes.requested(dtype, name)
    return [convert_as_asked(f"jnp.{name}", a, target) for a in items]


def _slices(name: str, arrays: Any, dtype: Any) -> Any:
    """An array whose slices are joined; `None` of a sequence, and where there is nothing to join.

    Slice by slice a vector of a million numbers took seconds.
    """
    if not carries_aval(arrays) and not isinstance(arrays, np.ndarray):
        return None
    if not np.ndim(arrays) or np.shape(arrays)[0] == 0:
        return None
    return _common(name, [arrays], dtype)[0]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays one after the other along an axis that they have.

    Args:
        arrays: a sequence of arrays whose sizes are equal but for this axis, or one array, whose
            slices are joined.
        axis: the axis; `None` flattens the arrays first.
        dtype: of the result; the one that the arrays are promoted to without it.

    Raises:
        ValueError: there is no array, or the shapes differ elsewhere.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.concatenate([jnp.ones((1, 2)), jnp.zeros((2, 2))])
        Array([[1., 1.],
               [0., 0.],
               [0., 0.]], dtype=float32)
    """
    slices = _slices("concatenate", arrays, dtype)
    if slices is not None:
        return ravel(slices) if axis is None else _joined_slices("concatenate", slices, axis)
    items = _common("concatenate", arrays, dtype)
    if axis is None:
        items, axis = [ravel(a) for a in items], 0
    return _joined("concatenate", items, axis)


def _place(name: str, shape: Shape, axis: int) -> int:
    if not shape:
        raise AxisError(
            message(
                f"jnp.{name}",
                given="an array of shape (), which has no axis",
                expected="arrays that have the axis along which they are joined",
                fix="Use jnp.stack, which makes a new axis.",
            )
        )
    return canonical_axis(name, axis, len(shape))


def _joined_slices(name: str, x: Any, axis: int) -> Any:
    """The slices of an array along its first axis, one after the other."""
    count, *shape = x.aval.shape
    place = _place(name, shape, axis)
    shape[place] *= count
    return reshape(moveaxis(x, 0, place), shape)


def _joined(name: str, items: Sequence[Any], axis: int) -> Any:
    place = _place(name, items[0].aval.shape, axis)
    if len(items) == 1:
        return items[0]
    try:
        return lax.concatenate(items, place)
    except ShapeError as error:
        given, expected = f"axis {place} of {_list(items)}", "equal sizes of all other axes"
        fix = "Reshape, transpose or pad an array; jnp.stack joins along a new axis."
        raise ShapeError(message(f"jnp.{name}", given=given, expected=expected, fix=fix)) from error


def _list(items: Sequence[Any]) -> str:
    return " and ".join([str(a.aval) for a in items])


concat = concatenate


@replayed(2)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`values` behind `arr`.

    Args:
        arr, values: arrays; without `axis` they are flattened first.
        axis: axis along which they are joined.

    Raises:
        ValueError: the shapes differ elsewhere.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.append(jnp.array([1, 2]), 3)
        Array([1, 2, 3], dtype=int32)
    """
    arr = as_array("append", arr)
    return concatenate([arr, as_array("append", filling("append", values, arr.aval.dtype))], axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape along a new axis.

    Args:
        arrays: a sequence of arrays of one shape, or one array, whose slices are joined.
        axis: the place of the new axis among those of the result.
        out: must be None.
        dtype: of the result; the one that the arrays are promoted to without it.

    Raises:
        ValueError: there is no array, or the shapes differ.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    check_no_out("stack", out)
    slices = _slices("stack", arrays, dtype)
    if slices is not None:
        return moveaxis(slices, 0, canonical_axis("stack", axis, slices.aval.ndim))
    items = _common("stack", arrays, dtype)
    place = canonical_axis("stack", axis, items[0].aval.ndim + 1)
    try:
        return lax.stack(items, place)
    except ShapeError as error:
        given, fix = (
            _list(items),
            "Broadcast or reshape an array; jnp.concatenate joins unequal ones.",
        )
        raise ShapeError(
            message("jnp.stack", given=given, expected="arrays of one shape", fix=fix)
        ) from error


def _side_by_side(
    name: str,
    arrays: Any,
    axis: Callable[[Shape], int],
    dtype: Any,
    widened: Callable[[Shape], Shape],
) -> Any:
    """Arrays joined along an axis of shapes that have it, which theirs become."""
    slices = _slices(name, arrays, dtype)
    if slices is not None:
        count, *shape = slices.aval.shape
        shape = widened(tuple(shape))
        return _joined_slices(name, reshape(slices, (count, *shape)), axis(shape))
    items = _common(name, arrays, dtype)
    shapes = [widened(a.aval.shape) for a in items]
    # A reshape to the shape that there is would be an operation of a traced program.
    wide = [
        a if len(shape) == a.aval.ndim else reshape(a, shape)
        for a, shape in zip(items, shapes, strict=True)
    ]
    return _joined(name, wide, axis(shapes[0]))


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays side by side: along the second axis, of vectors along the first.

    Args:
        tup: arrays whose sizes are equal but for that axis.
        dtype: of the result; the one that the arrays are promoted to without it.

    Raises:
        ValueError: the shapes differ elsewhere, or there is no array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
        Array([1, 2, 3], dtype=int32)
    """
    return _side_by_side(
        "hstack", tup, lambda shape: min(len(shape) - 1, 1), dtype, lambda shape: shape or (1,)
    )


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one below the other; vectors become rows.

    Args:
        tup: arrays whose sizes are equal but for the first axis.
        dtype: of the result; the one that the arrays are promoted to without it.

    Raises:
        ValueError: the shapes differ elsewhere, or there is no array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
        Array([[1, 2],
               [3, 4]], dtype=int32)
    """

    def widened(shape: Shape) -> Shape:
        return shape if len(shape) > 1 else (1, *(shape or (1,)))

    return _side_by_side("vstack", tup, lambda _: 0, dtype, widened)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one behind the other, along the third axis.

    Args:
        tup: arrays whose sizes are equal but for the third axis.
        dtype: of the result; the one that the arrays are promoted to without it.

    Raises:
        ValueError: the shapes differ elsewhere, or there is no array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])]).shape
        (1, 2, 2)
    """

    def widened(shape: Shape) -> Shape:
        return shape if len(shape) > 2 else (*([1] * (len(shape) < 2)), *(shape or (1,)), 1)

    return _side_by_side("dstack", tup, lambda _: 2, dtype, widened)


def column_stack(tup: Any) -> Any:
    """Vectors as columns of a matrix, matrices side by side.

    Args:
        tup: vectors (m,) and matrices (m, n).

    Raises:
        ValueError: the numbers of rows differ, or there is no array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """

    def widened(shape: Shape) -> Shape:
        return shape if len(shape) > 1 else (*(shape or (1,)), 1)

    return _side_by_side("column_stack", tup, lambda _: 1, None, widened)
