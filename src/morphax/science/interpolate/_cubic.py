"""Cubic interpolants: they differ in the slopes that they take on at the data.

References: C. de Boor, A Practical Guide to Splines, revised ed., Springer 2001, ch. IV;
F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic
interpolants", SIAM J. Sci. Stat. Comput. 5 (1984) 300–304; H. Akima, "A new method of interpolation
and smooth curve fitting based on local procedures", J. ACM 17 (1970) 589–602; the modified weights:
C. Moler, "Makima piecewise cubic interpolation", MathWorks 2019.
"""

from __future__ import annotations

from typing import Any, final

from ... import numpy as jnp
from ... import tree
from ..arguments import check_choice, inexact, refuse, refuse_shape
from ._piecewise import EXTRAPOLATIONS, Piecewise, column, data_along
from ._spline_slopes import end_conditions, spline_slopes

_PACKAGE = "science.interpolate"


class _Cubic(Piecewise):
    """A cubic in each cell, from the values and slopes at its ends."""

    def _fill(self, x: Any, y: Any, slopes: Any, axis: int, extrapolate: Any) -> None:
        widths = column(x[1:] - x[:-1], y)
        mean = (y[1:] - y[:-1]) / widths
        bend = (slopes[:-1] + slopes[1:] - 2 * mean) / widths
        self.c = jnp.stack(
            [bend / widths, (mean - slopes[:-1]) / widths - bend, slopes[:-1], y[:-1]]
        )
        self.x, self.axis, self.extrapolate = x, axis, extrapolate
        where = f"{_PACKAGE}.{type(self).__name__}"
        check_choice(where, "extrapolate", extrapolate, EXTRAPOLATIONS)


@final
@tree.register_pytree_node_class
class CubicHermiteSpline(_Cubic):
    """The piecewise cubic with given values and slopes.

    Args:
        x: places (n,), which increase; n ≥ 2.
        y: values, n of them along `axis`.
        dydx: slopes, of the shape of `y`.
        axis: the axis of `y` that the places belong to.
        extrapolate: see `PPoly`.

    Raises:
        ValueError: if the shapes do not fit, or the places do not increase.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.interpolate import CubicHermiteSpline
        >>> f = CubicHermiteSpline(jnp.array([0.0, 1.0]), jnp.zeros(2), jnp.array([1.0, -1.0]))
        >>> f(0.5)
        Array(0.25, dtype=float32)
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        where = f"{_PACKAGE}.CubicHermiteSpline"
        y, dydx = inexact(where, y, dydx)
        if y.aval.shape != dydx.aval.shape:
            refuse_shape(
                where, "dydx", f"{dydx.aval}", f"slopes of shape {y.aval.shape}", "Broadcast them."
            )
        _, slopes, _ = data_along(where, x, dydx, axis, 2)
        x, y, axis = data_along(where, x, y, axis, 2)
        self._fill(x, y, slopes, axis, True if extrapolate is None else extrapolate)


@final
@tree.register_pytree_node_class
class CubicSpline(_Cubic):
    """The cubic spline through data: its second derivative is continuous.

    Its slopes s solve a tridiagonal system, hᵢ sᵢ₋₁ + 2 (hᵢ₋₁ + hᵢ) sᵢ + hᵢ₋₁ sᵢ₊₁ =
    3 (hᵢ mᵢ₋₁ + hᵢ₋₁ mᵢ) with widths h and mean slopes m of the cells, and a condition at each end.

    Args:
        x: places (n,), which increase; n ≥ 2.
        y: values, n of them along `axis`, real or complex; integers become floating.
        axis: the axis of `y` that the places belong to.
        bc_type: at the ends, ``"not-a-knot"`` (one cubic in the two outermost cells),
            ``"natural"`` (second derivatives 0), ``"clamped"`` (slopes 0), ``"periodic"``, or a
            pair of such, or of pairs (order 1 or 2, value of that derivative).
        extrapolate: see `PPoly`; by default True, and ``"periodic"`` for periodic splines.

    Raises:
        ValueError: if the shapes do not fit, the places do not increase, there is no such
            condition, or the data of a periodic spline differ at its ends.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.science.interpolate import CubicSpline
        >>> x = jnp.arange(5.0)
        >>> f = CubicSpline(x, x**3)
        >>> f(2.5), f(2.0, nu=2)
        (Array(15.625, dtype=float32), Array(12., dtype=float32))
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        where = f"{_PACKAGE}.CubicSpline"
        x, y, axis = data_along(where, x, y, axis, 2)
        ends = end_conditions(where, bc_type, y)
        if extrapolate is None:
            extrapolate = "periodic" if ends == "periodic" else True
        self._fill(x, y, spline_slopes(x, y, ends), axis, extrapolate)


