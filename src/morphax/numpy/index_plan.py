"""From a NumPy index to a plan: what is known of `x[index]` from shapes and static values alone.

An index has static parts (ints, slices, `None`, `...`) and array parts.  Static parts alone are a
slice, a reversal, and dropped or added axes.  As soon as there is an array, ints count as arrays of
rank 0 with it, as in NumPy: array parts broadcast together, and their axes go where the first of
them stood, or to the front if a slice or `None` stands between them.

A boolean array stands for the places where it is true: for as many axes as it has, whose sizes must
be its own.  One of rank 0 stands for no axis of the operand, but for a new one, of size 1, that is
taken or not.

The plan depends on the operand's shape and on the *signature* of the index: its static parts, and
the shapes of its arrays.  It is made once per signature.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from operator import index as as_int
from typing import Any, NoReturn, final

import numpy as np

from .. import dtypes, errors
from ..array import Array
from ..core import Tracer, aval_of, carries_aval, is_value
from ..core.compile_time import ensure_compile_time_eval
from ..core.dims import (
    Dim,
    Shape,
    SymbolicDim,
    broadcast_shapes,
    clamp_dim,
    is_static,
    max_dim,
    min_dim,
)
from ..util.memo import memoize
from ..util.messages import described, message
from ..util.records import dataclass
from .creation import asarray


@final
@dataclass(frozen=True, slots=True)
class SliceAxis:
    """An axis that is sliced: `count` elements from `start`, `step` apart (perhaps backwards).

    A `stop` behind the last of them, if there is one, is simpler than the place of that.
    """

    start: Dim
    step: int
    count: Dim
    stop: Dim | None = None


@final
@dataclass(frozen=True, slots=True)
class ArrayAxis:
    """An axis that array number `position` indexes."""

    position: int


@final
@dataclass(frozen=True, slots=True)
class IndexPlan:
    """How to index an operand of `shape`.

    Args:
        shape: of the operand, `added` axes among them.
        added: axes of size 1 that the operand gets first, for masks of rank 0.
        axes: what happens to each of its axes.
        batch_shape: the common shape of the index arrays.
        batch_place: where the axes of `batch_shape` stand among those of the result that are
            neither new nor dropped.
        dropped: operand axes indexed by static ints, when there are no arrays.
        new_axes: places of axes of size 1 in the result.
        in_bounds: whether all static ints are in bounds.
    """

    shape: Shape
    added: tuple[int, ...]
    axes: tuple[SliceAxis | ArrayAxis, ...]
    batch_shape: tuple[int, ...]
    batch_place: int
    dropped: tuple[int, ...]
    new_axes: tuple[int, ...]
    in_bounds: bool

    @property
    def has_arrays(self) -> bool:
        return any(type(axis) is ArrayAxis for axis in self.axes)


# How static parts and arrays of an index are written in its signature.
_NEW, _REST, _ARRAY, _FLAG = "new axis", "...", "array", "mask of rank 0"
Signature = tuple[Any, ...]


def signature_of(x: Any, index: Any) -> tuple[Signature, list[Any]]:
    """The hashable signature of an index, and its arrays."""
    parts = index if isinstance(index, tuple) else (index,)
    signature: list[Any] = []
    arrays: list[Any] = []
    for position, part in enumerate(parts):
        kind = type(part)
        if kind is int:
            signature.append(part if -_FAR <= part < _FAR else _too_far(part))
        elif kind is builtins.slice:
            signature.append(_slice_signature(part))
        elif part is None:
            signature.append(_NEW)
        elif part is Ellipsis:
            signature.append(_REST)
        elif isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
            place = int(part)
            signature.append(place if -_FAR <= place < _FAR else _too_far(place))
        else:
            if kind in (list, tuple) and parts is index:
                # The values of a mask are known, also where `jit` traces.
                with ensure_compile_time_eval():
                    part = asarray(part, None if part else int)
            if _is_mask(part):
                _check_mask(x.aval.shape, parts, position)
            mark = _FLAG if _is_mask(part) and not np.ndim(part) else _ARRAY
            for array in _index_arrays(part):
                signature.append((mark, aval_of(array).shape))
                arrays.append(array)
    return tuple(signature), arrays


# Beyond all places of all arrays.
_FAR = 1 << 63


def _too_far(place: int) -> NoReturn:
    raise OverflowError(
        message(
            "x[...], index",
            given=f"{place}",
            expected="a place of the array, which 64 bits hold",
            fix="Compute the index anew; out of bounds, the nearest element is taken.",
        )
    )


def _is_mask(part: Any) -> bool:
    """Whether a part of an index that is no slice is boolean."""
    return (is_value(part) or carries_aval(part)) and aval_of(part).dtype == np.bool_


def _check_mask(shape: tuple[int, ...], parts: Sequence[Any], position: int) -> None:
    """Raise `IndexError` if a mask has other sizes than the axes that it stands for."""
    used = [_axes_used(p) for p in parts]
    _check_number(shape, sum(used), 0)
    is_behind = any([p is Ellipsis for p in parts[:position]])
    first = len(shape) - sum(used[position:]) if is_behind else sum(used[:position])
    sizes = shape[first : first + used[position]]
    given = np.shape(parts[position])
    if sizes != given:
        raise IndexError(
            message(
                "x[mask]",
                given=f"a boolean array of shape {given} for axes of sizes {sizes} "
                f"(from axis {first} on) of an array of shape {shape}",
                expected="a boolean array with the sizes of the axes that it stands for",
                fix="Give one truth value for each element or slice; to select by numbers, "
                "convert it with astype(int).",
            )
        )


def _check_number(shape: tuple[int, ...], used: int, ellipses: int) -> None:
    if used <= len(shape) and ellipses <= 1:
        return
    given = f"{used} indices and {ellipses} ellipses for an array of shape {shape}"
    expected = f"at most {len(shape)} indices and one ellipsis"
    fix = "Index as many axes as the array has."
    raise IndexError(message("x[...]", given=given, expected=expected, fix=fix))


def _axes_used(part: Any) -> int:
    """How many axes of the operand a part of an index stands for."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, (builtins.slice, int)) and not isinstance(part, bool):
        return 1
    if isinstance(part, (list, tuple)):
        part = np.asarray(part) if part else np.empty(0, int)
        return part.ndim if part.dtype == np.bool_ else 1
    return np.ndim(part) if _is_mask(part) else 1


