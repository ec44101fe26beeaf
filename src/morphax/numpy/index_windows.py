"""Windows in an index, ``x[ds(start, size)]``: starts may be traced, sizes are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..core import aval_of, is_value
from ..lax.reference.ref_indexing import Slice


def has_windows(index: Any) -> bool:
    """Whether a part of an index is a window."""
    return type(index) is Slice or (type(index) is tuple and Slice in map(type, index))


def without_windows(x: Any, index: Any) -> tuple[Any, Any]:
    """What an index selects from, with its windows taken, and the rest of the index.

    A window that sticks out is moved inside, as `lax.dynamic_slice` does.
    """
    parts: Sequence[Any] = index if type(index) is tuple else (index,)
    axis, rest, named = 0, [], sum([_axes(part) for part in parts])
    for part in parts:
        if type(part) is Slice:
            span = max((part.size - 1) * part.stride + 1, 0)
            x = lax.dynamic_slice_in_dim(x, part.start, span, axis)
            rest.append(slice(None, None, part.stride))
        else:
            rest.append(part)
        axis += x.aval.ndim - named if part is Ellipsis else _axes(part)
    return x, tuple(rest)


def _axes(part: Any) -> int:
    """How many axes a part of an index is about."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, (list, slice, Slice)) or (not is_value(part) and not hasattr(part, "aval")):
        return 1
    aval = aval_of(part)
    return aval.ndim if aval.dtype == bool else 1