@final
@tree.register_pytree_node_class
class PchipInterpolator(_Cubic):
    """The piecewise cubic of Fritsch and Butland, monotone where the data are.

    The slope at an inner place is 0 where the mean slopes m beside it differ in sign, else their
    harmonic mean (w₁ + w₂) / (w₁ / mᵢ₋₁ + w₂ / mᵢ), w₁ = 2 hᵢ + hᵢ₋₁ and w₂ = hᵢ + 2 hᵢ₋₁.

    Args:
        x: places (n,), which increase; n ≥ 2.
        y: real values, n of them along `axis`.
        axis: the axis of `y` that the places belong to.
        extrapolate: see `PPoly`.

    Raises:
        ValueError: if the shapes do not fit, the places do not increase, or values are complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.interpolate import PchipInterpolator
        >>> f = PchipInterpolator(jnp.arange(4.0), jnp.array([0.0, 0.0, 1.0, 1.0]))
        >>> f(jnp.array([0.5, 1.5, 2.5]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        where = f"{_PACKAGE}.PchipInterpolator"
        x, y, axis = data_along(where, x, y, axis, 2)
        _check_real(where, y)
        slopes = _monotone_slopes(x, y)
        self._fill(x, y, slopes, axis, True if extrapolate is None else extrapolate)


@final
@tree.register_pytree_node_class
class Akima1DInterpolator(_Cubic):
    """The piecewise cubic of Akima, whose slopes depend on the nearest data only.

    With the mean slopes m of the cells, the slope at a place is the mean of those beside it,
    weighted by |mᵢ₊₁ − mᵢ| and |mᵢ₋₁ − mᵢ₋₂|; ``"makima"`` adds half of |mᵢ₊₁ + mᵢ| and
    |mᵢ₋₁ + mᵢ₋₂|.  Where the weights are next to nothing, it is half of mᵢ₋₂ + mᵢ₊₁.

    Args:
        x: places (n,), which increase; n ≥ 2.
        y: real values, n of them along `axis`.
        axis: the axis of `y` that the places belong to.
        method: ``"akima"`` or ``"makima"``.
        extrapolate: see `PPoly`; False by default.

    Raises:
        ValueError: if the shapes do not fit, the places do not increase, values are complex, or
            there is no such method.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.interpolate import Akima1DInterpolator
        >>> f = Akima1DInterpolator(jnp.arange(5.0), jnp.array([0.0, 0.0, 0.0, 1.0, 2.0]))
        >>> f(jnp.array([1.5, 3.5, 5.0]))
        Array([-0.0625,  1.5   ,     nan], dtype=float32)
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        where = f"{_PACKAGE}.Akima1DInterpolator"
        check_choice(where, "method", method, ("akima", "makima"))
        x, y, axis = data_along(where, x, y, axis, 2)
        _check_real(where, y)
        slopes = _akima_slopes(x, y, method)
        self._fill(x, y, slopes, axis, False if extrapolate is None else extrapolate)


def _check_real(where: str, y: Any) -> None:
    if y.aval.dtype.kind == "c":
        refuse(where, "y", f"{y.aval}", "real values", "Interpolate real and imaginary parts.")


def _monotone_slopes(x: Any, y: Any) -> Any:
    h = column(x[1:] - x[:-1], y)
    m = (y[1:] - y[:-1]) / h
    if y.aval.shape[0] == 2:
        return jnp.concatenate([m, m])
    before, behind = m[:-1], m[1:]
    first, second = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    agree = jnp.sign(before) * jnp.sign(behind) > 0
    # What is not chosen must be finite, or it spoils the derivatives.
    before, behind = [jnp.where(agree, v, 1) for v in (before, behind)]
    mean = (first + second) / (first / before + second / behind)
    inner = jnp.where(agree | jnp.isnan(m[:-1] + m[1:]), mean + 0 * (m[:-1] + m[1:]), 0)
    start, stop = _end_slope(h[0], h[1], m[0], m[1]), _end_slope(h[-1], h[-2], m[-1], m[-2])
    return jnp.concatenate([start[None], inner, stop[None]])


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """The slope at an end by three points, limited so that the shape is kept."""
    slope = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    too_steep = (jnp.sign(m0) != jnp.sign(m1)) & (jnp.abs(slope) > 3 * jnp.abs(m0))
    limited = jnp.where(too_steep, 3 * m0, slope)
    return jnp.where(jnp.sign(slope) != jnp.sign(m0), 0, limited)


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    m = (y[1:] - y[:-1]) / column(x[1:] - x[:-1], y)
    if y.aval.shape[0] == 2:
        return jnp.concatenate([m, m])
    # Two cells are added at each end, such that the slopes of the last three change evenly.
    low = 2 * m[0] - m[1]
    high = 2 * m[-1] - m[-2]
    m = jnp.concatenate(
        [(2 * low - m[0])[None], low[None], m, high[None], (2 * high - m[-1])[None]]
    )
    change = jnp.abs(m[1:] - m[:-1])
    if method == "makima":
        change = change + 0.5 * jnp.abs(m[1:] + m[:-1])
    first, second = change[2:], change[:-2]
    total = first + second
    # Relative to the largest along the data: each column is a function of its own.
    decided = total > 1e-9 * jnp.max(total, axis=0)
    # Either mean is NaN where a slope is, for both read mᵢ₋₂ … mᵢ₊₁ or the weights made of them.
    weighted = (first * m[1:-2] + second * m[2:-1]) / jnp.where(decided, total, 1)
    return jnp.where(decided, weighted, 0.5 * (m[3:] + m[:-3]))
