"""Starts of dynamic slices: scalars, counted from the front of each axis, of one dtype.

Starts that are known while tracing stay known: they are counted from the front and clipped at once.
Python integers take the dtype of the others.  A dtype too narrow for the sizes of the operand is
widened, for a start of -1 is to become one of size - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...array import Array
from ...core import Tracer, aval_of
from ...core.dims import Dim, SymbolicDim, upper_bound
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.memo import memoize
from ...util.messages import described, message
from ..elementwise.arithmetic import add
from ..elementwise.comparison import lt
from ..elementwise.convert import convert
from ..elementwise.selection import select_n
from ..ground.axes import members
from ..shape.filling import size_value
from ..shape.slicing import index_in_dim

_LARGEST: Final = 2**31 - 1


def check_starts(where: str, x: Any, starts: Sequence[Any]) -> None:
    """Raise unless there is one scalar integer per axis of `x` (avals), all of one dtype."""
    given = ", ".join([s.str_short(short_dtypes=False) for s in starts])
    valid = len(starts) == x.ndim and all([s.shape == () for s in starts])
    error: type[Exception]
    if not valid:
        error, expected = ValueError, f"{x.ndim} scalars, one per axis of {x.str_short()}"
    elif any([not dtypes.issubdtype(s.dtype, np.integer) for s in starts]):
        error, expected = TypeError, "integers"
    elif any([s.dtype != starts[0].dtype for s in starts]):
        error, expected = TypeError, "integers of one dtype"
    else:
        return
    raise error(
        message(
            f"{where}, argument start_indices",
            given=given or "nothing",
            expected=expected,
            fix="Give the start along each axis, as integers of one dtype.",
        )
    )


def read_as_signed(
    b: Builder, starts: Sequence[Value], shape: Sequence[int], sizes: Sequence[int]
) -> tuple[Value, ...]:
    """Starts, of which XLA takes unsigned ones for signed numbers where it knows them."""
    return tuple(
        [
            b.elementwise("stablehlo.minimum", start.aval, start, b.full(n - size, start.aval))
            if start.aval.dtype in (np.uint32, np.uint64)
            else start
            for start, n, size in zip(starts, shape, sizes, strict=True)
        ]
    )


def starts_from_front(
    where: str, shape: Sequence[int], start_indices: Any, allow_negative: Any
) -> list[Any]:
    """Starts as scalars, those that count from the end of an axis made to count from its front."""
    starts = _scalars(start_indices)
    if len(starts) != len(shape):
        raise ShapeError(
            message(
                f"{where}, argument start_indices",
                given=f"{len(starts)} starts",
                expected=f"{len(shape)}, one per axis of shape {tuple(shape)}",
                fix="Give the start along each axis.",
            )
        )
    if isinstance(allow_negative, bool | np.bool_):
        allow_negative = [allow_negative] * len(shape)
    elif not isinstance(allow_negative, Sequence) or len(allow_negative) != len(shape):
        raise TypeError(
            message(
                f"{where}, argument allow_negative_indices",
                given=described(allow_negative),
                expected="a bool, or one per axis",
                fix="Leave it out, or pass False if no start is below 0.",
            )
        )
    strong = [aval_of(start).dtype for start in starts if type(start) is not int]
    # Python integers yield to the others.
    weak = strong[0] if strong else dtypes.canonicalize(int)
    targets = [
        holding(weak if type(start) is int else aval_of(start).dtype, largest(shape))
        for start in starts
    ]
    return [
        _from_front(start, dtype, n, negative)
        for start, dtype, n, negative in zip(starts, targets, shape, allow_negative, strict=True)
    ]


def largest(sizes: Sequence[Dim]) -> int:
    """The largest of some sizes; one that is not known may be any number of 32 bits."""
    return max([n if type(n) is int else int(min(upper_bound(n), _LARGEST)) for n in sizes])


@memoize
def holding(dtype: Any, largest: int) -> Any:
    """`dtype`, or a wider one that holds `largest`, to which a start from the front may come."""
    is_narrow = dtypes.issubdtype(dtype, np.integer) and dtypes.iinfo(dtype).max < largest
    return np.dtype(np.int32) if is_narrow else dtype


def _scalars(start_indices: Any) -> list[Any]:
    """The members of an array or sequence of starts."""
    if isinstance(start_indices, Tracer):
        count = start_indices.shape[0] if start_indices.ndim else 0
        return [index_in_dim(start_indices, i, keepdims=False) for i in range(count)]
    if isinstance(start_indices, Array):
        return list(start_indices.to_host())
    return members("dynamic slicing, argument start_indices", start_indices, "integers")


def _from_front(start: Any, dtype: Any, size: Dim, allow_negative: bool) -> Any:
    """A start counted from the front of an axis; a known one stays known while tracing."""
    aval: Any = None if type(start) is int else aval_of(start)
    if not dtypes.issubdtype(dtype, np.integer) or (aval is not None and aval.shape):
        return start
    if not isinstance(start, Tracer):
        info = dtypes.iinfo(dtype)
        place = int(start.to_host() if isinstance(start, Array) else start)
        if place < 0 and allow_negative:
            if type(size) is SymbolicDim:
                return size_value(size + place, dtype)
            place += size
        # The operation moves it to the ends of the axis; checks want to see where it was.
        return dtype.type(min(max(place, int(info.min)), int(info.max)))
    start = convert(start, dtype)
    if not allow_negative or dtypes.issubdtype(aval.dtype, np.unsignedinteger):
        return start
    from_front = add(start, size_value(size, dtype))
    return select_n(lt(start, dtype.type(0)), start, from_front)
