"""Limits: values between two bounds, of which the upper one wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from ...core import aval_of
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Elementwise, expanded
from ..ground.kinds import BOOLEAN, NUMBER
from ..ground.operands import standardize
from .bitwise import bitwise_and
from .comparison import eq, lt, ne
from .selection import extremum, max_p, min_p, refusal, scalar_like, select_n_p


@final
class Clamp(Elementwise):
    """min(max(low, x), high), element by element."""

    name = "clamp"
    accepts = NUMBER | BOOLEAN

    def evaluate(self, low: Any, x: Any, high: Any) -> Any:
        return min_p.evaluate(np.asarray(max_p.evaluate(low, x)), high)

    def kernel(self, low: Any, x: Any, high: Any) -> Callable[..., Any] | None:
        larger, smaller = max_p.kernel(low, x), min_p.kernel(x, high)
        if larger is None or smaller is None:
            return None
        return lambda low, x, high: smaller(np.asarray(larger(low, x)), high)

    def lower(self, b: Builder, out: Any, low: Value, x: Value, high: Value) -> Value:
        low, x, high = expanded(b, out.shape, (low, x, high))
        if out.dtype.kind not in "cb":
            return b.elementwise("stablehlo.clamp", out, low, x, high)
        raised = extremum(b, out, "stablehlo.maximum", low, x)
        return extremum(b, out, "stablehlo.minimum", raised, high)

    def scalar(
        self, w: loops.Writer, low: loops.Operand, x: loops.Operand, high: loops.Operand
    ) -> loops.Operand:
        return min_p.scalar(w, max_p.scalar(w, low, x), high)

    def scalar_of_complex(
        self, w: loops.Writer, low: loops.Operand, x: loops.Operand, high: loops.Operand
    ) -> loops.Operand:
        return min_p.scalar_of_complex(w, max_p.scalar_of_complex(w, low, x), high)

    def d_x(self, t: Any, low: Any, x: Any, high: Any, out: Any) -> Any:
        return _where(bitwise_and(_is_less(x, low), _is_less(low, high)), t)

    def d_y(self, t: Any, low: Any, x: Any, high: Any, out: Any) -> Any:
        return _where(bitwise_and(_is_less(low, x), _is_less(x, high)), t)

    def d_z(self, t: Any, low: Any, x: Any, high: Any, out: Any) -> Any:
        return _where(_is_less(high, x), t)


def _is_less(x: Any, y: Any) -> Any:
    """Whether x < y, of complex numbers in the order that maxima have."""
    if aval_of(x).dtype.kind != "c":
        return lt(x, y)
    larger = max_p.bind(*standardize(x, y))
    return bitwise_and(ne(larger, x), eq(larger, y))


def _where(chosen: Any, t: Any) -> Any:
    """The tangent `t` where `chosen`, elsewhere zero."""
    return select_n_p.bind(chosen, scalar_like(0, t), t)


clamp_p = Clamp()


def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` limited to the interval from `min` to `max`, element by element.

    Args:
        min: lower bound: scalar, or array of the shape of `x`.
        x: array (...).
        max: upper bound: scalar, or array of the shape of `x`; it wins where it is below `min`.

    Returns:
        Array (...) of the dtype that all three share; NaN where any of them is.

    Raises:
        TypeError: shapes or dtypes do not agree.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.clamp(0, jnp.array([-1, 1, 5]), 3)
        Array([0, 1, 3], dtype=int32)
    """
    min, x, max = operands = standardize(min, x, max)
    shape = aval_of(x).shape
    if any(aval_of(bound).shape not in ((), shape) for bound in (min, max)):
        expected = "bounds of the shape of x, or of rank 0"
        raise TypeError(refusal("lax.clamp", map(aval_of, operands), expected))
    return clamp_p.bind(*operands)
