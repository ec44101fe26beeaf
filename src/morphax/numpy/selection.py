"""Choosing between values: where, select, clip, and elements along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of, carries_aval
from ..dtypes.numbers import bounds
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer, members
from ..lax.ground.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    elements_along,
)
from ..lax.indexing.start_indices import holding
from ..util.messages import message
from .arithmetic import maximum, minimum, remainder
from .axes import canonical_axis
from .index_plan import known_values
from .indexing import index_columns, nothing_taken, symbolic_diagonal
from .of_numpy import clip_of_numpy
from .operands import as_array, as_truth, check_no_out, concrete_values, filling, operand, promoted
from .repetition import split_alike
from .searching import nonzero
from .shaping import broadcast_arrays, reshape


def where(
    condition: Any, x: Any = None, y: Any = None, /, *, size: Any = None, fill_value: Any = None
) -> Any:
    """`x` where `condition` is true, else `y`; without them, the places where it is true.

    Args:
        condition, x, y: arrays that broadcast to a common shape; a Python int beside an integer
            array may name an element by its bits: −1 is 255 of dtype uint8.
        size, fill_value: for the one-argument form, as in `nonzero`.

    The derivative flows to the chosen value only; but a value that is not chosen and has an
    infinite derivative makes NaN, so replace it before, not after, the function that blows up.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.where(jnp.arange(3) > 1, 10, 0)
        Array([ 0,  0, 10], dtype=int32, weak_type=True)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError(
            message(
                "jnp.where",
                given="one of x and y",
                expected="both, or neither",
                fix="Give the value for both cases.",
            )
        )
    return _where(condition, x, y)


@replayed(3)
def _where(condition: Any, x: Any, y: Any) -> Any:
    chosen = as_truth("where", condition)
    given = [getattr(v, "shape", ()) for v in (chosen, x, y)]
    operands = [chosen, *promoted("where", _as_bits_beside(y, x), _as_bits_beside(x, y))]
    if len(set(given)) > 1:
        # Operands of rank 0 stay as they are: the primitive repeats them.
        shape = lax.broadcast_shapes(*given)
        operands = split_alike([_repeated(v, shape) if np.ndim(v) else v for v in operands])
    return lax.select_n_p.bind(*operands)


def _as_bits_beside(x: Any, other: Any) -> Any:
    """`x`; a Python int may stand for the bits of an element of the dtype of `other`."""
    beside_array = type(x) is int and hasattr(other, "dtype")
    return filling("where", x, aval_of(other).dtype) if beside_array else x


def _repeated(x: Any, shape: tuple[int, ...]) -> Any:
    aval = aval_of(x)
    if aval.shape == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - aval.ndim, len(shape))))


@replayed(3, by_numpy=clip_of_numpy)
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """`arr` with values below `min` or above `max` replaced by these.

    A Python int as bound need not be in the range of an integer dtype, unless it takes effect.

    Raises:
        ValueError: if one of them is complex.
        OverflowError: if all elements would become a number that the dtype does not hold.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.clip(jnp.array([0, 100, 255], jnp.uint8), -1, 200)
        Array([  0, 100, 200], dtype=uint8)
    """
    arr = as_array("clip", arr)
    given = [operand("clip", b) for b in (arr, min, max) if b is not None and type(b) is not int]
    if any([dtypes.issubdtype(aval_of(b).dtype, np.complexfloating) for b in given]):
        raise ValueError(
            message(
                "jnp.clip",
                given="complex numbers",
                expected="real numbers: complex ones have no order",
                fix="Clip real and imaginary parts.",
            )
        )
    # A bound beyond all that the dtype holds is none.
    low, high = bounds(arr.aval.dtype) or (min, max)
    if min is not None and not (type(min) is int and min < low):
        arr = maximum(min, arr)
    return arr if max is None or (type(max) is int and max > high) else minimum(max, arr)


