"""Polynomials, given by their coefficients, the one of the highest power first.

Coefficients stand along the first axis, which has at least one of them, but for the derivative of a
constant, which has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import counted, integer
from ..util.messages import message
from .arithmetic import add, subtract
from .at import AtIndex
from .convolution import convolve
from .indexing import getitem
from .insertion import trim_zeros
from .linalg.spectra import eigvals
from .of_numpy import poly_of_numpy, polydiv_of_numpy, polyval_of_numpy
from .operands import as_array, concrete_values, inexact_type, of_one_dtype
from .shaping import broadcast_to

# Zeros whose factors are multiplied one by one; of more it is a loop.
_FEW = 16


def _vectors(name: str, *polynomials: Any) -> list[Any]:
    """Polynomials of one dtype as vectors; a scalar is a constant."""
    vectors = []
    for p in of_one_dtype(name, *polynomials):
        if p.aval.ndim > 1:
            raise _not_a_vector(f"jnp.{name}", p)
        vectors.append(_leading_axis(p))
    return vectors


def _not_a_vector(where: str, p: Any) -> ShapeError:
    return ShapeError(
        message(
            where,
            given=f"{p.aval}",
            expected="a vector of coefficients, the one of the highest power first",
            fix="Map over polynomials with jax.vmap.",
        )
    )


def _inexact(name: str, *polynomials: Any) -> list[Any]:
    """Polynomials as arrays of a common floating or complex dtype, strongly typed."""
    arrays = [as_array(name, p) for p in polynomials]
    dtype, _ = inexact_type(name, *arrays)
    return [convert(p, dtype) for p in arrays]


def _leading_axis(p: Any) -> Any:
    """Coefficients along a first axis."""
    return p if p.aval.ndim else lax.expand_dims(p, (0,))


@replayed(2)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    Args:
        a1, a2: coefficients (m, ...) and (n, ...), or constants.

    Returns:
        Array (max(m, n), ...).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polyadd(jnp.array([1, 2, 3]), jnp.array([4, 5]))
        Array([1, 6, 8], dtype=int32)
    """
    return _combined("polyadd", add, a1, a2)


@replayed(2)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials; arguments as those of `polyadd`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polysub(jnp.array([2, 0, 1]), jnp.array([1, 1]))
        Array([ 2, -1,  0], dtype=int32)
    """
    return _combined("polysub", subtract, a1, a2)


def _combined(name: str, function: Callable[[Any, Any], Any], *polynomials: Any) -> Any:
    operands = [_leading_axis(p) for p in of_one_dtype(name, *polynomials)]
    if len({p.aval.shape[1:] for p in operands}) > 1:
        raise _not_a_vector(f"jnp.{name}", operands[0])
    length = max(p.aval.shape[0] for p in operands)
    return function(*[_with_length(p, length) for p in operands])


def _with_length(p: Any, length: int) -> Any:
    """Coefficients with zeros for higher powers."""
    count, *rest = p.aval.shape
    if count == length:
        return p
    widths = [(length - count, 0, 0)] + [(0, 0, 0)] * len(rest)
    return lax.pad(p, np.zeros((), p.aval.dtype)[()], widths)


@replayed(2)
def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials, in floating point.

    Args:
        a1, a2: coefficients (m,) and (n,), or constants.
        trim_leading_zeros: drop highest coefficients of the factors that are 0; then their values
            must be known.

    Returns:
        Array (m + n − 1,).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polymul(jnp.array([1, 2]), jnp.array([3, 4]))
        Array([ 3., 10.,  8.], dtype=float32)
    """
    factors = _vectors("polymul", *_inexact("polymul", a1, a2))
    if trim_leading_zeros:
        factors = [trim_zeros(p, "f") for p in factors]
    # No coefficients are the polynomial 0.
    first, second = [p if p.aval.size else _with_length(p, 1) for p in factors]
    return convolve(first, second, mode="full", precision=lax.Precision.HIGHEST)


