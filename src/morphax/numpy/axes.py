"""Axes given by users: counted from the front, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lax.axes import integer
from ..util.messages import message


def canonical_axis(where: str, axis: Any, ndim: int) -> int:
    """`axis` counted from the front."""
    number = integer(f"jnp.{where}, argument axis", axis)
    if -ndim <= number < ndim:
        return number % ndim
    raise ValueError(
        message(
            f"jnp.{where}, argument axis",
            given=f"axis {number} of an array with {ndim} axes",
            expected=f"an axis from {-ndim} to {ndim - 1}",
            fix="Name an axis that the array has.",
        )
    )


def canonical_axes(where: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; `None` stands for all."""
    if axes is None:
        return tuple(range(ndim))
    if type(axes) is int and -ndim <= axes < ndim:
        return (axes % ndim,)
    given: Sequence[Any] = axes if isinstance(axes, (tuple, list)) else (axes,)
    result = tuple([canonical_axis(where, a, ndim) for a in given])
    if len(set(result)) == len(result):
        return result
    raise ValueError(
        message(
            f"jnp.{where}, argument axis",
            given=f"{axes}",
            expected="different axes",
            fix="Name each axis once.",
        )
    )
