"""Splines as sums of B-splines, Σⱼ cⱼ Bⱼ(v): at any place k + 1 of them are not 0.

They are trees of arrays: functions take and return them, and they are differentiable with respect
to coefficients, knots and places.

Reference: C. de Boor, A Practical Guide to Splines, revised ed., Springer 2001, ch. IX–XI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ... import lax, tree
from ... import numpy as jnp
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axis, integer
from ..arguments import array, check_choice, increasing, real_and_inexact, refuse_shape
from ._piecewise import EXTRAPOLATIONS, column, in_place

_WHERE = "science.interpolate.BSpline"


@final
@tree.register_pytree_node_class
class BSpline:
    """The spline Σⱼ cⱼ Bⱼ(v) of degree k with knots t, of which tₖ … tₙ is the base interval.

    B-splines of degree 0 are 1 in [tⱼ, tⱼ₊₁) and 0 elsewhere, and Bⱼ of degree k is
    (v − tⱼ) / (tⱼ₊ₖ − tⱼ) times Bⱼ of degree k − 1 plus (tⱼ₊ₖ₊₁ − v) / (tⱼ₊ₖ₊₁ − tⱼ₊₁) times Bⱼ₊₁.

    Args:
        t: knots (n + k + 1,) in ascending order, n > k; some may be equal.
        c: coefficients, n of them along `axis`; further ones are not read.
        k: the degree.
        extrapolate: outside of the base interval, the outermost polynomials go on (True), the
            values are NaN (False), or all is repeated (``"periodic"``).
        axis: the axis of `c` that is summed over; the axes of places stand there in results.

    Raises:
        ValueError: if the shapes do not fit, or the knots are not in order.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.interpolate import BSpline
        >>> f = BSpline(jnp.array([0.0, 0.0, 1.0, 2.0, 2.0]), jnp.array([0.0, 1.0, 0.0]), 1)
        >>> f(jnp.array([0.5, 1.0, 1.5])), f.integrate(0, 2)
        (Array([0.5, 1. , 0.5], dtype=float32), Array(1., dtype=float32))
    """

    t: Any
    c: Any
    k: int
    extrapolate: Any
    axis: int

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        t, c = real_and_inexact(_WHERE, t, c)
        degree = integer(f"{_WHERE}, argument k", k)
        place = canonical_axis(f"{_WHERE}, argument axis", axis, max(c.aval.ndim, 1))
        count = t.aval.size - degree - 1
        fits = t.aval.ndim == 1 and c.aval.ndim and c.aval.shape[place] >= count > degree >= 0
        if not fits:
            refuse_shape(
                _WHERE,
                "t",
                f"knots {t.aval} and coefficients {c.aval}, degree {degree}",
                "n + k + 1 knots for n coefficients, n > k ≥ 0",
                "Repeat the first knot and the last one k times.",
            )
        t, c = increasing(_WHERE, "t", t, c, strictly=False)
        check_choice(_WHERE, "extrapolate", extrapolate, EXTRAPOLATIONS)
        self.t, self.c = t, jnp.moveaxis(c, place, 0)[:count]
        self.k, self.extrapolate, self.axis = degree, extrapolate, place

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Values, or values of the derivative of order `nu`, at places `x` (...)."""
        if nu:
            return self.derivative(nu)(x, extrapolate=self._mode(extrapolate))
        mode = self._mode(extrapolate)
        places, _ = real_and_inexact(_WHERE, array(_WHERE, x), self.t)
        found = self._values(jnp.ravel(places), mode)
        found = jnp.reshape(found, (*places.aval.shape, *self.c.aval.shape[1:]))
        return in_place(found, places.aval.ndim, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative of order `nu`; for `nu` < 0 the antiderivative of order −`nu`."""
        nu = integer("science.interpolate.derivative, argument nu", nu)
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            if not k:
                c = jnp.zeros_like(c)
                break
            spans = t[k + 1 : -1] - t[1 : -k - 1]
            # A B-spline between equal knots is 0 everywhere, whatever its coefficient.
            spans = jnp.where(spans == 0, jnp.inf, spans)
            c = k * (c[1:] - c[:-1]) / column(spans, c)
            t, k = t[1:-1], k - 1
        return self._like(t, c, k, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The antiderivative of order `nu`, which is 0 at the first knot."""
        nu = integer("science.interpolate.antiderivative, argument nu", nu)
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            parts = c * column((t[k + 1 :] - t[: -k - 1]) / (k + 1), c)
            c = jnp.concatenate([jnp.zeros_like(c[:1]), jnp.cumsum(parts, axis=0)])
            t, k = jnp.concatenate([t[:1], t, t[-1:]]), k + 1
        mode = False if self.extrapolate == "periodic" and nu else self.extrapolate
        return self._like(t, c, k, mode)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`; without extrapolation, the spline is 0 outside."""
        mode = self._mode(extrapolate)
        ends, _ = real_and_inexact(_WHERE, jnp.stack([array(_WHERE, v) for v in (a, b)]), self.t)
        first, last = self._base()
        whole = self.antiderivative()
        if mode == "periodic":
            ends, periods = _folded(ends, first, last)
            start, stop = whole._values(jnp.stack([first, last]), True)
            values = whole._values(ends, True)
            return values[1] - values[0] + (periods[1] - periods[0]) * (stop - start)
        if mode is False:
            ends = jnp.clip(ends, first, last)
        values = whole._values(ends, True)
        return values[1] - values[0]

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> BSpline:
        """The one B-spline of degree k whose knots are `t` (k + 2,), repeated at the ends."""
        t = jnp.ravel(array(_WHERE, t))
        k = t.aval.size - 2
        t = jnp.concatenate([jnp.repeat(t[:1], k), t, jnp.repeat(t[-1:], k)])
        return cls(t, jnp.zeros((2 * k + 1,)).at[k].set(1), k, extrapolate)

    def _base(self) -> tuple[Any, Any]:
        return self.t[self.k], self.t[self.c.aval.shape[0]]

    def _mode(self, extrapolate: Any) -> Any:
        mode = self.extrapolate if extrapolate is None else extrapolate
        check_choice(_WHERE, "extrapolate", mode, EXTRAPOLATIONS)
        return mode

    def _values(self, v: Any, mode: Any) -> Any:
        """Values (p, ...) at a vector of places."""
        first, last = self._base()
        if mode == "periodic":
            v = _folded(v, first, last)[0]
        bases, start = basis_values(self.t, self.k, v)
        found: Any = 0
        for j, basis in enumerate(bases):
            found = found + column(basis, self.c) * self.c[start + j]
        unknown = jnp.isnan(v)
        if mode is False:
            unknown = unknown | (v < first) | (v > last)
        unknown = jnp.reshape(unknown, (*v.aval.shape, *(1,) * (found.aval.ndim - 1)))
        return jnp.where(unknown, jnp.nan, found)

    def _like(self, t: Any, c: Any, k: int, extrapolate: Any) -> BSpline:
        return self.tree_unflatten((k, extrapolate, self.axis), (t, c))

    def tree_flatten(self) -> tuple[Sequence[Any], tuple[Any, ...]]:
        """Knots and coefficients; the rest is static."""
        return (self.t, self.c), (self.k, self.extrapolate, self.axis)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], children: Sequence[Any]) -> BSpline:
        """A spline of these arrays, which are not checked."""
        made = object.__new__(cls)
        made.t, made.c = children
        made.k, made.extrapolate, made.axis = static
        return made


def basis_values(t: Any, k: int, v: Any) -> tuple[list[Any], Any]:
    """The k + 1 B-splines that are not 0 at places (p,), and the number of the first of them.

    Beyond the base interval they are the polynomials of the outermost piece that has a length; of
    degree 0 the last piece may consist of its end alone.
    """
    count = t.aval.shape[0] - k - 1
    piece = jnp.searchsorted(t, v, side="right") - 1
    if k:
        low = jnp.searchsorted(t, t[k], side="right") - 1
        piece = jnp.clip(piece, low, jnp.searchsorted(t, t[count]) - 1)
    piece = jnp.clip(piece, k, count - 1)
    behind = [t[piece + 1 + i] - v for i in range(k)]
    before = [v - t[piece - i] for i in range(k)]
    bases = [jnp.ones_like(v)]
    for degree in range(1, k + 1):
        carried: Any = jnp.zeros_like(v)
        raised = []
        for i, basis in enumerate(bases):
            part = basis / (behind[i] + before[degree - 1 - i])
            raised.append(carried + behind[i] * part)
            carried = before[degree - 1 - i] * part
        bases = [*raised, carried]
    return bases, piece - k


def _folded(v: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Places in the base interval, and how many times it was passed."""
    periods = lax.stop_gradient(jnp.floor((v - first) / (last - first)))
    return v - periods * (last - first), convert(periods, v.aval.dtype)
