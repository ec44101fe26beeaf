"""Boxes low ≤ x ≤ high."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...errors import ShapeError
from ...util.messages import message
from ..solver_arguments import check_known, inexact


def box(where: str, low: Any, high: Any, x: Any) -> tuple[Any, Any]:
    """The bounds of a vector as vectors, given as numbers or vectors."""
    found = []
    for given in (low, high):
        bound = inexact(where, "bounds", given, is_real=True).astype(x.dtype)
        if bound.shape not in ((), x.shape):
            raise ShapeError(
                message(
                    f"{where}, argument bounds",
                    given=f"{bound.aval}",
                    expected=f"numbers, or vectors of shape {x.shape} as x0",
                    fix="Give a lower and an upper bound for each number.",
                )
            )
        found.append(jnp.broadcast_to(bound, x.shape))
    low, high = found
    check_known(
        jnp.all(low <= high),
        f"{where}, argument bounds",
        given=f"low={low!r:.60}, high={high!r:.60}",
        expected="low ≤ high",
        fix="Exchange the bounds that are not in order.",
    )
    # A box that is empty, as is known only later, has no numbers.
    return jnp.where(low <= high, low, np.nan), high


def pairs(where: str, bounds: Any) -> tuple[Any, Any]:
    """Lower and upper bounds from pairs (low, high), where None stands for infinity."""
    if bounds is None:
        return -np.inf, np.inf
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    rows = list(bounds)
    if not all([isinstance(row, Sequence) and len(row) == 2 for row in rows]):
        raise ShapeError(
            message(
                f"{where}, argument bounds",
                given=f"{rows!r:.80}",
                expected="a pair (low, high) for each number",
                fix="Write [(low, high), ...], with None for no bound.",
            )
        )
    low = [-np.inf if row[0] is None else row[0] for row in rows]
    high = [np.inf if row[1] is None else row[1] for row in rows]
    return jnp.stack(list(map(jnp.asarray, low))), jnp.stack(list(map(jnp.asarray, high)))


def projected_gradient(x: Any, slopes: Any, low: Any, high: Any) -> Any:
    """How far a step along −g goes before it leaves the box; zero at a minimum."""
    return jnp.clip(x - slopes, low, high) - x


def held(x: Any, slopes: Any, low: Any, high: Any) -> Any:
    """Which numbers rest at a bound, with the gradient pointing outwards."""
    return ((x <= low) & (slopes >= 0)) | ((x >= high) & (slopes <= 0))


def active_mask(x: Any, low: Any, high: Any) -> Any:
    """−1 for numbers at their lower bound, 1 for those at the upper one, otherwise 0."""
    return jnp.where(x <= low, -1, jnp.where(x >= high, 1, 0))
