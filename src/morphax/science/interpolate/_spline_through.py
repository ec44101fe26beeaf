"""Splines of any degree through data: collocation with B-splines.

Reference: C. de Boor, A Practical Guide to Splines, revised ed., Springer 2001, ch. XIII.
"""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import integer
from ..arguments import array, increasing, inexact, refuse, refuse_shape
from ..linalg.banded import solve_banded
from ._bsplines import BSpline, basis_values
from ._piecewise import data_along

_WHERE = "science.interpolate.make_interp_spline"
_NAMED = {"natural": (2, 0.0), "clamped": (1, 0.0)}


def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """The spline of degree k through data.

    Args:
        x: places (n,), which increase; n > k, and as many as there are derivatives given fewer.
        y: values, n of them along `axis`, real or complex; integers become floating.
        k: the degree.
        t: knots, by default such that no knot stands at the places next to the ends, or at all
            places where derivatives are given.
        bc_type: what else holds at the ends: `None` or ``"not-a-knot"`` for nothing,
            ``"natural"`` (second derivatives 0), ``"clamped"`` (slopes 0), or a pair of these or of
            lists of pairs (order, value of that derivative).
        axis: the axis of `y` that the places belong to.
        check_finite: without meaning.

    Returns:
        A `BSpline`, all NaN if the knots do not suit the places (Schoenberg and Whitney).

    Raises:
        ValueError: if the shapes do not fit, the places do not increase, or the conditions are not
            as many as the knots demand.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.interpolate import make_interp_spline
        >>> x = jnp.arange(6.0)
        >>> f = make_interp_spline(x, x**3)
        >>> f(jnp.array([1.5, 4.5])).round(3), f.derivative()(2.0).round(3)
        (Array([ 3.375, 91.125], dtype=float32), Array(12., dtype=float32))
    """
    degree = integer(f"{_WHERE}, argument k", k)
    x, y, axis = data_along(_WHERE, x, y, axis, 1)
    start, stop = _conditions(bc_type)
    size = x.aval.shape[0]
    knots = _knots(x, degree, bool(start or stop)) if t is None else _given(t, x)
    count = knots.aval.shape[0] - degree - 1
    if degree < 0 or count - size != len(start) + len(stop) or count <= degree:
        refuse(
            _WHERE,
            "bc_type",
            f"{len(start)} derivatives at the start and {len(stop)} at the end, for {size} places, "
            f"degree {degree} and {knots.aval.shape[0]} knots",
            "as many derivatives as the knots are more than places + k + 1, and k ≥ 0",
            "Leave out bc_type and t, or pass more places.",
        )
    band, right = _equations(knots, degree, x, y, start, stop)
    flat = jnp.reshape(right, (count, -1))
    c = jnp.reshape(solve_banded((degree, degree), band, flat), right.aval.shape)
    return BSpline.tree_unflatten((degree, True, axis), (knots, c))


def _conditions(bc_type: Any) -> list[list[tuple[int, Any]]]:
    """The derivatives given at the start and at the end."""
    if bc_type is None or isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    if isinstance(bc_type, (tuple, list)) and len(bc_type) == 2:
        ends = [_condition(end) for end in bc_type]
        if None not in ends:
            return ends  # type: ignore[return-value]
    refuse(
        _WHERE,
        "bc_type",
        f"{bc_type!r:.80}",
        "None, 'not-a-knot', 'natural', 'clamped', or a pair of these or of lists of pairs",
        "Write ([(1, 0.0)], [(2, 0.0)]) for slope 0 at the start and no curvature at the end.",
    )


def _condition(end: Any) -> list[tuple[int, Any]] | None:
    if end is None or (isinstance(end, str) and end == "not-a-knot"):
        return []
    if isinstance(end, str):
        return [_NAMED[end]] if end in _NAMED else None
    return list(end)


def _given(t: Any, x: Any) -> Any:
    t = convert(array(_WHERE, t), x.aval.dtype)
    if t.aval.ndim != 1:
        refuse_shape(_WHERE, "t", f"{t.aval}", "a vector of knots", "Flatten it.")
    (t,) = increasing(_WHERE, "t", t, strictly=False)
    return t


def _knots(x: Any, k: int, at_all_places: bool) -> Any:
    """Knots between the repeated ends: at places, or in their middles for even degrees."""
    if k == 0:
        return jnp.concatenate([x, x[-1:]])
    inner = x
    if k % 2 == 0 and not at_all_places:
        inner = 0.5 * (x[1:] + x[:-1])
    left_out = 1 if at_all_places else (k + 1) // 2
    inner = inner[left_out : max(inner.aval.shape[0] - left_out, left_out)]
    return jnp.concatenate([jnp.repeat(x[:1], k + 1), inner, jnp.repeat(x[-1:], k + 1)])


def _equations(t: Any, k: int, x: Any, y: Any, start: Any, stop: Any) -> tuple[Any, Any]:
    """The band of the collocation matrix, k diagonals on either side, and right-hand sides."""
    count, size = t.aval.shape[0] - k - 1, x.aval.shape[0]
    bases, first = basis_values(t, k, x)
    values = jnp.stack(bases, axis=1)
    columns = first[:, None] + jnp.arange(k + 1)
    rows = jnp.broadcast_to(jnp.arange(size)[:, None] + len(start), columns.aval.shape)
    band = jnp.zeros((2 * k + 1, count), t.aval.dtype)
    # A place too far from its knots lies outside of the band: the system is singular.
    offset = k + rows - columns
    lost = (offset < 0) | (offset > 2 * k)
    band = band.at[jnp.where(lost, 2 * k + 1, offset), columns].set(values, mode="drop")
    band = jnp.where(jnp.any(lost), jnp.nan, band)
    right = [y]
    for place, conditions in ((0, start), (1, stop)):
        heights = []
        for i, (order, value) in enumerate(conditions):
            row = i if place == 0 else count - len(conditions) + i
            column = 0 if place == 0 else count - k - 1
            band = band.at[k + row - (column + jnp.arange(k + 1)), column + jnp.arange(k + 1)].set(
                _end_derivatives(t, k, order, place)
            )
            (value,) = inexact(_WHERE, value)
            heights.append(jnp.broadcast_to(convert(value, y.aval.dtype), y.aval.shape[1:]))
        if heights:
            right.insert(0 if place == 0 else len(right), jnp.stack(heights))
    return band, jnp.concatenate(right)


def _end_derivatives(t: Any, k: int, order: int, place: int) -> Any:
    """Derivatives of the k + 1 B-splines at the start, or at the end, of the base interval."""
    local = t[: 2 * k + 2] if place == 0 else t[-2 * k - 2 :]
    bases = BSpline.tree_unflatten((k, True, 0), (local, jnp.eye(k + 1, dtype=t.aval.dtype)))
    return bases.derivative(order)(local[k + place])
