"""The Faddeeva function, the error function of complex numbers but for a factor.

In the upper half-plane it is a continued fraction far out, Weideman's rational series nearer, and
beside the real axis a Taylor series about w(x) = exp(−x²) + 2i/√π D(x) with Dawson's integral D,
which keeps the digits of a small real part.

References: DLMF, 7.2.3, 7.4, 7.9.3 and 7.10.  Weideman, "Computation of the complex error
function", SIAM Journal on Numerical Analysis 31 (1994).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ._gaussian_integrals import dawsn_p
from ._operands import operands, strong

_INVERSE_SQRT_PI = 1 / math.sqrt(math.pi)
_END_OF_SERIES = 7.0
_NEAR_AXIS = 0.05
_TAYLOR_TERMS = 12
_FRACTION_STEPS = 14


def _weideman(count: int) -> tuple[float, list[float]]:
    """The scale L and the coefficients of his series, highest power first, by a Fourier sum."""
    scale = math.sqrt(count / math.sqrt(2))
    angle = np.arange(-2 * count + 1, 2 * count) * (math.pi / (2 * count))
    t = scale * np.tan(0.5 * angle)
    values = np.exp(-t * t) * (scale * scale + t * t)
    orders = np.arange(count, 0, -1)[:, None]
    return scale, (np.cos(orders * angle) @ values / (4 * count)).tolist()


_SCALE, _COEFFICIENTS = _weideman(40)


def _far(z: Any) -> Any:
    rest: Any = 0
    for k in range(_FRACTION_STEPS, 0, -1):
        rest = 0.5 * k / (z - rest)
    return 1j * _INVERSE_SQRT_PI / (z - rest)


def _near(z: Any) -> Any:
    denominator = _SCALE - 1j * z
    ratio = (_SCALE + 1j * z) / denominator
    total: Any = _COEFFICIENTS[0]
    for coefficient in _COEFFICIENTS[1:]:
        total = total * ratio + coefficient
    return (2 * total / denominator + _INVERSE_SQRT_PI) / denominator


def _beside_axis(x: Any, y: Any) -> Any:
    """Σ w⁽ᵏ⁾(x) (iy)ᵏ / k! with w⁽ᵏ⁺¹⁾ = −2x w⁽ᵏ⁾ − 2k w⁽ᵏ⁻¹⁾ and w′ = −2x w + 2i/√π."""
    value = lax.complex(lax.exp(-x * x), 2 * _INVERSE_SQRT_PI * dawsn_p.bind(x))
    previous, current = value, -2 * x * value + 2j * _INVERSE_SQRT_PI
    power = lax.complex(jnp.zeros_like(y), y)
    step = power
    for k in range(1, _TAYLOR_TERMS):
        value = value + current * power
        previous, current = current, -2 * x * current - 2 * k * previous
        power = power * step / (k + 1)
    return value


def _upper(z: Any) -> Any:
    """w(z) for Im z ≥ 0."""
    x, y = lax.real(z), lax.imag(z)
    is_far = lax.abs(z) > _END_OF_SERIES
    is_beside = ~is_far & (y < _NEAR_AXIS)
    far = _far(jnp.where(is_far, z, 9))
    # The fraction lacks what is exponentially small, which counts on the axis itself.
    far = far + jnp.where(is_far & (y < _NEAR_AXIS), lax.exp(-x * x), 0)
    beside = _beside_axis(jnp.where(is_beside, x, 0), jnp.where(is_beside, y, 0))
    near = _near(jnp.where(is_far | is_beside, 1j, z))
    return jnp.where(is_far, far, jnp.where(is_beside, beside, near))


@custom_jvp
def _wofz(z: Any) -> Any:
    is_below = lax.imag(z) < 0
    upper = _upper(jnp.where(is_below, -z, z))
    reflected = 2 * lax.exp(-jnp.where(is_below, z * z, 0)) - upper
    return jnp.where(is_below, reflected, upper)


_wofz.defjvps(lambda t, out, z: t * (2j * _INVERSE_SQRT_PI - 2 * z * out))


def wofz(z: Any) -> Any:
    """The Faddeeva function w(z) = exp(−z²) erfc(−iz).

    Args:
        z: array (...), floating or complex.

    Returns:
        Complex array (...); ∞ or NaN where exp(−z²) overflows, far below the real axis.

    Raises:
        TypeError: `z` is a list.

    Reference:
        DLMF, 7.2.3 and 7.10; Weideman (1994).

    Example:
        >>> from morphax.scipy import special
        >>> special.wofz(1j)
        Array(0.4275836+0.j, dtype=complex64)
    """
    (z,) = operands("wofz", z)
    if not jnp.issubdtype(z.dtype, np.complexfloating):
        z = lax.complex(z, jnp.zeros_like(z))
    return strong(_wofz(z))
