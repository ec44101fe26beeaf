"""Rounding to integers, and the test for finite numbers."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, final

import numpy as np

from ...engines import loops
from ...engines.reference.fusion import dtype_name
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..ground.families import Piecewise, Predicate
from ..ground.kinds import FLOATING


class RoundingMethod(IntEnum):
    """Which integer `round` takes where two are equally near.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.round(jnp.array([0.5, 2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
        Array([0., 2.], dtype=float32)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _away_from_zero(x: Any) -> Any:
    part, whole = np.modf(x)
    return whole + np.trunc(part + part)


@final
class Floor(Piecewise):
    """⌊x⌋, element by element."""

    name = "floor"
    accepts = FLOATING
    numpy = np.floor
    stablehlo = "stablehlo.floor"


@final
class Ceil(Piecewise):
    """⌈x⌉, element by element."""

    name = "ceil"
    accepts = FLOATING
    numpy = np.ceil
    stablehlo = "stablehlo.ceil"


@final
class Round(Piecewise):
    """The nearest integer, element by element; ties by `rounding_method`."""

    name = "round"
    accepts = FLOATING

    def evaluate(self, x: Any, *, rounding_method: RoundingMethod) -> Any:
        if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
            return np.rint(x)
        return _away_from_zero(x)

    def kernel(self, x: Any, *, rounding_method: RoundingMethod) -> Callable[..., Any]:
        is_even = rounding_method is RoundingMethod.TO_NEAREST_EVEN
        return np.rint if is_even else _away_from_zero

    def fused(self, x: Any, *, rounding_method: RoundingMethod) -> str:
        is_even = rounding_method is RoundingMethod.TO_NEAREST_EVEN
        return f"round_{'even' if is_even else 'away'}_{dtype_name(x.dtype)}"

    def lower(self, b: Builder, out: Any, x: Value, *, rounding_method: RoundingMethod) -> Value:
        even = rounding_method is RoundingMethod.TO_NEAREST_EVEN
        return b.elementwise(f"stablehlo.round_nearest_{'even' if even else 'afz'}", out, x)

    def scalar(
        self, w: loops.Writer, x: loops.Operand, *, rounding_method: RoundingMethod
    ) -> loops.Operand:
        if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
            return w.op("rint", x)
        whole = w.op("trunc", x)
        part = w.op("sub", x, whole)
        half = w.op("copysign", w.op("trunc", w.op("add", part, part)), x)
        is_infinite = w.op("eq", w.op("fabs", x), w.number(np.inf, x.dtype))
        return w.select(is_infinite, x, w.op("add", whole, half))


@final
class IsFinite(Predicate):
    """Whether x is neither infinite nor NaN, element by element."""

    name = "is_finite"
    accepts = FLOATING
    numpy = np.isfinite
    stablehlo = "stablehlo.is_finite"

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return w.op("lt", w.op("fabs", x), w.number(np.inf, x.dtype))


floor_p = Floor()
ceil_p = Ceil()
round_p = Round()
is_finite_p = IsFinite()


def floor(x: Any) -> Any:
    """⌊x⌋, element by element, in the dtype of `x`.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.floor(jnp.array([-1.5, 1.5]))
        Array([-2.,  1.], dtype=float32)
    """
    return floor_p.bind(x)


def ceil(x: Any) -> Any:
    """⌈x⌉, element by element, in the dtype of `x`.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.ceil(jnp.array([-1.5, 1.5]))
        Array([-1.,  2.], dtype=float32)
    """
    return ceil_p.bind(x)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The integer nearest to `x`, element by element, in the dtype of `x`.

    Args:
        x: array (...) of floating dtype.
        rounding_method: which integer to take where two are equally near.

    Returns:
        Array (...).

    Raises:
        ValueError: `rounding_method` is no `RoundingMethod`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.array([0.5, 1.5, 2.5])
        >>> jax.lax.round(x), jax.lax.round(x, jax.lax.RoundingMethod.TO_NEAREST_EVEN)
        (Array([1., 2., 3.], dtype=float32), Array([0., 2., 2.], dtype=float32))
    """
    try:
        method = RoundingMethod(rounding_method)
    except ValueError:
        raise ValueError(
            message(
                "lax.round, argument rounding_method",
                given=f"{rounding_method!r}",
                expected=" or ".join(f"RoundingMethod.{m.name}" for m in RoundingMethod),
                fix="Pass a member of lax.RoundingMethod.",
            )
        ) from None
    return round_p.bind(x, rounding_method=method)


def is_finite(x: Any) -> Any:
    """Whether `x` is neither infinite nor NaN, element by element.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.is_finite(jnp.array([1.0, jnp.nan]))
        Array([ True, False], dtype=bool)
    """
    return is_finite_p.bind(x)
