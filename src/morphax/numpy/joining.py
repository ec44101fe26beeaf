"""Joining, splitting, repeating and rearranging arrays."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..core.dims import SymbolicDim
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer, integer_tuple, members
from ..lax.shape.filling import size_value
from ..lax.shape.resharding import split_as
from ..util.messages import message
from .at import At
from .axes import canonical_axes, canonical_axis, listed
from .indexing import getitem
from .operands import as_array, concrete_values, filling, of_one_dtype
from .shaping import atleast_1d, atleast_2d, atleast_3d, ravel, reshape

_SECTIONS = "splitting an array, argument indices_or_sections"


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
    return [convert(a, target) for a in items]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays one after the other along an axis; flattened first if `axis` is `None`."""
    items = _common("concatenate", arrays, dtype)
    if axis is None:
        items, axis = [ravel(a) for a in items], 0
    place = canonical_axis("concatenate", axis, items[0].aval.ndim)
    return items[0] if len(items) == 1 else lax.concatenate(items, place)


concat = concatenate


@replayed(2)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`values` behind `arr`."""
    arr = as_array("append", arr)
    return concatenate([arr, as_array("append", filling("append", values, arr.aval.dtype))], axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape along a new axis."""
    items = _common("stack", arrays, dtype)
    place = canonical_axis("stack", axis, items[0].aval.ndim + 1)
    return lax.stack(items, place)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of `x` along an axis."""
    x = as_array("unstack", x)
    return lax.unstack(x, canonical_axis("unstack", axis, x.aval.ndim))


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays side by side: along the second axis, of vectors along the first."""
    items = [atleast_1d(a) for a in members("jnp.hstack", tup)]
    return concatenate(items, 0 if not items or items[0].aval.ndim == 1 else 1, dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one below the other; vectors become rows."""
    return concatenate([atleast_2d(a) for a in members("jnp.vstack", tup)], 0, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one behind the other, along the third axis."""
    return concatenate([atleast_3d(a) for a in members("jnp.dstack", tup)], 2, dtype)


def column_stack(tup: Any) -> Any:
    """Vectors as columns of a matrix, matrices side by side."""
    items = [as_array("column_stack", a) for a in members("jnp.column_stack", tup)]
    return concatenate([reshape(a, (-1, 1)) if a.aval.ndim < 2 else a for a in items], 1)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of `ary` along an axis, as equal as possible or between given places."""
    ary = as_array("array_split", ary)
    axis = canonical_axis("array_split", axis, ary.aval.ndim)
    total = ary.aval.shape[axis]
    if np.iterable(indices_or_sections):
        given = integer_tuple(_SECTIONS, indices_or_sections)
        bounds = [0, *[slice(None, i).indices(total)[1] for i in given], total]
    else:
        parts = _part_count(indices_or_sections)
        bounds = [i * (total // parts) + min(i, total % parts) for i in range(parts + 1)]
    sizes = [high - low for low, high in pairwise(bounds)]
    if all(size >= 0 for size in sizes):
        return list(lax.split(ary, sizes, axis))
    # Places in falling order, as NumPy takes them: nothing lies between them.
    return [lax.slice_in_dim(ary, low, max(low, high), axis=axis) for low, high in pairwise(bounds)]


def _part_count(parts: Any) -> int:
    number = integer(_SECTIONS, parts)
    if 0 < number < 1 << 31:
        return number
    raise ValueError(
        message(
            _SECTIONS,
            given=f"{number} parts",
            expected="a positive number of parts, below 2**31",
            fix="Give the number of parts, or the places between them.",
        )
    )


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Equal parts of `ary` along an axis, or parts between given places."""
    if not np.iterable(indices_or_sections):
        ary = as_array("split", ary)
        total = ary.aval.shape[canonical_axis("split", axis, ary.aval.ndim)]
        if total % _part_count(indices_or_sections):
            raise ValueError(
                message(
                    "jnp.split",
                    given=f"{indices_or_sections} parts of an axis of size {total}",
                    expected="parts of equal size",
                    fix="Use jnp.array_split for parts of different sizes.",
                )
            )
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the second axis, of a vector along the first."""
    rank = as_array("hsplit", ary).aval.ndim
    return split(ary, indices_or_sections, 0 if rank == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the third axis."""
    return split(ary, indices_or_sections, 2)


@replayed(1)
def tile(A: Any, reps: Any) -> Any:
    """`A` repeated as a whole along each axis."""
    A = as_array("tile", A)
    counts = integer_tuple("jnp.tile, argument reps", reps if np.iterable(reps) else (reps,))
    rank = max(len(counts), A.aval.ndim)
    shape = (1,) * (rank - A.aval.ndim) + A.aval.shape
    counts = (1,) * (rank - len(counts)) + counts
    return lax.tile(reshape(A, shape), counts)


@replayed(1)
def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Each element of `a` repeated along an axis.

    Args:
        a: array; flattened if `axis` is `None`.
        repeats: how often, an int or one count per element.
        axis: axis to repeat along.
        total_repeat_length: size of the result, needed if `repeats` is traced.
    """
    if out_sharding is not None:
        again = partial(repeat, axis=axis, total_repeat_length=total_repeat_length)
        return split_as("jnp.repeat", out_sharding, again, a, repeats)
    a = as_array("repeat", a)
    if axis is None or not a.aval.ndim:
        a, axis = ravel(a), 0 if axis is None else axis
    axis = canonical_axis("repeat", axis, a.aval.ndim)
    size = a.aval.shape[axis]
    if total_repeat_length is None:
        if type(size) is SymbolicDim and np.ndim(repeats) == 0:
            return _repeated_alike(a, int(_known_counts(repeats, 1)[0]), axis)
        counts = _known_counts(repeats, size)
        if size and (counts == counts[0]).all():
            return _repeated_alike(a, int(counts[0]), axis)
        places = np.repeat(np.arange(size), counts)
        return getitem(a, (slice(None),) * axis + (places,))
    # Each slot holds the number of elements that ended before it.
    ends = lax.cumsum(_repeated_counts(repeats, size))
    ended = lax.full((total_repeat_length,), 0, np.int32)
    places = lax.cumsum(At(ended)[getitem(ends, slice(None, -1))].add(1, mode="drop"))
    return getitem(a, (slice(None),) * axis + (places,))


def _repeated_alike(a: Any, count: int, axis: int) -> Any:
    """Each element `count` times along an axis."""
    shape = a.aval.shape
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    kept = tuple([i for i in range(len(wide)) if i != axis + 1])
    repeated = lax.broadcast_in_dim(a, wide, kept)
    return reshape(repeated, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _known_counts(repeats: Any, size: int) -> np.ndarray[Any, Any]:
    """How often each of `size` elements is repeated, as numbers."""
    fix = "Pass total_repeat_length=, or mark the argument static (static_argnums of jit)."
    counts = concrete_values("jnp.repeat, argument repeats", repeats, fix)
    fits = counts.shape in ((), (1,), (size,)) and counts.dtype.kind in "iub"
    if fits and not (counts < 0).any():
        return np.broadcast_to(counts, (size,))
    raise (ValueError if counts.dtype.kind in "iub" else TypeError)(
        message(
            "jnp.repeat, argument repeats",
            given=f"{repeats!r:.80} for an axis of size {size}",
            expected="an int that is not negative, or one for each element",
            fix="Pass integers, as many as the axis has elements.",
        )
    )


def _repeated_counts(repeats: Any, size: int) -> Any:
    counts = lax.convert_element_type(as_array("repeat", repeats), np.int32)
    return counts if aval_of(counts).ndim else lax.broadcast(counts, (size,))


@replayed(1)
def flip(m: Any, axis: Any = None) -> Any:
    """`m` with the order along axes (all without `axis`) reversed."""
    m = as_array("flip", m)
    return lax.rev(m, canonical_axes("flip", axis, m.aval.ndim))


@replayed(1)
def fliplr(m: Any) -> Any:
    """`m` with its columns in reverse order."""
    return flip(m, 1)


@replayed(1)
def flipud(m: Any) -> Any:
    """`m` with its rows in reverse order."""
    return flip(m, 0)


@replayed(1)
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`m` turned by k quarter turns from the first of `axes` towards the second."""
    plane = canonical_axes("rot90", axes, as_array("rot90", m).aval.ndim)
    if len(plane) != 2:
        raise ValueError(
            message(
                "jnp.rot90, argument axes",
                given=f"{axes!r:.80}",
                expected="two axes: those of the plane to turn in",
                fix="Write axes=(0, 1), for instance.",
            )
        )
    first, second = plane
    quarter = integer("jnp.rot90, argument k", k) % 4
    if quarter == 0:
        return as_array("rot90", m)
    if quarter == 2:
        return flip(m, (first, second))
    order = list(range(as_array("rot90", m).aval.ndim))
    order[first], order[second] = order[second], order[first]
    if quarter == 1:
        return lax.transpose(flip(m, second), order)
    return flip(lax.transpose(as_array("rot90", m), order), second)


@replayed(1, arrays=("shift",))
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`a` shifted along axes, what leaves at one end coming back at the other."""
    a = as_array("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.aval.shape)
    # An axis may be named again: its shifts add up.
    axes = [canonical_axis("roll", each, a.aval.ndim) for each in listed(axis)]
    shifts = _members_of_vector(shift)
    if 1 in (len(shifts), len(axes)):
        shifts, axes = shifts * len(axes), axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(
            message(
                "jnp.roll, argument shift",
                given=f"{len(shifts)} shifts for axes {axes}",
                expected="one shift, or one for each axis",
                fix="Give shift and axis the same length.",
            )
        )
    for place, amount in zip(axes, shifts, strict=True):
        size = a.aval.shape[place]
        if size:
            a = _rolled(a, amount, place, size)
    return a


def _members_of_vector(shift: Any) -> list[Any]:
    """The shifts that a number, a sequence or a vector stands for."""
    if isinstance(shift, (tuple, list)):
        return list(shift)
    if type(shift) is int:
        return [shift]
    ndim = aval_of(shift).ndim
    if ndim > 1:
        raise ValueError(
            message(
                "jnp.roll, argument shift",
                given=f"{aval_of(shift)}",
                expected="an int, or a vector of them",
                fix="Give one shift for each axis.",
            )
        )
    return [shift[i] for i in range(len(shift))] if ndim else [shift]


def _rolled(a: Any, amount: Any, axis: int, size: int) -> Any:
    if isinstance(amount, (int, np.integer)) and type(size) is int:
        cut = -int(amount) % size
        parts = [lax.slice_in_dim(a, cut, size, axis=axis), lax.slice_in_dim(a, 0, cut, axis=axis)]
        return lax.concatenate(parts, axis) if cut else a
    if type(size) is int:
        return lax.dynamic_slice_in_dim(
            lax.concatenate([a, a], axis), _start_of_rolled(amount, size), size, axis
        )
    count = size_value(size, np.dtype(np.int32))
    places = lax.sub(lax.iota(np.int32, size), lax.convert_element_type(amount, np.int32))
    wrapped = lax.rem(lax.add(lax.rem(places, count), count), count)
    return getitem(a, (slice(None),) * axis + (wrapped,))


def _start_of_rolled(amount: Any, size: int) -> Any:
    """Where an array that is shifted begins in two copies of it, one after the other."""
    if dtypes.itemsize_bits(aval_of(amount).dtype) < 32:
        amount = lax.convert_element_type(amount, np.int32)
    dtype = aval_of(amount).dtype
    rest = lax.convert_element_type(lax.rem(amount, dtype.type(size)), np.int32)
    return lax.select(lax.gt(rest, np.int32(0)), lax.sub(np.int32(size), rest), lax.neg(rest))


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """The coordinates of all points of a grid, from the coordinates along each axis.

    Args:
        xi: for each axis its coordinates, an array of any shape, taken in order.
        copy: no effect, since arrays do not change.
        sparse: keep size 1 along the axes on which a coordinate does not depend.
        indexing: ``"xy"``: the first coordinate runs along columns, the second along rows;
            ``"ij"``: coordinate i runs along axis i.

    Raises:
        ValueError: if `indexing` is neither.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.meshgrid(jnp.arange(2), jnp.arange(3), indexing="ij")[1]
        Array([[0, 1, 2],
               [0, 1, 2]], dtype=int32)
    """
    if not (isinstance(indexing, str) and indexing in ("xy", "ij")):
        raise ValueError(
            message(
                "jnp.meshgrid, argument indexing",
                given=f"{indexing!r}",
                expected="'xy' or 'ij'",
                fix="Pass 'ij' for matrices, 'xy' for pictures.",
            )
        )
    vectors = [ravel(as_array("meshgrid", x)) for x in xi]
    # Axis of each vector: with "xy" the first one runs along columns.
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    shape = [vectors[i].aval.size for i in places]
    if sparse:
        shapes = [[n if i == p else 1 for i, n in enumerate(shape)] for p in places]
        return [reshape(v, s) for v, s in zip(vectors, shapes, strict=True)]
    return [lax.broadcast_in_dim(v, shape, (p,)) for v, p in zip(vectors, places, strict=True)]
