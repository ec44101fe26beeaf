"""Rotations as unit quaternions (x, y, z, w), where w is the real part: what they are made from.

A quaternion and its negative are the same rotation.  Where a formula has a root that is 0 for the
identity, it is written as a power series in the square, so that derivatives are finite there.

References: K. Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985; S. W. Shepperd,
"Quaternion from rotation matrix", Journal of Guidance and Control 1 (1978); E. Bernardes and
S. Viollet, "Quaternion to Euler angles conversion: a direct, general and computationally efficient
method", PLOS ONE 17 (2022); F. L. Markley et al., "Averaging quaternions", Journal of Guidance,
Control and Dynamics 30 (2007).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ..special._operands import polynomial

# Squares of angles, or of their sines, below which power series are exact to the last digit.
_NEAR_ZERO = 1e-2
# sin(θ/2) / θ and cos(θ/2) in powers of θ², and 2 asin(s) / s in powers of s²; the highest first.
_SINE = [(-1) ** k / (2 ** (2 * k + 1) * math.factorial(2 * k + 1)) for k in range(6)][::-1]
_COSINE = [(-1) ** k / (4**k * math.factorial(2 * k)) for k in range(6)][::-1]
_ARCSINE = [2 * math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(9)][::-1]
# How near to 0 or π the second of Euler's angles locks the other two.
_LOCKED = 1e-7


def _components(x: Any) -> list[Any]:
    return [x[..., i] for i in range(x.aval.shape[-1])]


def _vector(*components: Any) -> Any:
    return jnp.stack(jnp.broadcast_arrays(*components), axis=-1)


@replayed(1)
def normalized(q: Any) -> Any:
    """Quaternions of length 1; NaN for zeros."""
    # Squares of what is very large or very small overflow or vanish; the scale does not matter.
    largest = lax.stop_gradient(jnp.max(jnp.abs(q), axis=-1, keepdims=True))
    q = q / largest
    return q / jnp.linalg.norm(q, axis=-1, keepdims=True)


@replayed(1)
def canonical(q: Any) -> Any:
    """Of q and −q that with w > 0, or w = 0 and x > 0, and so on."""
    x, y, z, w = _components(q)
    leading = jnp.where(w != 0, w, jnp.where(x != 0, x, jnp.where(y != 0, y, z)))
    return jnp.where((leading < 0)[..., None], -q, q)


@replayed(1)
def conjugate(q: Any) -> Any:
    """The inverse rotations."""
    return q * np.array([-1, -1, -1, 1], q.aval.dtype)


@replayed(2)
def product(p: Any, q: Any) -> Any:
    """Hamilton's product: the rotation by q, then by p."""
    (a, b, c, d), (x, y, z, w) = _components(p), _components(q)
    return _vector(
        d * x + a * w + b * z - c * y,
        d * y - a * z + b * w + c * x,
        d * z + a * y - b * x + c * w,
        d * w - a * x - b * y - c * z,
    )


@replayed(1)
def to_matrix(q: Any) -> Any:
    """The matrices `(..., 3, 3)` that rotate columns."""
    x, y, z, w = _components(q)
    rows = (
        (x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w),
    )
    return jnp.stack([_vector(*row) for row in rows], axis=-2)


@replayed(1)
def from_matrix(m: Any) -> Any:
    """The quaternions q of matrices, by that column of 4 q qᵀ whose element of q is largest.

    They are NaN for matrices with a determinant that is not positive: those mirror, or flatten.
    """
    (a, b, c), (d, e, f), (g, h, i) = [_components(m[..., row, :]) for row in range(3)]
    trace = a + e + i
    columns = (
        _vector(1 - trace + 2 * a, b + d, c + g, h - f),
        _vector(b + d, 1 - trace + 2 * e, f + h, c - g),
        _vector(c + g, f + h, 1 - trace + 2 * i, d - b),
        _vector(h - f, c - g, d - b, 1 + trace),
    )
    largest = jnp.argmax(_vector(a, e, i, trace), axis=-1)[..., None]
    chosen = columns[3]
    for place in range(3):
        chosen = jnp.where(largest == place, columns[place], chosen)
    determinant = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    # A factor, so that derivatives are NaN as well.
    return normalized(chosen * jnp.where(determinant > 0, 1, np.nan)[..., None])


@replayed(1)
def from_rotvec(v: Any) -> Any:
    """The rotations by |v| about v."""
    square = jnp.sum(v * v, axis=-1, keepdims=True)
    is_small = square < _NEAR_ZERO
    angle = jnp.sqrt(jnp.where(is_small, 1, square))
    few = jnp.where(is_small, square, 0)
    scale = jnp.where(is_small, polynomial(few, _SINE), jnp.sin(angle / 2) / angle)
    real = jnp.where(is_small, polynomial(few, _COSINE), jnp.cos(angle / 2))
    return jnp.concatenate([v * scale, real], axis=-1)