@replayed(2, by_numpy=polydiv_of_numpy)
def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Quotient q and remainder r of polynomials: u = q v + r.

    Args:
        u: coefficients (m,) of the dividend.
        v: coefficients (n,) of the divisor, the first of which is not 0.
        trim_leading_zeros: drop highest coefficients of the remainder that are nearly 0, but for
            the last; then its values must be known.

    Returns:
        q (max(m − n + 1, 1),) and r (m,), which has zeros for the powers that are divided.

    Raises:
        ValueError: the divisor has no coefficients.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polydiv(jnp.array([5, 7, 9]), jnp.array([4, 1]))
        (Array([1.25  , 1.4375], dtype=float32), Array([0.    , 0.    , 7.5625], dtype=float32))
    """
    dividend, divisor = _vectors("polydiv", *_inexact("polydiv", u, v))
    m, n = dividend.aval.size, divisor.aval.size
    if not n:
        raise _not_a_vector("jnp.polydiv, argument v", divisor)
    count = m - n + 1
    if count < 1:
        return _with_length(getitem(dividend, slice(0, 0)), 1), dividend

    def step(rest: Any, _: None) -> tuple[Any, Any]:
        """Divide the highest power, and go to the next."""
        window = lax.slice_in_dim(rest, 0, n)
        factor = lax.div(getitem(window, 0), getitem(divisor, 0))
        left = lax.sub(window, lax.mul(broadcast_to(factor, (n,)), divisor))
        moved = lax.concatenate([lax.slice_in_dim(left, 1, n), lax.slice_in_dim(rest, n, m)], 0)
        return lax.pad(moved, np.zeros((), moved.aval.dtype)[()], [(0, 1, 0)]), factor

    rest, quotient = lax.scan(step, dividend, None, length=count)
    remainder = lax.slice_in_dim(rest, 0, m - count)
    if trim_leading_zeros:
        return quotient, _trimmed(remainder)
    return quotient, _with_length(remainder, m)


def _trimmed(p: Any) -> Any:
    """Without highest coefficients that are nearly 0, but for the last."""
    fix = "Leave out trim_leading_zeros."
    known = concrete_values("jnp.polydiv, argument trim_leading_zeros", p, fix)
    large = np.flatnonzero(np.abs(known) > np.sqrt(dtypes.finfo(p.aval.dtype).eps))
    first = large[0] if len(large) else len(known) - 1
    return _with_length(p, 1) if not len(known) else lax.slice_in_dim(p, int(first), None)


@replayed(1)
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial, in floating point.

    Args:
        p: coefficients (n, ...).
        m: how many times to differentiate.

    Returns:
        Array (max(n − m, 0), ...).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polyder(jnp.array([1, 2, 3]))
        Array([2., 2.], dtype=float32)
    """
    times = counted("jnp.polyder, argument m", m)
    (p,) = _inexact("polyder", p)
    p = _leading_axis(p)
    left = max(p.aval.shape[0] - times, 0)
    # k (k − 1) … (k − m + 1) for the power k, in the floats of the result
    powers = np.arange(left + times - 1, times - 1, -1, dtype=np.float64)
    factors = np.ones(left)
    for i in range(times if left else 0):
        factors *= powers - i
    return lax.mul(lax.slice_in_dim(p, 0, left), _along(factors, p, left))


def _along(numbers: np.ndarray[Any, Any], p: Any, count: int) -> Any:
    """Numbers, one for each coefficient, in the shape of the coefficients."""
    return broadcast_to(
        np.reshape(numbers, (count, *[1] * (p.aval.ndim - 1))).astype(p.aval.dtype),
        (count, *p.aval.shape[1:]),
    )


