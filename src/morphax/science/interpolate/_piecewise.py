"""Piecewise polynomials: Σⱼ c[j, i] (v − xᵢ)ᵏ⁻¹⁻ʲ in the cell xᵢ ≤ v < xᵢ₊₁.

They are trees of arrays: functions take and return them, and they are differentiable with respect
to coefficients, breakpoints and places.  On a breakpoint the polynomial of the cell behind it
counts.

Reference: C. de Boor, A Practical Guide to Splines, revised ed., Springer 2001, ch. VII.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

from ... import lax, tree
from ... import numpy as jnp
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axis, integer
from ..arguments import array, check_choice, increasing, real_and_inexact, refuse_shape

_WHERE = "science.interpolate.PPoly"
EXTRAPOLATIONS = (True, False, "periodic")


class Piecewise:
    """What piecewise polynomials of all kinds can do: `c`, `x`, `axis`, `extrapolate`."""

    c: Any
    x: Any
    axis: int
    extrapolate: Any

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Values, or values of the derivative of order `nu`, at places `x` (...).

        The axes of the places stand where the axis of the breakpoints was.  Outside of the
        breakpoints the outermost polynomial goes on, or everything is NaN (False), or everything
        is repeated (``"periodic"``); a place that is NaN gives NaN.
        """
        if nu:
            return self.derivative(nu)(x, extrapolate=self._mode(extrapolate))
        mode = self._mode(extrapolate)
        given = array(_WHERE, x)
        places, _ = real_and_inexact(_WHERE, given, self.x)
        found = self._values(jnp.ravel(places), mode)
        found = jnp.reshape(found, (*places.aval.shape, *self.c.aval.shape[2:]))
        return in_place(found, places.aval.ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative of order `nu`; for `nu` < 0 the antiderivative of order −`nu`."""
        nu = integer("science.interpolate.derivative, argument nu", nu)
        if nu < 0:
            return self.antiderivative(-nu)
        degree = self.c.aval.shape[0] - 1
        factors = [math.perm(p, nu) for p in range(degree, nu - 1, -1)]
        if factors:
            column = jnp.asarray(factors, self.c.aval.dtype)
            c = self.c[: len(factors)] * _as_column(column, self.c.aval.ndim)
        else:
            c = jnp.zeros_like(self.c[:1])
        return _made(c, self.x, self.axis, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The antiderivative of order `nu`: continuous, and 0 at the first breakpoint."""
        nu = integer("science.interpolate.antiderivative, argument nu", nu)
        if nu < 0:
            return self.derivative(-nu)
        c = self.c
        widths = _as_column(self.x[1:] - self.x[:-1], c.aval.ndim - 1)
        for _ in range(nu):
            divisors = jnp.arange(c.aval.shape[0], 0, -1, dtype=c.aval.dtype)
            c = c / _as_column(divisors, c.aval.ndim)
            over_cells = _horner(c, widths) * widths
            before = jnp.cumsum(over_cells, axis=0) - over_cells
            c = jnp.concatenate([c, before[None]])
        # Integrals of a periodic function are not periodic.
        mode = False if self.extrapolate == "periodic" and nu else self.extrapolate
        return _made(c, self.x, self.axis, mode)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`, two numbers; negative where b < a."""
        mode = self._mode(extrapolate)
        whole = self.antiderivative()
        ends, _ = real_and_inexact(_WHERE, jnp.stack([array(_WHERE, v) for v in (a, b)]), self.x)
        if mode == "periodic":
            ends, periods = self._folded(ends)
            values = whole._values(ends, True)
            (total,) = whole._values(self.x[-1:], True)
            return values[1] - values[0] + (periods[1] - periods[0]) * total
        values = whole._values(ends, mode)
        return values[1] - values[0]

    def _mode(self, extrapolate: Any) -> Any:
        mode = self.extrapolate if extrapolate is None else extrapolate
        check_choice(_WHERE, "extrapolate", mode, EXTRAPOLATIONS)
        return mode

    def _folded(self, v: Any) -> tuple[Any, Any]:
        """Places in the first period, and which period they were in."""
        first = self.x[0]
        length = self.x[-1] - first
        periods = lax.stop_gradient(jnp.floor((v - first) / length))
        return v - periods * length, periods

    def _values(self, v: Any, mode: Any) -> Any:
        """Values (p, ...) at a vector of places."""
        x = self.x
        if mode == "periodic":
            v = self._folded(v)[0]
        cell = jnp.clip(jnp.searchsorted(x, v, side="right") - 1, 0, x.aval.shape[0] - 2)
        steps = _as_column(v - x[cell], self.c.aval.ndim - 1)
        found = _horner(self.c[:, cell], steps)
        unknown = jnp.isnan(v)
        if mode is False:
            unknown = unknown | (v < x[0]) | (v > x[-1])
        return jnp.where(_as_column(unknown, found.aval.ndim), jnp.nan, found)

    def tree_flatten(self) -> tuple[Sequence[Any], tuple[Any, ...]]:
        """Coefficients and breakpoints; the rest is static."""
        return (self.c, self.x), (self.axis, self.extrapolate)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], children: Sequence[Any]) -> Any:
        """A function of these arrays, which are not checked."""
        made = object.__new__(cls)
        made.c, made.x = children
        made.axis, made.extrapolate = static
        return made


@final
@tree.register_pytree_node_class
class PPoly(Piecewise):
    """A piecewise polynomial: Σⱼ c[j, i] (v − xᵢ)ᵏ⁻¹⁻ʲ where xᵢ ≤ v < xᵢ₊₁.

    Args:
        c: coefficients (k, m, ...), the highest power first; integers become floating.
        x: breakpoints (m + 1,), which increase.
        extrapolate: outside of them, the outermost polynomials go on (True, the default), the
            values are NaN (False), or all is repeated (``"periodic"``).
        axis: where k and m stand among the axes of `c`; the axes of places stand there in results.

    Raises:
        ValueError: if the shapes do not fit, or the breakpoints do not increase.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.interpolate import PPoly
        >>> f = PPoly(jnp.array([[1.0, -1.0], [0.0, 1.0]]), jnp.array([0.0, 1.0, 2.0]))
        >>> f(jnp.array([0.5, 1.5])), f.integrate(0, 2)
        (Array([0.5, 0.5], dtype=float32), Array(1., dtype=float32))
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        x, c = real_and_inexact(_WHERE, x, c)
        shape = c.aval.shape
        place = canonical_axis(f"{_WHERE}, argument axis", axis, max(len(shape) - 1, 1))
        if x.aval.ndim != 1 or shape[place + 1 : place + 2] != (x.aval.size - 1,) or 0 in shape[:1]:
            refuse_shape(
                _WHERE,
                "x",
                f"{x.aval} for coefficients {c.aval}",
                "a vector of m + 1 breakpoints for coefficients (k, m, ...), m > 0",
                "The highest power comes first, the cells follow along the second axis.",
            )
        x, c = increasing(_WHERE, "x", x, c)
        self.c = jnp.moveaxis(c, (place, place + 1), (0, 1))
        self.x, self.axis = x, place
        self.extrapolate = True if extrapolate is None else extrapolate
        check_choice(_WHERE, "extrapolate", self.extrapolate, EXTRAPOLATIONS)


def _made(c: Any, x: Any, axis: int, extrapolate: Any) -> PPoly:
    return PPoly.tree_unflatten((axis, extrapolate), (c, x))


def in_place(found: Any, count: int, axis: int) -> Any:
    """Values whose first `count` axes, those of the places, stand where `axis` was."""
    return jnp.moveaxis(found, tuple(range(count)), tuple(range(axis, axis + count)))


def data_along(where: str, x: Any, y: Any, axis: int, least: int) -> tuple[Any, Any, int]:
    """Places (n,) and data (n, ...) of one precision, and where the axis of the data was."""
    x, y = real_and_inexact(where, x, y)
    if not y.aval.ndim:
        refuse_shape(where, "y", f"{y.aval}", "data for each place", "Pass an array.")
    place = canonical_axis(f"{where}, argument axis", axis, y.aval.ndim)
    size = y.aval.shape[place]
    if x.aval.shape != (size,) or size < least:
        refuse_shape(
            where,
            "x",
            f"{x.aval} for data {y.aval} along axis {place}",
            f"a vector as long as that axis, {least} at least",
            "Name the axis that the places belong to.",
        )
    x, y = increasing(where, "x", x, y)
    return x, jnp.moveaxis(y, place, 0), place


def column(v: Any, like: Any) -> Any:
    """A vector that multiplies an array along its first axis, in its dtype."""
    return convert(_as_column(v, like.aval.ndim), like.aval.dtype)


def _as_column(v: Any, ndim: int) -> Any:
    return jnp.reshape(v, (*v.aval.shape, *(1,) * (ndim - v.aval.ndim)))


def _horner(c: Any, steps: Any) -> Any:
    """Polynomials with coefficients `c` along the first axis."""
    total = c[0]
    for i in range(1, c.aval.shape[0]):
        total = total * steps + c[i]
    return jnp.broadcast_to(total, c.aval.shape[1:])
