"""Eigenvalues of Hermitian tridiagonal matrices without their vectors, by bisection.

Of the numbers q₁ = d₁ − x and qᵢ = dᵢ − x − |eᵢ₋₁|² / qᵢ₋₁, as many are negative as there are
eigenvalues below x.  A q of 0 counts as negative, so that an eigenvalue is the least x of its
count.  All of them are looked for at once, among the floating-point numbers in their order: a step
for each bit leaves one number, however small it is beside the others.

References: W. Barth, R. S. Martin and J. H. Wilkinson, "Calculation of the eigenvalues of a
symmetric tridiagonal matrix by the method of bisection", Numerische Mathematik 9 (1967); J. Demmel,
I. Dhillon and H. Ren, "On the correctness of some bisection-like parallel eigenvalue algorithms in
floating point arithmetic", Electronic Transactions on Numerical Analysis 3 (1995), for why the
computed count increases with x.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...control.jit.jit import jit
from ...numpy.order_keys import from_order_keys, order_keys
from ...transforms.derivatives import jvp

# No eigenvalue is as large as this once elements are below 2.
_BEYOND = 8.0


def with_vectors(d: Any, e: Any, places: tuple[int, int]) -> tuple[Any, Any]:
    """The eigenvalues of these places, in increasing order, and their eigenvectors."""
    size = d.aval.shape[-1]
    matrix = d[..., None] * np.eye(size, dtype=d.aval.dtype)
    if size > 1:
        below = jnp.conj(e)[..., None] * np.eye(size - 1, size, dtype=e.aval.dtype)
        matrix = matrix.at[..., 1:, :].add(below)
    v, w = lax.linalg.eigh(matrix, lower=True, symmetrize_input=False, subset_by_index=places)
    return w, v


# Loops, which eager calls would compile each time.
@partial(jit, static_argnames="places", inline=True)
def eigenvalues(d: Any, e: Any, places: tuple[int, int]) -> Any:
    """The eigenvalues of these places, in increasing order; NaN if elements are not finite.

    Args:
        d: diagonals `(..., n)`, n ≥ 1, of float32, float64 or a complex dtype of these.
        e: what stands above them, `(..., n - 1)`.
        places: the first one, and the one after the last.
    """
    return _eigenvalues(d, e, places)


@partial(custom_jvp, nondiff_argnums=(2,))
def _eigenvalues(d: Any, e: Any, places: tuple[int, int]) -> Any:
    d, size_of_e = jnp.real(d), jnp.abs(e)
    largest = jnp.max(jnp.concatenate([jnp.abs(d), size_of_e], -1), -1, keepdims=True)
    scale = _power_of_two(largest)
    d, e = d / scale, size_of_e / scale
    squares = jnp.concatenate([jnp.zeros_like(d[..., :1]), e * e], -1)
    wanted = np.arange(*places, dtype=np.int32)
    shape = (*d.aval.shape[:-1], wanted.size)
    keys = order_keys(jnp.asarray([-_BEYOND, _BEYOND], d.aval.dtype))
    bounds = [jnp.broadcast_to(keys[i], shape) for i in (0, 1)]

    def halve(_: Any, bounds: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bounds
        # Their mean, whose double has a bit too much.
        middle = (low & high) + ((low ^ high) >> 1)
        is_high = _count(d, squares, from_order_keys(middle, d.aval.dtype)) > wanted
        return jnp.where(is_high, low, middle), jnp.where(is_high, middle, high)

    bits = 8 * d.aval.dtype.itemsize
    _, found = lax.fori_loop(0, bits, halve, tuple(bounds))
    values = from_order_keys(found, d.aval.dtype)
    # Smaller ones are not told apart.
    values = jnp.where(jnp.abs(values) <= _least(d.aval.dtype), 0, values) * scale
    return jnp.where(jnp.isfinite(largest), values, np.nan)


@_eigenvalues.defjvp
def _(places: tuple[int, int], primals: Any, tangents: Any) -> Any:
    return jvp(lambda d, e: with_vectors(d, e, places)[0], primals, tangents)


def _count(d: Any, squares: Any, x: Any) -> Any:
    """How many eigenvalues are at most x, for each of several x `(..., k)`."""
    least = _least(x.aval.dtype)

    def step(state: tuple[Any, Any], row: tuple[Any, Any]) -> tuple[tuple[Any, Any], None]:
        q, count = state
        own, square = row
        q = own - x - square / q
        q = jnp.where(jnp.abs(q) < least, -least, q)
        return (q, count + (q < 0)), None

    rows = [jnp.moveaxis(y, -1, 0)[..., None] for y in (d, squares)]
    start = jnp.ones_like(x), jnp.zeros(x.aval.shape, np.int32)
    return lax.scan(step, start, tuple(rows))[0][1]


def _least(dtype: Any) -> float:
    """What is divided by is at least this, so that no quotient overflows."""
    return 4 * float(dtypes.finfo(dtype).tiny)


def _power_of_two(x: Any) -> Any:
    """The largest power of 2 that is at most x ≥ 0, if there is one; else 1."""
    kind = dtypes.finfo(x.aval.dtype)
    integer = np.dtype(f"int{8 * x.aval.dtype.itemsize}")
    mask = integer.type(((1 << kind.nexp) - 1) << kind.nmant)
    power = lax.bitcast_convert_type(lax.bitcast_convert_type(x, integer) & mask, x.aval.dtype)
    return jnp.where((power > 0) & jnp.isfinite(power), power, 1)
