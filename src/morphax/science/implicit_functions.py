"""Solutions as implicit functions: what they satisfy gives their derivatives.

If F(x(a), a) = 0 then (∂F/∂x) ẋ = −(∂F/∂a) ȧ.  Where F is the gradient of an objective within
bounds, numbers that rest at a bound, with the gradient pointing outwards, follow the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import numpy as jnp
from ..control.custom.custom_root import custom_root
from ..transforms.vmap import vmap


def dense_solve(linear: Callable[[Any], Any], right: Any) -> Any:
    """The solution of a linear system that is given as a function; NaN if it is singular."""
    size = right.size
    columns = vmap(lambda e: linear(e.reshape(right.shape)).ravel(), out_axes=1)
    matrix = columns(jnp.eye(size, dtype=right.dtype))
    return jnp.linalg.solve(matrix, right.ravel()).reshape(right.shape)


def implicit_root(
    function: Callable[[Any], Any], start: Any, solve: Callable[[Any], tuple[Any, Any]]
) -> tuple[Any, Any]:
    """What `solve` finds from a start, x with function(x) = 0, and further data."""
    return custom_root(function, start, lambda _, x: solve(x), dense_solve, has_aux=True)


def implicit_minimum(
    gradient: Callable[[Any], Any],
    low: Any,
    high: Any,
    start: Any,
    solve: Callable[[Any], tuple[Any, Any]],
) -> tuple[Any, Any]:
    """What `solve` finds from a start, a minimum between bounds, and further data."""

    def optimality(x: Any) -> Any:
        slopes = gradient(x)
        at_low, at_high = (x <= low) & (slopes > 0), (x >= high) & (slopes < 0)
        return jnp.where(at_low, x - low, jnp.where(at_high, x - high, slopes))

    return implicit_root(optimality, start, solve)
