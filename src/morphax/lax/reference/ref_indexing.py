"""Which part of an array an index of a reference names.

An `Indexer` says for each axis whether a window, one place or an array of places is taken, as in
NumPy.  What may be traced are operands: starts of windows, places and arrays of places.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, final

import numpy as np

from ... import dtypes
from ...array import Array
from ...core import AbstractRef, aval_of, is_value
from ...errors import NonConcreteBooleanIndexError
from ...util.messages import described, message
from ...util.records import dataclass

Index = Any


@final
@dataclass(frozen=True, slots=True)
class Slice:
    """A window of an index: `size` elements from `start` on, `stride` apart; `start` may be traced.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> ref = jax.new_ref(jnp.arange(6.0))
        >>> ref[jax.ds(2, 3)]
        Array([2., 3., 4.], dtype=float32)
    """

    start: Any
    size: int
    stride: int = 1


def ds(start: Any, size: int | None = None, stride: int | None = None) -> Slice:
    """A window for the index of a reference, whose start may be traced.

    Args:
        start: the first element; the size, if that is left out, of a window that starts at 0.
        size: how many elements.
        stride: their distance, 1 if left out.

    Example:
        >>> import morphax as jax
        >>> jax.ds(2, 3)
        Slice(start=2, size=3, stride=1)
        >>> jax.ds(3)
        Slice(start=0, size=3, stride=1)
    """
    if size is None:
        start, size = 0, start
    return Slice(start, size, 1 if stride is None else stride)


@final
@dataclass(frozen=True, slots=True)
class Window:
    """Several elements along an axis; the start is an operand if it is `None`."""

    start: int | None
    size: int
    stride: int

    @property
    def span(self) -> int:
        """From the first to the last element."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    @property
    def is_dynamic(self) -> bool:
        return self.start is None

    def text(self, length: int, names: Iterator[str]) -> str:
        if self.start is None:
            name = next(names)
            stop = f"{name}+{self.span}"
        else:
            name = str(self.start) if self.start else ""
            stop = str(self.start + self.span) if self.start + self.span != length else ""
        return f"{name}:{stop}" + (f":{self.stride}" if self.stride != 1 else "")


@final
@dataclass(frozen=True, slots=True)
class Place:
    """One element along an axis, which the result lacks; an operand if it is `None`."""

    start: int | None
    span: ClassVar[int] = 1
    stride: ClassVar[int] = 1

    @property
    def is_dynamic(self) -> bool:
        return self.start is None

    def text(self, length: int, names: Iterator[str]) -> str:
        return next(names) if self.start is None else str(self.start)


@final
@dataclass(frozen=True, slots=True)
class Places:
    """Elements along an axis that an array of integers, an operand, names."""

    start: ClassVar[None] = None
    span: ClassVar[int] = 1
    stride: ClassVar[int] = 1
    is_dynamic: ClassVar[bool] = True

    def text(self, length: int, names: Iterator[str]) -> str:
        return next(names)


AxisIndex = Window | Place | Places


