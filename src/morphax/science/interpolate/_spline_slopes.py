"""The slopes of cubic splines at their data: tridiagonal systems, with a condition at each end.

Reference: C. de Boor, A Practical Guide to Splines, revised ed., Springer 2001, ch. IV.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...lax.elementwise.complex import real_dtype
from ...lax.elementwise.convert import convert
from ..arguments import array, known, refuse, refuse_shape
from ..linalg.banded import tridiagonal_solution
from ._piecewise import column

_NAMED = {"clamped": (1, 0.0), "natural": (2, 0.0), "not-a-knot": None}


def end_conditions(where: str, bc_type: Any, y: Any) -> Any:
    """``"periodic"``, or for each end a pair (order, value), or `None` for not-a-knot."""
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            _check_ends_agree(where, y)
            return bc_type
        bc_type = (bc_type, bc_type)
    if not isinstance(bc_type, (tuple, list)) or len(bc_type) != 2:
        _refuse_condition(where, bc_type)
    return [_end_condition(where, condition, y) for condition in bc_type]


def _end_condition(where: str, condition: Any, y: Any) -> Any:
    if isinstance(condition, str) and condition in _NAMED:
        condition = _NAMED[condition]
        if condition is None:
            return None
    is_pair = isinstance(condition, (tuple, list)) and len(condition) == 2
    if not is_pair or condition[0] not in (1, 2):
        _refuse_condition(where, condition)
    order, value = condition
    value = array(where, value)
    shape = y.aval.shape[1:]
    if value.aval.ndim and value.aval.shape != shape:
        refuse_shape(
            where,
            "bc_type",
            f"derivatives {value.aval}",
            f"a number, or an array of shape {shape}, as the values at one place have",
            "Leave out the axis of the places.",
        )
    return order, jnp.broadcast_to(convert(value, y.aval.dtype), shape)


def _refuse_condition(where: str, condition: Any) -> None:
    refuse(
        where,
        "bc_type",
        f"{condition!r:.80}",
        "'not-a-knot', 'natural', 'clamped', a pair of these or of pairs (1 or 2, value), or "
        "'periodic'",
        "Write ((1, 0.0), (2, 0.0)) for slope 0 at the start and no curvature at the end.",
    )


def _check_ends_agree(where: str, y: Any) -> None:
    ends = known(jnp.stack([y[0], y[-1]]))
    if ends is None:
        return
    if not np.allclose(ends[0], ends[1], *_nearness(y), equal_nan=True):
        refuse(
            where,
            "y",
            f"{ends[0]!s:.40} at the first place and {ends[1]!s:.40} at the last",
            "the same values for bc_type='periodic'",
            "Repeat the first value at the end of the period.",
        )


def _nearness(y: Any) -> tuple[float, float]:
    near = 8 * float(np.finfo(real_dtype(y.aval.dtype)).eps)
    return near, near


def spline_slopes(x: Any, y: Any, ends: Any) -> Any:
    """The slopes (n, ...) of the spline through y (n, ...)."""
    h = x[1:] - x[:-1]
    mean = (y[1:] - y[:-1]) / column(h, y)
    size = y.aval.shape[0]
    if ends == "periodic":
        slopes = _periodic_slopes(h, mean)
        # What could not be refused while tracing has no periodic spline.
        agree = jnp.isclose(y[0], y[-1], *_nearness(y), equal_nan=True)
        return jnp.where(agree, slopes, np.nan)
    if size == 2:
        # With one cell, the condition that there be no knot beside the end says nothing.
        ends = [(1, mean[0]) if end is None else end for end in ends]
    if size == 3 and ends[0] is None and ends[1] is None:
        return _parabola_slopes(h, mean)
    first, second = _end_row(h, mean, ends[0], 1), _end_row(h[::-1], mean[::-1], ends[1], -1)
    right = 3 * (column(h[1:], mean) * mean[:-1] + column(h[:-1], mean) * mean[1:])
    zero = jnp.zeros((1,), h.aval.dtype)
    lower = jnp.concatenate([zero, h[1:], second[1][None]])
    diagonal = jnp.concatenate([first[0][None], 2 * (h[1:] + h[:-1]), second[0][None]])
    upper = jnp.concatenate([first[1][None], h[:-1], zero])
    right = jnp.concatenate([first[2][None], right, second[2][None]])
    return _solved(lower, diagonal, upper, right)


def _end_row(h: Any, mean: Any, end: Any, sign: int) -> tuple[Any, Any, Any]:
    """The equation at an end, with the cells counted from there: p s₀ + q s₁ = r."""
    one, zero = jnp.ones((), h.aval.dtype), jnp.zeros((), h.aval.dtype)
    if end is None:
        # The third derivative is continuous at the next place; s₂ is eliminated by its equation.
        h0, h1 = h[0], h[1]
        both = h0 + h1
        a, b, c = [convert(v, mean.aval.dtype) for v in (h0, h1, both)]
        return h1, both, ((a + 2 * c) * b * mean[0] + a * a * mean[1]) / c
    order, value = end
    if order == 1:
        return one, zero, value
    width = convert(h[0], mean.aval.dtype)
    return 2 * one, one, 3 * mean[0] - sign * 0.5 * value * width


def _parabola_slopes(h: Any, mean: Any) -> Any:
    """Three places and no condition: the parabola through them."""
    h0, h1 = [convert(v, mean.aval.dtype) for v in (h[0], h[1])]
    bend = (mean[1] - mean[0]) / (h0 + h1)
    start = mean[0] - bend * h0
    return jnp.stack([start, start + 2 * bend * h0, start + 2 * bend * (h0 + h1)])


def _periodic_slopes(h: Any, mean: Any) -> Any:
    """Slopes of a periodic spline: the cyclic system, of which the last unknown is split off."""
    count = mean.aval.shape[0]
    if count == 1:
        return jnp.zeros((2, *mean.aval.shape[1:]), mean.aval.dtype)
    # Equation i belongs to place i, with the cells i − 1 and i beside it.
    before, before_mean = jnp.roll(h, 1), jnp.roll(mean, 1, axis=0)
    right = 3 * (column(h, mean) * before_mean + column(before, mean) * mean)
    diagonal = 2 * (h + before)
    coupling = jnp.zeros((count - 1,), h.aval.dtype)
    # The last unknown stands before the first equation and behind the last but one.
    coupling = coupling.at[0].add(h[0]).at[-1].add(before[-2])
    both = jnp.concatenate(
        [
            jnp.reshape(right[:-1], (count - 1, -1)),
            convert(coupling[:, None], mean.aval.dtype),
        ],
        axis=1,
    )
    found = _solved(h[:-1], diagonal[:-1], before[:-1], both)
    free, response = found[:, :-1], found[:, -1:]
    last = jnp.reshape(right[-1], (1, -1))
    low, high, middle = [convert(v, mean.aval.dtype) for v in (h[-1], before[-1], diagonal[-1])]
    last = (last - low * free[-1:] - high * free[:1]) / (
        middle - low * response[-1:] - high * response[:1]
    )
    slopes = jnp.concatenate([free - response * last, last])
    slopes = jnp.concatenate([slopes, slopes[:1]])
    return jnp.reshape(slopes, (count + 1, *mean.aval.shape[1:]))


def _solved(lower: Any, diagonal: Any, upper: Any, right: Any) -> Any:
    """The tridiagonal system with right-hand sides (n, ...)."""
    if not right.aval.size:
        return right
    columns = jnp.reshape(right, (right.aval.shape[0], -1))
    found = tridiagonal_solution(lower, diagonal, upper, columns)
    return jnp.reshape(found, right.aval.shape)
