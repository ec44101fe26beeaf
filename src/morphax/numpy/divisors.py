"""Greatest common divisors and least common multiples.

Reference: Knuth, "The Art of Computer Programming", volume 2, 4.5.2 (Euclid's algorithm).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.shape.common_shapes import broadcast_shapes
from ..util.messages import described, message
from .operands import promoted
from .shaping import broadcast_to


def _of_numpy(function: Callable[..., Any], out: Any, *_: Any) -> Callable[..., Any]:
    dtype = out.dtype
    return lambda x, y: function(x.astype(dtype, copy=False), y.astype(dtype, copy=False))


@replayed(2, by_numpy=partial(_of_numpy, np.gcd))
def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of integers, element by element.

    That of 0 and 0 is 0.  That of −2ⁿ⁻¹ and 0, in n bits, is beyond the dtype: it comes out as
    −2ⁿ⁻¹.

    Args:
        x1, x2: arrays of integers, that broadcast with each other.

    Raises:
        ValueError: they are not integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.gcd(jnp.array([12, -12, 0]), 18)
        Array([ 6,  6, 18], dtype=int32)
    """
    return _gcd(*_integers("gcd", x1, x2))


@replayed(2, by_numpy=partial(_of_numpy, np.lcm))
def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of integers, element by element; 0 where one is 0.

    Args:
        x1, x2: arrays of integers, that broadcast with each other.

    Raises:
        ValueError: they are not integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.lcm(jnp.array([4, -4, 0]), 6)
        Array([12, 12,  0], dtype=int32)
    """
    x, y = _integers("lcm", x1, x2)
    divisor = _gcd(x, y)
    one = lax.full_like(divisor, 1)
    divisor = lax.select(lax.eq(divisor, 0), one, divisor)
    return lax.mul(lax.div(_magnitude(x), divisor), _magnitude(y))


def _integers(name: str, x1: Any, x2: Any) -> list[Any]:
    """Operands of one integer dtype and one shape."""
    x, y = promoted(name, x1, x2)
    if not dtypes.issubdtype(aval_of(x).dtype, np.integer):
        raise ValueError(
            message(
                f"jnp.{name}",
                given=f"{described(x1)} and {described(x2)}",
                expected="integers",
                fix="Convert the operands, for instance with x.astype('int32').",
            )
        )
    shape = broadcast_shapes(aval_of(x).shape, aval_of(y).shape)
    return [broadcast_to(v, shape) for v in (x, y)]


def _magnitude(x: Any) -> Any:
    return lax.abs(x) if dtypes.issubdtype(aval_of(x).dtype, np.signedinteger) else x


def _gcd(x: Any, y: Any) -> Any:
    """Euclid's algorithm: (x, y) → (y, x mod y) until y = 0."""

    def is_open(pair: tuple[Any, Any]) -> Any:
        rest = pair[1]
        return lax.reduce_or(lax.ne(rest, 0), range(aval_of(rest).ndim))

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        x, y = pair
        done = lax.eq(y, 0)
        divisor = lax.select(done, lax.full_like(y, 1), y)
        return lax.select(done, x, y), lax.select(done, y, lax.rem(x, divisor))

    return _magnitude(lax.while_loop(is_open, step, (x, y))[0])
