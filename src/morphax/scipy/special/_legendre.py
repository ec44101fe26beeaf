"""Associated Legendre functions P_n^m, and the spherical harmonics made of them.

All include the phase (−1)ᵐ of Condon and Shortley.  For a fixed order m they follow from n = m
upwards by the recurrence in the degree n, which is stable in that direction.

References: DLMF, 14.6, 14.10 and 14.30.  Press et al., "Numerical recipes", 3rd edition, 6.7, for
the recurrence of the normalised functions.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ...numpy.operands import as_array, concrete_values, promoted_inexact
from ...util.messages import described, message

_LOWEST = math.sqrt(1 / (4 * math.pi))


def _line(name: str, z: Any) -> Any:
    """`z` as an array of one axis, of float32 or float64."""
    where = f"scipy.special.{name}"
    z = as_array(where, z)
    if z.dtype not in (np.float32, np.float64):
        raise TypeError(
            message(
                f"{where}, argument z",
                given=f"{z.aval}",
                expected="float32 or float64",
                fix="Convert it by astype.",
            )
        )
    if z.ndim != 1:
        raise ValueError(
            message(
                f"{where}, argument z",
                given=f"{z.aval}",
                expected="an array of one axis",
                fix="Flatten it by ravel, and reshape the result.",
            )
        )
    return z


def _count(name: str, letter: str, last: Any) -> int:
    """How many orders or degrees there are up to `last`."""
    if int(last) < 0:
        raise ValueError(
            message(
                f"scipy.special.{name}, argument {letter}",
                given=f"{last}",
                expected="an integer ≥ 0",
                fix="Give the largest order or degree.",
            )
        )
    return int(last) + 1


def _reduced(orders: int, degrees: int, z: Any) -> Any:
    """W = (−1)ᵐ s^max(m−2, 0) dᵐPₙ/dzᵐ with s = √(1 − z²).

    P_n^m is W for m = 0, s W for m = 1, and s² W for others.

    Returns:
        Array (orders, degrees, k), for z of shape (k,).
    """
    s = lax.sqrt(1 - z * z)
    order = np.arange(orders)[:, None]
    previous = before = jnp.zeros((orders, z.shape[0]), z.dtype)
    start = jnp.ones_like(z)
    columns = []
    for n in range(degrees):
        if n:
            start = start * ((1 - 2 * n) * (s if n > 2 else 1))
        distance = np.maximum(n - order, 1)
        rises = (order < n) / distance
        first = (rises * (2 * n - 1)).astype(z.dtype)
        second = (rises * (n + order - 1)).astype(z.dtype)
        following = first * z * previous - second * before
        previous, before = (
            jnp.where(order == n, start, jnp.where(order < n, following, 0)),
            previous,
        )
        columns.append(previous)
    return jnp.stack(columns, 1)


def lpmn(m: int, n: int, z: Any) -> tuple[Any, Any]:
    """P_j^i(z) and its derivatives with respect to z, for all orders i ≤ m and degrees j ≤ n.

    Args:
        m, n: Python integers ≥ 0.
        z: array (k,), float32 or float64, in [−1, 1].

    Returns:
        Two arrays (m + 1, n + 1, k); 0 for i > j, NaN for i > 0 outside of [−1, 1].

    Raises:
        TypeError: the dtype of `z`.
        ValueError: `z` has not one axis, or m or n is negative.

    Reference:
        DLMF, 14.6.1 and 14.10.3.

    Example:
        >>> from morphax import numpy as jnp
        >>> from morphax.scipy import special
        >>> special.lpmn(1, 1, jnp.zeros(1))[0][..., 0]
        Array([[ 1.,  0.],
               [ 0., -1.]], dtype=float32)
    """
    z = _line("lpmn", z)
    orders, degrees = _count("lpmn", "m", m), _count("lpmn", "n", n)
    reduced = _reduced(orders + 1, degrees, z)
    order = np.arange(orders)[:, None, None]
    s = lax.sqrt(1 - z * z)
    own, following = reduced[:-1], reduced[1:]
    values = own * jnp.where(order == 0, 1, jnp.where(order == 1, s, s * s))
    first = jnp.where(order == 1, z / s, order.astype(z.dtype) * z)
    slopes = -jnp.where(own == 0, 0, first * own) - following * jnp.where(order == 0, 1, s)
    return values, jnp.where(order == 0, -following, slopes) + 0.0


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Any:
    """P_j^i(z) for all orders i ≤ m and degrees j ≤ n; see `lpmn`.

    Args:
        m, n: Python integers ≥ 0.
        z: array (k,), float32 or float64, in [−1, 1].
        is_normalized: whether to multiply by √((2j + 1) (j − i)! / (4π (j + i)!)), so that the
            spherical harmonics P_j^i(cos θ) exp(iφ) have norm 1.

    Returns:
        Array (m + 1, n + 1, k).

    Raises:
        TypeError: the dtype of `z`.
        ValueError: `z` has not one axis, or m or n is negative.

    Example:
        >>> from morphax import numpy as jnp
        >>> from morphax.scipy import special
        >>> special.lpmn_values(1, 1, jnp.zeros(1), True)[..., 0]
        Array([[ 0.2820948 ,  0.        ],
               [ 0.        , -0.34549418]], dtype=float32)
    """
    if not isinstance(is_normalized, bool):
        raise TypeError(
            message(
                "scipy.special.lpmn_values, argument is_normalized",
                given=described(is_normalized),
                expected="True or False",
                fix="Say whether the functions are to be orthonormal.",
            )
        )
    if not is_normalized:
        return lpmn(m, n, z)[0]
    z = _line("lpmn_values", z)
    orders = np.arange(_count("lpmn_values", "m", m))[:, None, None]
    degrees = np.arange(_count("lpmn_values", "n", n))[None, :, None]
    return _normalized(degrees, orders, z, lax.sqrt(1 - z * z), int(n))


# An eager loop is compiled; as a part of a program that is kept, it is compiled once.
@functools.partial(jit, static_argnames="last", inline=True)
def _normalized(n: Any, m: Any, z: Any, s: Any, last: int) -> Any:
    """√((2n+1) (n−m)! / (4π (n+m)!)) P_n^m(z) for 0 ≤ m and n ≤ `last`, 0 for m > n."""
    dtype = z.dtype
    shape = np.broadcast_shapes(np.shape(n), np.shape(m), z.shape)
    order = jnp.asarray(m).astype(dtype)

    def step(k: Any, state: Any) -> Any:
        start, previous, before, result = state
        degree = k.astype(dtype)
        factor = -lax.sqrt((2 * degree + 1) / (2 * jnp.maximum(degree, 1)))
        start = jnp.where((k > 0) & (k <= m), start * (factor * s), start)
        above = k > m
        inner = jnp.where(above, degree, order + 1)
        grow = jnp.sqrt((4 * inner * inner - 1) / ((inner - order) * (inner + order)))
        less = inner - 1
        fall = (less - order) * (less + order) / (4 * less * less - 1)
        fall = jnp.sqrt(jnp.where(less > order, fall, 1))
        following = grow * (z * previous - fall * before)
        current = jnp.where(above, following, jnp.where(k == m, start, 0))
        return start, current, previous, jnp.where(k == n, current, result)

    zeros = jnp.zeros(shape, dtype)
    return lax.fori_loop(0, last + 1, step, (zeros + _LOWEST, zeros, zeros, zeros))[3]


def sph_harm_y(
    n: Any,
    m: Any,
    theta: Any,
    phi: Any,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Any:
    """The spherical harmonic Y_n^m(θ, φ) = √((2n+1) (n−m)! / (4π (n+m)!)) P_n^m(cos θ) exp(imφ).

    Args:
        n, m: integer arrays (...), degree and order.
        theta, phi: floating arrays (...), the polar and the azimuthal angle in radians; all
            broadcast against each other.
        diff_n: must be left out.
        n_max: the largest degree, needed where `n` is not known while tracing.

    Returns:
        Complex array (...): 0 for |m| > n, NaN for n > `n_max`.  sin θ counts as positive.

    Raises:
        ConcretizationTypeError: `n` is traced, and `n_max` is not given.
        NotImplementedError: `diff_n` is given.
        TypeError: degrees or orders are no integers.

    Reference:
        DLMF, 14.30.1.

    Example:
        >>> from morphax import numpy as jnp
        >>> from morphax.scipy import special
        >>> special.sph_harm_y(jnp.array([1]), jnp.array([0]), jnp.array([0.0]), jnp.array([0.0]))
        Array([0.48860252+0.j], dtype=complex64)
    """
    where = "scipy.special.sph_harm_y"
    if diff_n is not None:
        raise NotImplementedError(
            message(
                f"{where}, argument diff_n",
                given=f"{diff_n}",
                expected="None",
                fix="Differentiate the function by jax.jacfwd with respect to theta and phi.",
            )
        )
    n, m = [as_array(where, x) for x in (n, m)]
    theta, phi = [as_array(where, x) for x in promoted_inexact(where, theta, phi)]
    for name, x in (("n", n), ("m", m)):
        if not jnp.issubdtype(x.dtype, np.integer):
            raise TypeError(
                message(
                    f"{where}, argument {name}",
                    given=f"{x.aval}",
                    expected="integers",
                    fix="Convert it by astype.",
                )
            )
    if n_max is None:
        degrees = concrete_values(where, n, "Give n_max, as a Python integer.")
        n_max = int(degrees.max(initial=0))
    last = operator.index(n_max)
    size = lax.abs(m)
    value = _normalized(n, size, lax.cos(theta), lax.abs(lax.sin(theta)), last)
    value = jnp.where(n <= last, value, np.nan)
    # Y_n^(−m) is (−1)ᵐ times the conjugate of Y_n^m.
    value = jnp.where((m < 0) & (size % 2 == 1), -value, value)
    angle = m.astype(phi.dtype) * phi
    return lax.complex(value * lax.cos(angle), value * lax.sin(angle))