def _bound(given: Any) -> Dim | None:
    return given if given is None or type(given) is SymbolicDim else as_int(given)


def _slice_signature(part: builtins.slice) -> tuple[Any, ...]:
    try:
        step = None if part.step is None else as_int(part.step)
        return (_bound(part.start), _bound(part.stop), step)
    except TypeError as error:
        kind = IndexError if isinstance(error, errors.JAXTypeError) else TypeError
        bounds = (part.start, part.stop, part.step)
        traced = [x for x in bounds if isinstance(x, Tracer) and x.number() is None]
        raise kind(
            message(
                "x[...], slice",
                given=f"a bound that is {described(traced[0])}" if traced else f"{part}",
                expected="bounds that are integers known while tracing",
                fix="Use lax.dynamic_slice_in_dim for a traced start with a static size; mask with "
                "jnp.where what lies beyond a traced stop; or mark the bound static in jit.",
            )
        ) from error


def _index_arrays(part: Any) -> list[Any]:
    """An array part as integer arrays: a boolean array becomes one per axis."""
    if isinstance(part, (list, tuple, str, float)) or not (carries_aval(part) or is_value(part)):
        raise TypeError(_bad_part(part))
    aval = aval_of(part)
    if dtypes.issubdtype(aval.dtype, np.integer):
        return [part if carries_aval(part) else np.asarray(part)]
    if aval.dtype != np.bool_:
        raise TypeError(_bad_part(part))
    if isinstance(part, Tracer) and part.concrete() is None:
        raise errors.NonConcreteBooleanIndexError(
            message(
                "x[mask]",
                given=f"{part.origin()}, {aval}",
                expected="a boolean array whose values are known: they decide the result's shape",
                fix="Use jnp.where(mask, x, value), or jnp.nonzero(mask, size=...).",
            )
        )
    mask = np.asarray(part)
    return list(np.nonzero(mask)) if mask.ndim else [np.zeros(int(mask), np.int32)]


def _bad_part(part: Any) -> str:
    if isinstance(part, (list, tuple)):
        fix = "Write x[jnp.array(index)]."
    elif isinstance(part, str):
        fix = "Axes and elements of an array have numbers; keep arrays by name in a dict."
    elif isinstance(part, float):
        fix = "Convert it with int(), or divide with // where it is computed."
    else:
        fix = "Convert it with astype('int32')."
    return message(
        "x[...], index",
        given=described(part),
        expected="ints, slices, None, Ellipsis, or arrays of integer or boolean dtype",
        fix=fix,
    )


