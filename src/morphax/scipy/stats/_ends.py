"""Slopes at the ends of ranges, where the chain rule is 0 · ∞ though there is a limit.

Three shapes of this cover the distributions, with z = (x − loc) / scale:

- where z is infinite, so is its slope by the scale, beside a slope by z of 0 (`quotient`);
- where z is 0, a slope by z may be infinite, beside one by the scale of 0; and functions that do
  not settle far out have a slope by the scale there, which is z f′(z) all the same (`of_quotient`);
- where a logarithm is −∞, its slope is infinite, beside a density of 0 (`exponential`).

Each tangent is multiplied by one number, so that forward and reverse derivatives are the same, and
one that is absent by none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...core import is_zero
from ...transforms.derivatives import jvp


@custom_jvp
def quotient(distance: Any, scale: Any) -> Any:
    """z, for functions that are constant far out: where it is infinite no scale moves it."""
    return distance / scale


def _is_infinite(z: Any) -> Any:
    return lax.abs(z) == np.inf


quotient.defjvps(
    lambda t, z, distance, scale: t / scale,
    lambda t, z, distance, scale: -t * jnp.where(_is_infinite(z), 0, z / scale),
)


def of_quotient(function: Callable[..., Any], at_end: Callable[..., Any]) -> Callable[..., Any]:
    """The function of distance, scale and parameters of shape that is function(z, *shape).

    Args:
        function: of z and the parameters.
        at_end: of the same, the limit of z f′(z) where z is 0 or infinite.
    """

    @custom_jvp
    def value(distance: Any, scale: Any, *shape: Any) -> Any:
        return function(distance / scale, *shape)

    def terms(primals: Sequence[Any], tangents: Sequence[Any]) -> Iterator[Any]:
        distance, scale, *shape = primals
        of_distance, of_scale, *of_shape = tangents
        z = distance / scale
        if not (is_zero(of_distance) and is_zero(of_scale)):
            is_far = _is_infinite(z)
            is_end = (z == 0) | is_far
            # Elsewhere 0, whose quotient has no infinite slope.
            end = jnp.where(is_end, at_end(z, *shape), 0)
            # What moves with the logarithm of z, at most, settles.
            settles = is_far & (lax.abs(end) < np.inf)
            slope = jnp.where(settles, 0, _slope(function, 0, z, *shape)) / scale
            if not is_zero(of_distance):
                yield of_distance * slope
            if not is_zero(of_scale):
                yield -of_scale * jnp.where(is_end, end / scale, z * slope)
        for i, t in enumerate(of_shape, start=1):
            if not is_zero(t):
                yield t * _slope(function, i, z, *shape)

    @partial(value.defjvp, symbolic_zeros=True)
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        out = value(*primals)
        return out, sum(terms(primals, tangents), lax.full_like(out, 0))

    return value


def exponential(
    logarithm: Callable[..., Any], operands: int, limits: Mapping[int, Callable[..., Any]] = {}
) -> Callable[..., Any]:
    """The exponential of a function, whose slopes are 0 where it is 0.

    Args:
        logarithm: the function.
        operands: number of its arguments.
        limits: by the place of an argument, functions of all of them: other slopes by it there.
    """

    @custom_jvp
    def value(*arguments: Any) -> Any:
        return lax.exp(logarithm(*arguments))

    def rule(i: int, t: Any, out: Any, *arguments: Any) -> Any:
        limit = limits[i](*arguments) if i in limits else 0
        return t * jnp.where(out == 0, limit, out * _slope(logarithm, i, *arguments))

    value.defjvps(*[partial(rule, i) for i in range(operands)])
    return value


def _slope(function: Callable[..., Any], i: int, *arguments: Any) -> Any:
    """The derivative by one argument, element by element."""
    along = lambda x: function(*arguments[:i], x, *arguments[i + 1 :])  # noqa: E731
    return jvp(along, (arguments[i],), (lax.full_like(arguments[i], 1),))[1]