@final
@dataclass(frozen=True, slots=True)
class Indexer:
    """A part of an array of a given shape: one entry per axis."""

    shape: tuple[int, ...]
    axes: tuple[AxisIndex, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the part is the array itself."""
        whole = [Window(0, size, 1) for size in self.shape]
        return list(self.axes) == whole

    @property
    def num_operands(self) -> int:
        return sum(axis.is_dynamic for axis in self.axes)

    @property
    def has_arrays(self) -> bool:
        return any(type(axis) is Places for axis in self.axes)

    def result_shape(self, avals: Sequence[Any]) -> tuple[int, ...]:
        """The shape of the part, given the avals of the operands."""
        given = iter(avals)
        operands: list[Any] = [next(given) if axis.is_dynamic else None for axis in self.axes]
        pairs = list(zip(self.axes, operands, strict=True))
        windows = [axis.size if type(axis) is Window else None for axis in self.axes]
        if not self.has_arrays:
            return tuple([size for size in windows if size is not None])
        arrays = np.broadcast_shapes(*[aval.shape for axis, aval in pairs if type(axis) is Places])
        places = [i for i, size in enumerate(windows) if size is None]
        adjacent = places == list(range(places[0], places[0] + len(places)))
        first = places[0] if adjacent else 0
        before = [size for size in windows[:first] if size is not None]
        after = [size for size in windows[first:] if size is not None]
        return (*before, *arrays, *after)

    def text(self, names: Iterator[str]) -> str:
        """As in printed programs: ``0,:,2:4``."""
        if self.is_whole:
            return "..."
        parts = zip(self.axes, self.shape, strict=True)
        return ",".join([axis.text(length, names) for axis, length in parts])


def parse_index(where: str, shape: tuple[int, ...], index: Any) -> tuple[Indexer, list[Any]]:
    """The indexer of an index that a user wrote, and its operands.

    Args:
        where: what is done, for error text.
        shape: of the array.
        index: integers, slices, `Slice`s, arrays of integers, an ellipsis; or a tuple of them.

    Raises:
        TypeError: a part of the index is something else.
        ValueError: there are too many parts, or one is out of bounds.
        NonConcreteBooleanIndexError: a part is a mask.
    """
    parts = _one_per_axis(where, shape, index)
    operands: list[Any] = []
    axes = [
        _axis_index(f"{where}, axis {i}", part, length, operands)
        for i, (part, length) in enumerate(zip(parts, shape, strict=True))
    ]
    return Indexer(shape, tuple(axes)), operands


def _one_per_axis(where: str, shape: tuple[int, ...], index: Any) -> list[Any]:
    parts = () if index is None else index if isinstance(index, tuple) else (index,)
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    missing = len(shape) - len(parts) + len(dots)
    if missing < 0 or len(dots) > 1:
        raise ValueError(
            message(
                where,
                given=f"an index of {len(parts)} parts for {len(shape)} axes",
                expected="at most one part per axis, and at most one ellipsis",
                fix="Leave parts out; axes that are not named are taken whole.",
            )
        )
    place = dots[0] if dots else len(parts)
    return [*parts[:place], *[slice(None)] * missing, *parts[place + len(dots) :]]


def _axis_index(where: str, part: Any, length: int, operands: list[Any]) -> AxisIndex:
    """The entry for one axis; what may be traced is added to `operands`."""
    if isinstance(part, slice):
        return _window_of_slice(where, part, length)
    if isinstance(part, Slice):
        return _window(where, part, length, operands)
    aval = _checked_aval(where, part)
    if aval.shape:
        operands.append(part)
        return Places()
    place = _known(part)
    if place is None:
        operands.append(part)
        return Place(None)
    if not -length <= place < length:
        raise ValueError(
            message(
                where,
                given=f"the place {place} of an axis of size {length}",
                expected=f"a place from {-length} to {length - 1}",
                fix="Index within the array.",
            )
        )
    return Place(place % length)


def _checked_aval(where: str, part: Any) -> Any:
    """The aval of a place or an array of places."""
    is_array = is_value(part) and not isinstance(part, (bool, float, complex))
    aval = aval_of(part) if is_array else None
    if aval is not None and type(aval) is not AbstractRef:
        if dtypes.issubdtype(aval.dtype, np.integer):
            return aval
        if aval.dtype == np.bool_:
            raise NonConcreteBooleanIndexError(
                message(
                    where,
                    given=f"the mask {aval.str_short()}",
                    expected="integers or slices: references are not indexed by masks",
                    fix="Index with jnp.nonzero(mask, size=...), or change ref[...] as a whole "
                    "with jnp.where.",
                )
            )
    raise TypeError(
        message(
            where,
            given=described(part) if aval is None else str(aval),
            expected="an integer, a slice, jax.ds, an array of integers, or an ellipsis",
            fix="Convert a list with jnp.asarray.",
        )
    )


def _known(x: Any) -> int | None:
    """The number that an integer scalar is, if that is known now."""
    return int(x) if isinstance(x, (int, np.generic, np.ndarray, Array)) else None


def _window_of_slice(where: str, part: slice, length: int) -> Window:
    start, stop, step = [
        None if bound is None else _static(where, bound)
        for bound in (part.start, part.stop, part.step)
    ]
    if step is not None and step < 1:
        raise ValueError(
            message(
                where,
                given=f"a slice with step {step}",
                expected="a step of at least 1",
                fix="Reverse what is read or written with jnp.flip.",
            )
        )
    taken = range(length)[start:stop:step]
    return Window(taken.start if taken else 0, len(taken), taken.step)


def _static(where: str, bound: Any) -> int:
    try:
        known = _known(bound)
        return operator.index(bound) if known is None else known
    except TypeError as error:
        raise TypeError(
            message(
                where,
                given=f"a slice with the bound {bound!r:.80}",
                expected="bounds that are integers, known while tracing",
                fix="Write jax.ds(start, size) for a slice whose start is traced.",
            )
        ) from error


def _window(where: str, part: Slice, length: int, operands: list[Any]) -> Window:
    size, stride = _static(where, part.size), _static(where, part.stride)
    aval = _checked_aval(where, part.start)
    start = None if aval.shape else _known(part.start)
    window = Window(start, size, stride)
    last = (start or 0) + window.span
    if aval.shape or size < 0 or stride < 1 or (start or 0) < 0 or last > length:
        raise ValueError(
            message(
                where,
                given=f"{part} for an axis of size {length}",
                expected="a window inside the axis, with a scalar start and a stride of at least 1",
                fix="Change the size, or move the start.",
            )
        )
    if start is None:
        operands.append(part.start)
    return window
