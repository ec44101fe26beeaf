"""Integrals of samples, by the trapezoidal rule."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..control.custom.custom_jvp import custom_jvp
from ..core import aval_of
from ..core.dims import SymbolicDim
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from .arithmetic import multiply
from .differences import cut, diff
from .operands import as_array, inexact_type
from .predicates import isfinite
from .reductions import sum as sum_
from .selection import where
from .shaping import moveaxis


@replayed(2)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule.

    Args:
        y: samples.
        x: their coordinates, a vector or an array like `y`.
        dx: their distance, if there is no `x`.
        axis: axis to integrate along.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.trapezoid(jnp.array([0.0, 1.0, 4.0]), dx=0.5)
        Array(1.5, dtype=float32)
    """
    given = [as_array("trapezoid", v) for v in ((y,) if x is None else (y, x))]
    dtype, weak = inexact_type("trapezoid", *given)
    y, *coordinates = (convert(v, dtype, weak) for v in given)
    for x in coordinates:
        dx = moveaxis(
            diff(x, axis=axis if x.aval.ndim > 1 else -1), axis if x.aval.ndim > 1 else -1, -1
        )
    y = moveaxis(y, axis, -1)
    last = y.aval.ndim - 1
    size = y.aval.shape[last]
    if aval_of(dx).ndim == 0 and type(size) is not SymbolicDim and size > 1:
        return multiply(dx, _sum_with_half_the_ends(y))
    pairs = lax.add(cut(y, last, 1, None), cut(y, last, 0, -1))
    return multiply(0.5, sum_(multiply(dx, pairs), -1))


@custom_jvp
def _sum_with_half_the_ends(y: Any) -> Any:
    """The sum of pairs of neighbours, halved, along the last axis: each number is read once."""
    ends = _half_the_ends(y)
    # Infinite ends are in the sum, from which half of them cannot be taken away.
    return lax.sub(sum_(y, -1), where(isfinite(ends), ends, lax.full_like(ends, 0)))


_sum_with_half_the_ends.defjvps(lambda t, out, y: lax.sub(sum_(t, -1), _half_the_ends(t)))


def _half_the_ends(y: Any) -> Any:
    last = y.aval.ndim - 1
    half = lax.full_like(y, 0.5, shape=())
    first, final = (lax.index_in_dim(y, i, last, keepdims=False) for i in (0, -1))
    return lax.add(multiply(first, half), multiply(final, half))
