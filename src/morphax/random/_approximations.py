"""Gamma and Poisson numbers by formulas without loops, close to their distributions.

Both shape one normal number, so they are smooth in the parameter where the distribution is
continuous, cost the same for all parameters, and run in step for all elements.

- *Gamma.*  The cube root of a gamma number is nearly normal (Wilson & Hilferty, PNAS 17, 1931),
  the more so the greater the parameter is.  With g = a + 4, y normal / √(2g) and w = 1 / (2g), the
  number is g P(y)³, where P has the coefficients Pᵢ(w); a Cornish–Fisher expansion begins with
  1 − 2w/9 and √2/3.  Four exponential numbers Eᵢ lead from a + 4 back to a: Γ(a) is Γ(a + 4)
  times Π exp(−Eᵢ / (a + i)) (Marsaglia & Tsang, ACM TOMS 26, 2000, section 6).  The coefficients
  are those that programs of JAX show, so that keys give the same numbers.
- *Poisson.*  The number n is that for which P(N < n) < u ≤ P(N ≤ n), with u = Φ(z).  For few
  events the probabilities are summed; for many, P(N ≤ n) = Φ(v(n)) by Peizer & Pratt (JASA 63,
  1968), and n is found from the Cornish–Fisher expansion about z, two steps from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..util.messages import message
from ._arguments import repeated
from ._inversion import exponential_of
from ._keys import keys_from
from ._normal import standard_normal
from ._uniform import unit_interval

_METHODS = ("exact", "approximate")


def is_approximate(function: str, method: Any) -> bool:
    """What the argument `method` of a distribution says.

    Raises:
        ValueError: it is not one of the two.
    """
    if method in _METHODS:
        return bool(method == "approximate")
    raise ValueError(
        message(
            f"random.{function}, argument method",
            given=f"{method!r}",
            expected=" or ".join(map(repr, _METHODS)),
            fix="Leave the argument out for numbers of the very distribution.",
        )
    )


# Of y⁰, y¹, …: the coefficients of w⁰, w¹ and w².
_CUBE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (9.780499e-05, -0.001450117, 0.001565326),
)
_RAISED = 4


def computed_in(dtype: Any) -> Any:
    """The dtype of the formulas for gamma numbers of `dtype`: not less than single precision."""
    return dtype if dtypes.finfo(dtype).bits >= 32 else np.dtype(np.float32)


def log_gamma_number(key: Any, a: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The logarithm of a gamma number for each element of `shape`; NaN where a < 0."""
    working = computed_in(dtype)
    a = repeated(lax.convert_element_type(a, working), shape)
    raised_key, shares_key = keys_from(key)
    g = a + _RAISED
    normal = standard_normal(raised_key, shape, working)
    w, y = 1 / (2 * g), normal * lax.rsqrt(2 * g)
    root = _polynomial(y, [_polynomial(w, row) for row in _CUBE_ROOT])
    root = lax.max(root, lax.full_like(root, dtypes.finfo(working).tiny))
    waiting = exponential_of(unit_interval(shares_key, (_RAISED, *shape), working))
    places = lax.broadcasted_iota(working, (_RAISED, *shape), 0)
    shares = lax.reduce_sum(-waiting / (lax.expand_dims(a, (0,)) + places), (0,))
    return jnp.where(a < 0, np.nan, lax.log(g) + 3 * lax.log(root) + shares)


def _polynomial(x: Any, coefficients: Any) -> Any:
    """Horner's rule; the constant comes first."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


_FEW = 7
_MOST_OF_FEW = 18


def poisson_number(key: Any, lam: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A Poisson number for each element of `shape`, as a float; −1 where there is no rate."""
    lam = repeated(lam, shape)
    z = standard_normal(key, shape, dtype)
    few = _by_sums(jnp.minimum(lam, _FEW), z)
    many = _by_normal(jnp.maximum(lam, _FEW), z)
    return jnp.where(lam >= 0, jnp.where(lam < _FEW, few, many), -1)


def _by_sums(lam: Any, z: Any) -> Any:
    """How many of the sums P(N ≤ 0), P(N ≤ 1), … are below Φ(z)."""
    x = z * np.sqrt(0.5).astype(z.dtype)
    tail = lax.erfc(abs(x))
    u = 0.5 * jnp.where(abs(x) < np.sqrt(0.5), 1 + lax.erf(x), jnp.where(x > 0, 2 - tail, tail))
    term = total = lax.exp(-lam)
    count = (total < u).astype(u.dtype)
    for n in range(1, _MOST_OF_FEW + 1):
        term = term * (lam / n)
        total = total + term
        count = count + (total < u).astype(u.dtype)
    return count


def _by_normal(lam: Any, z: Any) -> Any:
    """The least n with v(n) ≥ z, from a guess that is never too small."""
    spread = lax.sqrt(lam)
    guess = lam + spread * z - 2 / 3 + lax.square(z) / 6 + z * (1 - lax.square(z)) / (72 * spread)
    last = lax.ceil(guess + 0.6)
    number = last + 1
    for n in (last, last - 1):
        number = number - (_deviate(n, lam) >= z).astype(z.dtype)
    return jnp.maximum(number, 0)


def _deviate(n: Any, lam: Any) -> Any:
    """v(n) = (n − λ + 2/3 + 0.02 / (n + 1)) √((1 + T((n + ½) / λ)) / λ); −∞ below 0."""
    counted = jnp.maximum(n, 0)
    skewness = _skewness((counted + 0.5) / lam)
    distance = counted - lam + 2 / 3 + 0.02 / (counted + 1)
    return jnp.where(n < 0, -np.inf, distance * lax.sqrt((1 + skewness) / lam))


def _skewness(ratio: Any) -> Any:
    """T(y) = (1 − y² + 2 y log y) / (1 − y)², about 1 by Σ 2 (1 − y)ᵏ / (k + 1)(k + 2)."""
    d = ratio - 1
    is_near = abs(d) < 0.25
    series = [0.0] + [2 * (-1) ** k / ((k + 1) * (k + 2)) for k in range(1, 10)]
    near = _polynomial(d, series)
    y, away = jnp.where(is_near, 2, ratio), jnp.where(is_near, 1, d)
    return jnp.where(is_near, near, (1 - y * y + 2 * y * lax.log(y)) / (away * away))