@replayed(2)
def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """Elements of `a` along `axis` (of the flattened array if it is `None`).

    Args:
        a: array.
        indices: integers of any shape.
        axis: axis to take along.
        out: must be `None`.
        mode: out of bounds, ``"fill"`` (the default) gives NaN (or the least integer),
            ``"clip"`` clamps, negative ones too, ``"wrap"`` counts on from the start.
        unique_indices, indices_are_sorted: promises that may make it faster.
        fill_value: value out of bounds.

    Raises:
        TypeError: if `indices` are not integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.take(jnp.arange(5) * 10, jnp.array([1, 3]))
        Array([10, 30], dtype=int32)
    """
    check_no_out("take", out)
    a = as_array("take", a)
    if axis is None:
        a, axis = reshape(a, -1), 0
    axis, indices = canonical_axis("take", axis, a.aval.ndim), as_array("take", indices)
    aval, size = aval_of(indices), a.aval.shape[axis]
    if dtypes.issubdtype(aval.dtype, np.inexact):
        raise TypeError(
            message(
                "jnp.take, argument indices",
                given=f"{aval}",
                expected="integers",
                fix="Convert them with astype(int).",
            )
        )
    if mode == "wrap" and size:
        indices = remainder(convert(indices, holding(aval.dtype, size)), size)
    chosen = GatherScatterMode.from_any("fill" if mode in (None, "wrap") else mode)
    if not size:
        kept = a.aval.shape
        return nothing_taken("jnp.take", a, (*kept[:axis], *aval.shape, *kept[axis + 1 :]))
    columns = index_columns([indices], [size], aval.shape, chosen is not GatherScatterMode.CLIP)
    rank, width = a.aval.ndim, aval.ndim
    numbers = GatherDimensionNumbers(
        offset_dims=tuple([i if i < axis else i + width for i in range(rank - 1)]),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    windows = tuple([1 if i == axis else n for i, n in enumerate(a.aval.shape)])
    return lax.gather(
        a,
        columns,
        numbers,
        windows,
        mode=chosen,
        fill_value=fill_value,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
    )


@replayed(2)
def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Any:
    """Elements of `arr` at `indices` along `axis`, one index array per row.

    Args:
        arr: array.
        indices: integers, of the shape of `arr` but along `axis`; axes of size 1 are repeated.
        axis: axis to take along; `None` flattens `arr`, and `indices` are a vector.
        mode, fill_value: what happens out of bounds, as in `take`.
        wrap_negative_indices: whether negative indices count from the end.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.array([[3, 1, 2], [6, 5, 4]])
        >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
        Array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)
    """
    arr, indices = as_array("take_along_axis", arr), as_array("take_along_axis", indices)
    if axis is None:
        arr, axis = reshape(arr, -1), 0
    ndim = arr.aval.ndim
    axis = canonical_axis("take_along_axis", axis, ndim)
    if aval_of(indices).ndim != ndim or not dtypes.issubdtype(aval_of(indices).dtype, np.integer):
        raise ValueError(
            message(
                "jnp.take_along_axis, argument indices",
                given=f"{aval_of(indices)} for an array {arr.aval}",
                expected=f"integers with {ndim} axes",
                fix="Use expand_dims on the indices, or jnp.take.",
            )
        )
    rows = lax.broadcast_shapes(
        *[
            tuple([1 if i == axis else n for i, n in enumerate(aval_of(v).shape)])
            for v in (arr, indices)
        ]
    )
    target = tuple([aval_of(indices).shape[axis] if i == axis else n for i, n in enumerate(rows)])
    source = tuple([arr.aval.shape[axis] if i == axis else n for i, n in enumerate(rows)])
    arr, indices = _repeated(arr, source), _repeated(indices, target)
    if 0 in target or not source[axis]:
        return nothing_taken("jnp.take_along_axis", arr, target)
    columns = index_columns([indices], [source[axis]], target, wrap_negative_indices)
    numbers = elements_along(axis, ndim)
    chosen = GatherScatterMode.from_any("fill" if mode is None else mode)
    return lax.gather(arr, columns, numbers, (1,) * ndim, mode=chosen, fill_value=fill_value)


def choose(a: Any, choices: Sequence[Any], out: None = None, mode: str = "raise") -> Any:
    """``choices[a[i]][i]`` for each place i.

    Args:
        a: integers of any shape.
        choices: arrays, or an array of them.
        out: must be `None`.
        mode: what becomes of places out of bounds: ``"raise"`` (the values of `a` must be known
            then), ``"clip"``, or ``"wrap"``, which counts on from the start.

    Raises:
        ValueError: if `a` is not integer, or out of bounds with mode ``"raise"``.
        ConcretizationTypeError: if `a` is traced with mode ``"raise"``.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.choose(jnp.array([0, -1]), [jnp.array([1, 2]), jnp.array([10, 20])], mode="wrap")
        Array([ 1, 20], dtype=int32)
    """
    check_no_out("choose", out)
    choices = choices if carries_aval(choices) else members("jnp.choose", choices)
    _check_chosen(a, count := len(choices), mode)
    indices, *arrays = broadcast_arrays(a, *choices)
    indices = convert(indices, holding(aval_of(indices).dtype, count))
    indices = remainder(indices, count) if mode == "wrap" else clip(indices, 0, count - 1)
    return lax.select_n(convert(indices, np.dtype(np.int32)), *promoted("choose", *arrays))


def _check_chosen(a: Any, count: int, mode: Any) -> None:
    """Refuse what cannot say which of `count` arrays is meant."""
    a = as_array("choose", a)
    is_integer = dtypes.issubdtype(a.aval.dtype, np.integer)
    if not (count and is_integer and mode in ("raise", "clip", "wrap")):
        raise ValueError(
            message(
                "jnp.choose, arguments a, choices and mode",
                given=f"{a.aval}, {count} choices and mode={mode!r}",
                expected="integers, at least one choice, and the mode 'raise', 'clip' or 'wrap'",
                fix="Convert a with astype('int32').",
            )
        )
    if mode != "raise":
        return
    values = concrete_values("jnp.choose", a, "Pass mode='clip' or mode='wrap'.")
    if values.size and not 0 <= values.min() <= values.max() < count:
        raise ValueError(
            message(
                "jnp.choose, argument a",
                given=f"places from {values.min()} to {values.max()}",
                expected=f"places from 0 to {count - 1}",
                fix="Pass mode='clip' or mode='wrap' to allow others.",
            )
        )


@replayed(1)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements with equal places along two axes, as a new last axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.diagonal(jnp.arange(9).reshape(3, 3), offset=1)
        Array([1, 5], dtype=int32)
    """
    a = as_array("diagonal", a)
    first, second = (canonical_axis("diagonal", x, a.aval.ndim) for x in (axis1, axis2))
    order = [i for i in range(a.aval.ndim) if i not in (first, second)] + [first, second]
    a, offset = lax.transpose(a, order), integer("jnp.diagonal, argument offset", offset)
    rows, columns = a.aval.shape[-2:]
    if not a.aval.is_static:
        return symbolic_diagonal(a, offset)
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    # In the flattened matrix, elements of a diagonal are one row and one element apart.
    flat = reshape(a, (*a.aval.shape[:-2], rows * columns))
    start = 0 if not count else offset if offset >= 0 else -offset * columns
    stop = start + (count - 1) * (columns + 1) + 1 if count else 0
    return convert(lax.slice_in_dim(flat, start, stop, columns + 1, axis=-1), a.aval.dtype)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Any:
    """The slices of `a` along an axis (elements, if it is `None`) where `condition` is true.

    Args:
        condition: vector; slices beyond its end are left out.
        a: array.
        axis: axis the slices follow each other along.
        size: how many slices to return, needed if `condition` is traced.
        fill_value: contents of slices where there are fewer.
        out: must be `None`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.compress(jnp.array([True, False, True]), jnp.array([[1, 2, 3]]), axis=1)
        Array([[1, 3]], dtype=int32)
    """
    check_no_out("compress", out)
    a = as_array("compress", a)
    if axis is None:
        a, axis = reshape(a, -1), 0
    axis = canonical_axis("compress", axis, a.aval.ndim)
    count = a.aval.shape[axis]
    mask = as_truth("compress", condition)
    if aval_of(mask).ndim != 1:
        raise ShapeError(
            message(
                "jnp.compress, argument condition",
                given=f"{aval_of(mask)}",
                expected="a vector, one truth value per slice",
                fix="Flatten it with jnp.ravel.",
            )
        )
    if aval_of(mask).size > count:
        mask = _shortened(mask, count)
    (places,) = nonzero(mask, size=size, fill_value=count)
    return take(a, places, axis, mode="fill", fill_value=fill_value)


def _shortened(mask: Any, count: int) -> Any:
    """The first truth values; those beyond must be false where that is known."""
    known = known_values(mask)
    if known is not None and known[count:].any():
        raise ValueError(
            message(
                "jnp.compress, argument condition",
                given=f"true beyond the {count} slices",
                expected=f"at most {count} truth values",
                fix="Shorten condition.",
            )
        )
    return lax.slice_in_dim(mask, 0, count)
