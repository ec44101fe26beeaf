"""Windows in an index, ``x[ds(start, size)]``: starts may be traced, sizes are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from .. import lax
from ..core import aval_of, is_value
from ..lax.reference.ref_indexing import Slice
from ..util.records import dataclass


def has_windows(index: Any) -> bool:
    """Whether a part of an index is a window."""
    return type(index) is Slice or (type(index) is tuple and Slice in map(type, index))


def without_windows(x: Any, index: Any) -> tuple[Any, Any]:
    """What an index selects from, with its windows taken, and the rest of the index.

    A window that sticks out is moved inside, as `lax.dynamic_slice` does.
    """
    windows, rest = _found(x.aval.ndim, index)
    for axis, part in windows:
        x = lax.dynamic_slice_in_dim(x, part.start, _span(part), axis)
    return x, rest


@final
@dataclass(frozen=True, slots=True)
class Windows:
    """Windows to be written to: what they take, the index into that, and where it begins.

    They are moved inside; whether they need not be is what `fit` says.
    """

    taken: Any
    rest: tuple[Any, ...]
    starts: list[Any]
    fit: Any

    @classmethod
    def of(cls, x: Any, index: Any) -> Windows:
        windows, rest = _found(x.aval.ndim, index)
        taken, starts, fit = x, [np.int32(0)] * x.aval.ndim, np.True_
        for axis, part in windows:
            start, last = lax.convert_element_type(part.start, np.int32), x.aval.shape[axis]
            last = np.int32(max(last - _span(part), 0))
            starts[axis] = lax.clamp(np.int32(0), start, last)
            taken = lax.dynamic_slice_in_dim(taken, starts[axis], _span(part), axis)
            fit = lax.bitwise_and(fit, lax.eq(start, starts[axis]))
        return cls(taken, rest, starts, fit)

    def written(self, x: Any, changed: Any, *, moved: bool) -> Any:
        """`x` with what they take `changed`, if they fit, or may be `moved`."""
        result = lax.dynamic_update_slice(x, changed, self.starts)
        return result if moved else lax.select(self.fit, result, x)


def _found(ndim: int, index: Any) -> tuple[list[tuple[int, Slice]], tuple[Any, ...]]:
    """The windows of an index with their axes, and the index into what they take."""
    parts: Sequence[Any] = index if type(index) is tuple else (index,)
    axis, rest, named = 0, [], sum([_axes(part) for part in parts])
    windows = []
    for part in parts:
        if type(part) is Slice:
            windows.append((axis, part))
            rest.append(slice(None, None, part.stride))
        else:
            rest.append(part)
        axis += ndim - named if part is Ellipsis else _axes(part)
    return windows, tuple(rest)


def _span(part: Slice) -> int:
    return max((part.size - 1) * part.stride + 1, 0)


def _axes(part: Any) -> int:
    """How many axes a part of an index is about."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, (list, slice, Slice)) or (not is_value(part) and not hasattr(part, "aval")):
        return 1
    aval = aval_of(part)
    return aval.ndim if aval.dtype == bool else 1
