"""Bessel functions of the first kind of several integer orders.

Miller's algorithm: the recurrence J_{k−1} = (2k/z) J_k − J_{k+1} is stable towards low orders.  It
starts far above the orders that are not yet small, from any numbers, and J₀ + 2 J₂ + 2 J₄ + … = 1
scales the result.  For large z, where this takes as many steps as z is large, J₀ and J₁ come from
Hankel's expansion, and the recurrence goes upwards, which is stable as long as k < z.

References: DLMF, 3.6 and 10.12.4 and 10.17.3.  Gautschi, "Computational aspects of three-term
recurrence relations", SIAM Review 9 (1967).
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...control.jit.jit import jit
from ...numpy.half_precision import in_float32
from ...util.messages import message
from ._operands import real_operands, strong

_END_OF_SERIES = 0.1
_START_OF_HANKEL = 25.0
_HANKEL_TERMS = 21


def _by_series(z: Any, last: int) -> Any:
    """J_k = (z/2)ᵏ/k! (1 − q/(k+1) (1 − q/(2(k+2)) (1 − …))) with q = z²/4, for |z| < 0.1."""
    half = 0.5 * z
    square = half * half
    power = jnp.ones_like(z)
    rows = []
    for k in range(last + 1):
        if k:
            power = power * (half / k)
        total: Any = 1.0
        for j in reversed(range(1, 5)):
            total = 1 - total * square / (j * (j + k))
        rows.append(power * total)
    return jnp.stack(rows)


def _downwards(z: Any, last: int, reach: float) -> Any:
    """By Miller's algorithm, for 0.1 ≤ z ≤ `reach`, where `last` ≤ `reach`."""
    # So far up J is below the root of the precision, and what the recurrence leaves is its square.
    digits, more = (60, 10) if z.dtype == np.float64 else (15, 4)
    start = 2 * ((int(reach) + int(math.sqrt(digits * reach)) + more) // 2)
    big = float(dtypes.finfo(z.dtype).max) ** 0.25
    order = np.arange(last + 1).reshape(-1, *[1] * z.ndim)

    def lower(k: Any, state: Any) -> Any:
        """J_{k−1} beside J_k, the sum, and by what all have been scaled."""
        above, current, total = state
        following = current * (2 * k.astype(z.dtype) / z) - above
        # The numbers grow towards low orders; only their ratios count.
        scale = jnp.where(lax.abs(following) > big, 1 / big, 1)
        following = following * scale
        is_even = (k - 1) % 2 == 0
        total = total * scale + jnp.where(is_even, jnp.where(k == 1, 1, 2) * following, 0)
        return (current * scale, following, total), scale

    def step(i: Any, state: Any) -> Any:
        return lower(start - i, state)[0]

    def step_with_rows(i: Any, state: Any) -> Any:
        *numbers, rows = state
        (*numbers, total), scale = lower(start - i, numbers)
        rows = jnp.where(order == start - i - 1, numbers[1], rows * scale)
        return *numbers, total, rows

    zeros = jnp.zeros_like(z)
    small = jnp.full_like(z, float(dtypes.finfo(z.dtype).tiny) ** 0.5)
    # Only the last steps have rows to keep.
    first_kept = start - last - 1
    state = lax.fori_loop(0, first_kept, step, (zeros, small, zeros))
    rows = jnp.zeros((last + 1, *z.shape), z.dtype)
    *_, total, rows = lax.fori_loop(first_kept, start, step_with_rows, (*state, rows))
    return rows / total


def _upwards(z: Any, last: int) -> Any:
    """From J₀ and J₁ by Hankel's expansion, for z ≥ 25 and z ≥ `last`."""
    sine, cosine = lax.sin(z), lax.cos(z)
    rows = []
    for order in (0, 1):
        even: Any = 0
        odd: Any = 0
        term: Any = 1
        for k in range(_HANKEL_TERMS):
            if k:
                term = term * ((4 * order * order - (2 * k - 1) ** 2) / (8 * k) / z)
            signed = term if k % 4 < 2 else -term
            even, odd = (even, odd + signed) if k % 2 else (even + signed, odd)
        # The cosine and the sine of z − (order/2 + 1/4) π, but for a factor √2.
        turned = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -cosine - sine)
        rows.append((even * turned[0] - odd * turned[1]) / lax.sqrt(math.pi * z))
    for k in range(1, last):
        rows.append(rows[k] * (2 * k / z) - rows[k - 1])
    return jnp.stack(rows[: last + 1])


@functools.partial(custom_jvp, nondiff_argnums=(1,))
def _bessel_jn(z: Any, last: int) -> Any:
    size = lax.abs(z)
    reach = max(_START_OF_HANKEL, float(last))
    is_small, is_large = size < _END_OF_SERIES, size > reach
    small = _by_series(jnp.where(is_small, size, 0), last)
    # Under a transformation that has no branches, both are computed.
    large = lax.cond(
        jnp.any(is_large),
        lambda: _upwards(jnp.where(is_large & (size < np.inf), size, reach), last),
        lambda: jnp.zeros_like(small),
    )
    middle = _downwards(jnp.where(is_small | is_large, 1, size), last, reach)
    large = jnp.where(size == np.inf, 0, large)
    value = jnp.where(is_small, small, jnp.where(is_large, large, middle))
    is_odd = np.arange(last + 1).reshape(-1, *[1] * z.ndim) % 2 == 1
    return jnp.where((z < 0) & is_odd, -value, value)


# An eager loop is compiled; as a part of a program that is kept, it is compiled once.
_compiled = jit(_bessel_jn, static_argnums=1, inline=True)


@_bessel_jn.defjvp
def _(last: int, primals: Any, tangents: Any) -> Any:
    # 2 J_k′ = J_{k−1} − J_{k+1}, and J₀′ = −J₁.
    rows = _bessel_jn(primals[0], last + 1)
    slopes = 0.5 * (jnp.concatenate([-rows[1:2], rows[:-2]]) - rows[1:])
    return rows[:-1], slopes * tangents[0]


@in_float32
def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions of the first kind J₀(z), J₁(z), …, J_v(z).

    Args:
        z: array (...), floating.
        v: the last order, a Python integer ≥ 0.
        n_iter: of no account: the number of steps follows from `v`.

    Returns:
        Array (v + 1, ...).

    Raises:
        TypeError: `z` is a list or complex, or `v` is no integer.
        ValueError: `v` is negative.

    Reference:
        DLMF, 3.6 and 10.17.3.

    Example:
        >>> from morphax.scipy import special
        >>> special.bessel_jn(1.0, v=1)
        Array([0.7651977, 0.4400506], dtype=float32)
    """
    last = operator.index(v)
    if last < 0:
        raise ValueError(
            message(
                "scipy.special.bessel_jn, argument v",
                given=f"{last}",
                expected="an order ≥ 0",
                fix="Use J₋ₙ = (−1)ⁿ Jₙ.",
            )
        )
    (z,) = real_operands("bessel_jn", z, refusal=TypeError)
    return strong(_compiled(z, last))