@replayed(1)
def to_rotvec(q: Any) -> Any:
    """The vectors along the axes, as long as the angles, which are at most π."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    v, w = q[..., :3], q[..., 3:]
    square = jnp.sum(v * v, axis=-1, keepdims=True)
    is_small = (square < _NEAR_ZERO) & (w > 0)
    sine = jnp.sqrt(jnp.where(is_small, 1, square))
    series = polynomial(jnp.where(is_small, square, 0), _ARCSINE)
    return v * jnp.where(is_small, series, 2 * jnp.arctan2(sine, w) / sine)


@replayed(1)
def magnitude(q: Any) -> Any:
    """The angles, from 0 to π."""
    return 2 * jnp.arctan2(jnp.linalg.norm(q[..., :3], axis=-1), jnp.abs(q[..., 3]))


@replayed(1)
def from_mrp(p: Any) -> Any:
    """The rotations by 4 atan |p| about p."""
    square = jnp.sum(p * p, axis=-1, keepdims=True)
    return jnp.concatenate([2 * p, 1 - square], axis=-1) / (1 + square)


@replayed(1)
def to_mrp(q: Any) -> Any:
    """The vectors along the axes, as long as the tangent of a fourth of the angle."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


@replayed(1)
def from_euler(angles: Any, axes: tuple[int, ...]) -> Any:
    """The rotations by each angle about its axis, one after the other, the axes being fixed."""
    found = None
    for position, axis in enumerate(axes):
        half = angles[..., position] / 2
        sine, cosine, zero = jnp.sin(half), jnp.cos(half), jnp.zeros_like(half)
        turn = _vector(*[sine if place == axis else zero for place in range(3)], cosine)
        found = turn if found is None else product(turn, found)
    return found


@replayed(1)
def to_euler(q: Any, axes: tuple[int, ...], *, intrinsic: bool) -> Any:
    """The angles about three axes, in their order; the axes are fixed, or, if `intrinsic`, moved.

    The second is in [0, π], or in [−π/2, π/2] if all axes differ.  Where it is at an end of that,
    the other two are one too many; the last is 0 then, and none has a derivative.
    """
    i, j, k = axes[::-1] if intrinsic else axes
    is_symmetric = i == k
    k = 3 - i - j if is_symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    w, x, y, z = q[..., 3], q[..., i], q[..., j], sign * q[..., k]
    # For axes that all differ, a quarter turn about the second makes the case the other one.
    a, b, c, d = (w, x, y, z) if is_symmetric else (w - y, x + z, y + w, z - x)
    second = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    first, third = half_sum - half_difference, half_sum + half_difference
    threshold = max(_LOCKED, 8 * float(np.finfo(q.aval.dtype).eps))
    at_start, at_end = second <= threshold, second >= math.pi - threshold
    first, third = (third, first) if intrinsic else (first, third)
    locked = jnp.where(at_start, 2 * half_sum, 2 * half_difference * (1 if intrinsic else -1))
    first = jnp.where(at_start | at_end, locked, first)
    third = jnp.where(at_start | at_end, 0, third)
    if not is_symmetric:
        second = second - math.pi / 2
        first, third = (first * sign, third) if intrinsic else (first, third * sign)
    first, third = [x - 2 * math.pi * jnp.round(x / (2 * math.pi)) for x in (first, third)]
    return _vector(first, second, third)


def mean(q: Any, weights: Any) -> Any:
    """The rotation q with the greatest Σ w (q · qᵢ)²: an eigenvector of Σ w qᵢ qᵢᵀ."""
    return _dominant(jnp.matrix_transpose(weights[:, None] * q) @ q)


@custom_jvp
def _dominant(m: Any) -> Any:
    """The eigenvector of a symmetric matrix for its largest eigenvalue."""
    return lax.linalg.eigh(m)[0][:, -1]


@_dominant.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # (M − λ) dv − dλ v = −dM v and v · dv = 0: a regular system if λ is simple.  The other
    # eigenvalues, which are equal where there are two rotations only, do not enter.
    (m,), (change,) = primals, tangents
    v = _dominant(m)
    moved = m @ v
    shifted = m - jnp.dot(v, moved) * np.eye(4, dtype=m.aval.dtype)
    matrix = jnp.block([[shifted, v[:, None]], [v[None, :], np.zeros((1, 1), m.aval.dtype)]])
    right = jnp.append(-change @ v, 0)
    return v, jnp.linalg.solve(matrix, right)[:4]