@memoize
def plan_index(shape: tuple[int, ...], signature: Signature) -> IndexPlan:
    """The plan for an operand of `shape`."""
    signature = _without_ellipsis(shape, signature)
    arrays = any(_is_array(part) for part in signature)
    axes: list[SliceAxis | ArrayAxis] = []
    added, new_axes, dropped, places, batch_shapes = [], [], [], [], []
    in_bounds = True
    result_ndim = 0
    for part in signature:
        if part == _NEW:
            new_axes.append(result_ndim)
            result_ndim += 1
            continue
        if _is_flag(part):
            added.append(len(axes))
            shape = (*shape[: len(axes)], 1, *shape[len(axes) :])
        size = shape[len(axes)]
        if type(part) is int and size == 0:
            raise _no_elements(len(axes), shape)
        if _is_array(part) or (arrays and type(part) is int):
            places.append(result_ndim)
            batch_shapes.append(part[1] if _is_array(part) else ())
            axes.append(ArrayAxis(len(batch_shapes) - 1))
            in_bounds &= _is_array(part) or -size <= part < size
        elif type(part) is int:
            in_bounds &= -size <= part < size
            start = part + size if part < 0 else part
            start = min_dim(max_dim(start, 0), max_dim(size - 1, 0))
            dropped.append(len(axes))
            axes.append(SliceAxis(start, 1, 1))
        else:
            axes.append(_slice_axis(part, size))
            result_ndim += 1
    batch_shape = _broadcast(batch_shapes) if batch_shapes else ()
    # Arrays next to each other all stand before the same axis of the result.
    together = len(set(places)) == 1
    place = places[0] if places and together else 0
    width = len(batch_shape)
    return IndexPlan(
        shape=shape,
        added=tuple(added),
        axes=tuple(axes),
        batch_shape=batch_shape,
        batch_place=place - sum(n < place for n in new_axes),
        dropped=tuple(dropped),
        new_axes=tuple([n + width if arrays and n >= place else n for n in new_axes]),
        in_bounds=in_bounds,
    )


def _no_elements(axis: int, shape: Shape) -> IndexError:
    return IndexError(
        message(
            "x[...], index",
            given=f"a number along an axis of size 0: axis {axis} of an array of shape {shape}",
            expected="no number: the axis has no elements",
            fix="Test the size of the axis first.",
        )
    )


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of index arrays."""
    try:
        if all(map(is_static, shapes)):
            return np.broadcast_shapes(*shapes)
        return broadcast_shapes(shapes)
    except ValueError:
        raise IndexError(
            message(
                "x[...], index",
                given="arrays of indices of shapes " + ", ".join(map(str, shapes)),
                expected="shapes that broadcast together; a mask is as long as it has true values",
                fix="Index the axes one after the other, or combine arrays with jnp.ix_.",
            )
        ) from None


def _is_array(part: Any) -> bool:
    return type(part) is tuple and part[0] in (_ARRAY, _FLAG)


def _is_flag(part: Any) -> bool:
    return type(part) is tuple and part[0] == _FLAG


def _slice_axis(part: tuple[Any, ...], size: Dim) -> SliceAxis:
    if part[2] == 0:
        raise ValueError(
            message(
                "x[...], slice",
                given="a slice with step 0",
                expected="a step that is not zero",
                fix="Leave out the step, or give 1 or -1.",
            )
        )
    start, stop, step = part
    if SymbolicDim in (type(size), type(start), type(stop)):
        return _symbolic_slice(start, stop, step, size)
    chosen = range(*builtins.slice(*part).indices(size))
    return SliceAxis(chosen.start if chosen else 0, chosen.step, len(chosen))


def _symbolic_slice(start: Dim | None, stop: Dim | None, step: int | None, size: Dim) -> SliceAxis:
    """What `slice.indices` says, for all sizes."""
    step = 1 if step is None else step
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def bound(given: Dim | None, default: Dim) -> Dim:
        if given is None:
            return default
        return clamp_dim(low, given + size if given < 0 else given, high)

    first, last = (low, high) if step > 0 else (high, low)
    start, stop = bound(start, first), bound(stop, last)
    count = max_dim(-(-(stop - start) // step), 0)
    return SliceAxis(start, step, count, max_dim(start, stop) if step > 1 else None)


def _without_ellipsis(shape: tuple[int, ...], signature: Signature) -> Signature:
    """The signature with one part for every axis."""
    used = sum(part not in (_NEW, _REST) and not _is_flag(part) for part in signature)
    count = sum(part == _REST for part in signature)
    _check_number(shape, used, count)
    at = signature.index(_REST) if count else len(signature)
    whole = ((None, None, None),) * (len(shape) - used)
    return signature[:at] + whole + signature[at + 1 :]


def array_indices(signature: Signature, arrays: Sequence[Any]) -> list[Any]:
    """The index arrays of a signature by position, static ints among them."""
    given = iter(arrays)
    parts = [p for p in signature if _is_array(p) or type(p) is int]
    return [next(given) if _is_array(p) else np.asarray(p) for p in parts]


def known_values(x: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of an index array if they are known now."""
    if isinstance(x, Tracer):
        return None
    return x.to_host() if type(x) is Array else np.asarray(x)