@replayed(1)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, in floating point.

    Args:
        p: coefficients (n, ...).
        m: how many times to integrate.
        k: constants of integration, (m,) in the order in which they are added, or one for all;
            by default 0.

    Returns:
        Array (n + m, ...).

    Raises:
        ValueError: `k` has another shape, or `m` is negative.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polyint(jnp.array([2, 2]), k=5)
        Array([1., 2., 5.], dtype=float32)
    """
    times = counted("jnp.polyint, argument m", m)
    p, constants = _inexact("polyint", p, 0 if k is None else k)
    p = _leading_axis(p)
    if constants.aval.ndim > 1 or (constants.aval.ndim and constants.aval.size not in (1, times)):
        raise ValueError(
            message(
                "jnp.polyint, argument k",
                given=f"{constants.aval} for m={times}",
                expected="a number, or a vector of m numbers",
                fix="Give one constant for each integration.",
            )
        )
    constants = broadcast_to(constants, (times,))
    for i in range(times):
        count = p.aval.shape[0]
        integral = lax.div(p, _along(np.arange(count, 0, -1), p, count))
        constant = broadcast_to(getitem(constants, i), (1, *p.aval.shape[1:]))
        p = lax.concatenate([integral, constant], 0)
    return p


@replayed(1, by_numpy=poly_of_numpy)
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of Π (x − zₖ), in floating point.

    Args:
        seq_of_zeros: the zeros zₖ (n,), or one of them; or a matrix (n, n) whose eigenvalues they
            are, which makes the coefficients complex.

    Returns:
        Array (n + 1,), of which the first is 1; the scalar 1 for no zeros.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.poly(jnp.array([1, 2]))
        Array([ 1., -3.,  2.], dtype=float32)
    """
    zeros = as_array("poly", seq_of_zeros)
    if zeros.aval.ndim == 2:
        zeros = eigvals(zeros)
    (zeros,) = _vectors("poly", *_inexact("poly", zeros))
    if not zeros.aval.size:
        return lax.full((), 1, zeros.aval.dtype)
    start = AtIndex(lax.full_like(zeros, 0, shape=(zeros.aval.size + 1,)), 0).set(1)

    def step(p: Any, zero: Any) -> tuple[Any, None]:
        """Multiply by x − zero: the coefficients, less those of a power higher times the zero."""
        higher = lax.pad(lax.slice_in_dim(p, 0, -1), np.zeros((), p.aval.dtype)[()], [(1, 0, 0)])
        return lax.sub(p, lax.mul(higher, broadcast_to(zero, p.aval.shape))), None

    if zeros.aval.size > _FEW:
        return lax.scan(step, start, zeros)[0]
    for i in range(zeros.aval.size):
        start = step(start, getitem(zeros, i))[0]
    return start


@replayed(2, of_many=polyval_of_numpy)
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """p₀ xⁿ⁻¹ + … + pₙ₋₁, by Horner's rule.

    Args:
        p: coefficients (n, ...).
        x: places, that broadcast with the coefficients of one power.
        unroll: how many powers to take in one step of a loop.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polyval(jnp.array([1, 0, 2]), 3)
        Array(11, dtype=int32)
    """
    p, x = of_one_dtype("polyval", as_array("polyval", p), as_array("polyval", x))
    if not p.aval.ndim:
        raise ShapeError(
            message(
                "jnp.polyval, argument p",
                given=f"{p.aval}",
                expected="coefficients along the first axis, the highest power first",
                fix="Pass a vector: jnp.polyval(jnp.array([c]), x) for a constant.",
            )
        )
    count, *rest = p.aval.shape
    shape = lax.broadcast_shapes(tuple(rest), x.aval.shape)
    x = broadcast_to(x, shape)
    is_bool = aval_of(x).dtype == np.bool_
    plus, times = (lax.bitwise_or, lax.bitwise_and) if is_bool else (lax.add, lax.mul)

    def step(total: Any, coefficient: Any) -> tuple[Any, None]:
        return plus(times(total, x), broadcast_to(coefficient, shape)), None

    total = lax.full(shape, 0, aval_of(x).dtype)
    if count > integer("jnp.polyval, argument unroll", unroll):
        return lax.scan(step, total, p, unroll=unroll)[0]
    for i in range(count):
        total, _ = step(total, getitem(p, i))
    return total
