"""What distributions do to their arguments."""

from __future__ import annotations

from typing import Any

from ...numpy.operands import as_array, promoted_inexact


def arguments(name: str, *operands: Any) -> list[Any]:
    """Arrays of one floating dtype, for the function `name` of a distribution."""
    where = f"scipy.stats.{name}"
    return [as_array(where, x) for x in promoted_inexact(where, *operands)]


def standardized(name: str, x: Any, loc: Any, scale: Any, *shape: Any) -> list[Any]:
    """z = (x − loc) / scale, then scale and the parameters of shape, as arrays of one dtype."""
    x, loc, scale, *rest = arguments(name, x, loc, scale, *shape)
    return [(x - loc) / scale, scale, *rest]
