"""The entropy of the Poisson distribution, and its derivative.

With weights wₖ = p(k) / p(n) relative to the mode n, the entropy is log Σ w − Σ w log w / Σ w:
no factorial is needed.  For a large mean μ it is ½ log(2πeμ) − 1/(12μ) − 1/(24μ²) − ….

Reference: Evans & Boersma, "The entropy of a Poisson distribution", SIAM Review 30 (1988).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ... import lax
from ...core import not_differentiable
from ...lax.ground.formulas import ByFormula, HostNotation, Notation
from ...lax.ground.horner import polynomial

_START_OF_ASYMPTOTIC = 1000.0
# Highest power of 1/μ first.
_ENTROPY = (-9 / 40, -19 / 360, -1 / 24, -1 / 12, 0.0)
_SLOPE = (9 / 10, 19 / 120, 1 / 12, 1 / 12, 0.5)


def _by_sum(m: Notation, mean: Any, *, sloped: bool) -> Any:
    """The entropy, or its derivative E[log((k + 1)/μ)], by sums from the mode outwards."""
    mode = m.floor(mean)
    reach = 12.0 * m.sqrt(mean) + 30.0

    def goes_on(i: Any, *state: Any) -> Any:
        return i < reach

    def step(i: Any, up: Any, down: Any, weights: Any, products: Any) -> Sequence[Any]:
        i = i + 1.0
        up = up - m.log((mode + i) / mean)
        below = mode - i
        is_count = below >= 0.0
        down = down + m.log(m.where(is_count, below + 1.0, mean) / mean)
        upper, lower = m.exp(up), m.where(is_count, m.exp(down), 0.0)
        first = m.log((mode + i + 1.0) / mean) if sloped else up
        second = m.log(m.where(is_count, below + 1.0, mean) / mean) if sloped else down
        return i, up, down, weights + upper + lower, products + upper * first + lower * second

    zero = 0.0 * mean
    start = m.log((mode + 1.0) / mean) if sloped else zero
    *_, weights, products = m.iterate(goes_on, step, (0.0, zero, zero, zero + 1.0, start))
    return products / weights if sloped else m.log(weights) - products / weights


def _formula(m: Notation, mean: Any, *, sloped: bool) -> Any:
    is_large = (mean >= _START_OF_ASYMPTOTIC) & (mean < math.inf)
    is_small = (mean > 0.0) & (mean < _START_OF_ASYMPTOTIC)
    large = m.where(is_large, mean, _START_OF_ASYMPTOTIC)
    inverse = 1.0 / large
    if sloped:
        far, at_zero, at_end = inverse * polynomial(_SLOPE, inverse), math.inf, 0.0
    else:
        far = 0.5 * m.log(2 * math.pi * math.e * large) + polynomial(_ENTROPY, inverse)
        at_zero, at_end = 0.0, math.inf
    near = _by_sum(m, m.where(is_small, mean, 1.0), sloped=sloped)
    limit = m.where(mean == 0.0, at_zero, m.where(mean == math.inf, at_end, math.nan))
    return m.where(is_small, near, m.where(is_large, far, limit))


# More terms than these are added up one after the other, for all numbers at once.
_MOST_TERMS = 1 << 18


def _of_narrow(mean: Any, *, sloped: bool) -> Any:
    """By NumPy, whose calls cost more than the terms of a few numbers: all terms at once."""
    formula = functools.partial(_formula, HostNotation(), sloped=sloped)
    near = (mean > 0.0) & (mean < _START_OF_ASYMPTOTIC)
    largest = mean.max(initial=0.0, where=near)
    # The terms beyond are below 1e-14 of the sum, as exp(−d² / (2μ + ⅔d)) bounds them at d.
    reach = math.ceil(8.0 * math.sqrt(largest) + 14.0)
    if not near.all() or 2 * reach * mean.size > _MOST_TERMS:
        return formula(mean)
    rows = mean[..., None]
    mode = np.floor(rows)
    steps = np.arange(1.0, reach + 1.0)
    rises = np.log((mode + steps) / rows)
    counts = mode - steps[: math.floor(largest)]
    falls = np.log(np.where(counts >= 0.0, counts + 1.0, rows) / rows)
    up, down = -np.cumsum(rises, -1), np.cumsum(falls, -1)
    upper, lower = np.exp(up), np.where(counts >= 0.0, np.exp(down), 0.0)
    weights = 1.0 + upper.sum(-1) + lower.sum(-1)
    if not sloped:
        return np.log(weights) - ((upper * up).sum(-1) + (lower * down).sum(-1)) / weights
    # The terms of E[log((k + 1)/μ)]: one step up from each count.
    above = np.log((mode + steps + 1.0) / rows)
    return (rises[..., 0] + (upper * above).sum(-1) + (lower * falls).sum(-1)) / weights


@final
class PoissonEntropySlope(ByFormula):
    """The derivative of the entropy with respect to the mean, element by element."""

    name = "poisson_entropy_slope"
    formula = functools.partial(_formula, sloped=True)
    of_narrow = functools.partial(_of_narrow, sloped=True)

    d_x = not_differentiable("the second derivative of the entropy is not computed")


@final
class PoissonEntropy(ByFormula):
    """The entropy as a function of the mean, element by element."""

    name = "poisson_entropy"
    formula = functools.partial(_formula, sloped=False)
    of_narrow = functools.partial(_of_narrow, sloped=False)

    def d_x(self, t: Any, mean: Any, out: Any) -> Any:
        return lax.mul(t, poisson_entropy_slope_p.bind(mean))


poisson_entropy_slope_p = PoissonEntropySlope()
poisson_entropy_p = PoissonEntropy()
