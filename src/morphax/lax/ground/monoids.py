"""Monoids: the associative operations that arrays are reduced, windowed and accumulated with.

A monoid is an operation a ∘ b that is associative and has an identity e: e ∘ a = a.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from ... import dtypes
from ...engines import loops
from ...util.records import dataclass
from .complex_order import COMPLEX_EXTREMES
from .narrow import widened


def lowest(dtype: Any) -> Any:
    """The least value of a dtype: −∞ or the least number, −∞ + 0i, the least integer, `False`."""
    if dtypes.issubdtype(dtype, np.inexact):
        infinity = np.array(-np.inf, dtype)
        has_infinity = infinity == infinity
        return infinity if has_infinity else np.array(dtypes.finfo(dtype).min, dtype)
    return np.array(dtype != np.bool_ and dtypes.iinfo(dtype).min, dtype)


def highest(dtype: Any) -> Any:
    """The greatest value of a dtype: ∞ or the greatest number, ∞ + 0i, that integer, `True`."""
    if dtypes.issubdtype(dtype, np.inexact):
        infinity = np.array(np.inf, dtype)
        has_infinity = infinity == infinity
        return infinity if has_infinity else np.array(dtypes.finfo(dtype).max, dtype)
    return np.array(dtype == np.bool_ or dtypes.iinfo(dtype).max, dtype)


def _zero(dtype: Any) -> Any:
    return np.zeros((), dtype)


def _one(dtype: Any) -> Any:
    return np.ones((), dtype)


def _all_bits(dtype: Any) -> Any:
    return np.array(True if dtype == np.bool_ else -1).astype(dtype)


@final
@dataclass(frozen=True, slots=True)
class Monoid:
    """An associative operation with an identity.

    Args:
        name: of the binary primitive.
        ufunc: the operation in NumPy.
        stablehlo: the operation in StableHLO.
        identity: dtype → the identity, an array of rank 0.
        winning_zero: which of 0 and −0 wins, where NumPy does not care.
    """

    name: str
    ufunc: np.ufunc
    stablehlo: str
    identity: Callable[[Any], Any]
    winning_zero: float | None = None

    def for_loops(self, w: loops.Writer, dtype: Any) -> tuple[str, loops.Operand]:
        """The operation of loop programs, and its identity."""
        logical = {"max": "or", "min": "and", "mul": "and"} if dtype == loops.BOOL else {}
        return logical.get(self.name, self.name), w.number(self.identity(dtype)[()], dtype)

    def combine(self, x: Any, method: Callable[[np.ufunc, Any], Any]) -> Any:
        """``method(ufunc, x)``, a way of combining elements, as XLA computes it.

        Narrow dtypes are computed wide and rounded once; extremes of complex numbers lose NaN.
        """
        wide = widened(x)
        ufunc: Any = self.ufunc
        if wide.dtype.kind == "c" and np.isnan(wide).any():
            ufunc = COMPLEX_EXTREMES.get(ufunc, ufunc)
        out = np.asarray(method(ufunc, wide))
        if self.winning_zero is not None and wide.dtype.kind == "f":
            out = self._with_signed_zeros(wide, out, method)
        return out.astype(x.dtype, copy=False)

    def _with_signed_zeros(self, x: Any, out: Any, method: Callable[[np.ufunc, Any], Any]) -> Any:
        if np.count_nonzero(out) == out.size:
            return out
        zero = out.dtype.type(self.winning_zero)
        wins = method(np.logical_or, (x == 0) & (np.signbit(x) == np.signbit(zero)))
        return np.where(out == 0, np.where(wins, zero, -zero), out)


ADD = Monoid("add", np.add, "stablehlo.add", _zero)
MUL = Monoid("mul", np.multiply, "stablehlo.multiply", _one)
MAX = Monoid("max", np.maximum, "stablehlo.maximum", lowest, winning_zero=0.0)
MIN = Monoid("min", np.minimum, "stablehlo.minimum", highest, winning_zero=-0.0)
AND = Monoid("and", np.bitwise_and, "stablehlo.and", _all_bits)
OR = Monoid("or", np.bitwise_or, "stablehlo.or", _zero)
XOR = Monoid("xor", np.bitwise_xor, "stablehlo.xor", _zero)
