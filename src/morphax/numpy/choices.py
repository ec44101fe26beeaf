"""Choosing among several arrays by conditions, and elements by a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lax.ground.axes import members
from ..util.messages import message
from .operands import as_array
from .selection import compress, where
from .shaping import reshape


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The first choice whose condition is true, element by element; else `default`.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.arange(5)
        >>> jnp.select([x < 2, x > 3], [-x, 10 * x], default=7)
        Array([ 0, -1,  7,  7, 40], dtype=int32)
    """
    condlist = members("jnp.select, argument condlist", condlist)
    choicelist = members("jnp.select, argument choicelist", choicelist)
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            message(
                "jnp.select",
                given=f"{len(condlist)} conditions and {len(choicelist)} choices",
                expected="as many choices as conditions, at least one",
                fix="Give one choice for each condition.",
            )
        )
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return result


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of `arr` where `condition` is true; see `compress`.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.arange(5)
        >>> jnp.extract(x % 2 == 1, x)
        Array([1, 3], dtype=int32)
    """
    flat = reshape(as_array("extract", condition), -1)
    return compress(flat, arr, size=size, fill_value=fill_value)
