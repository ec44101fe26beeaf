"""The formulas of `formulas` in loop programs: each element by itself, with loops of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any, final

import numpy as np

from ... import dtypes
from ...engines import loops
from .float_parts import parts_in_loops
from .inverse_error import inverse_erf_of_each
from .log_gamma import digamma

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


@final
class Computed:
    """A number, or a truth value, in a loop program."""

    __slots__ = ("notation", "value")
    __hash__ = None  # type: ignore[assignment]  # Its equality is that of its value.

    def __init__(self, notation: LoopNotation, value: loops.Operand) -> None:
        self.notation = notation
        self.value = value

    def _op(self, name: str, *others: Any) -> Computed:
        return self.notation.op(name, self, *others)

    def _reflected(self, name: str, other: Any) -> Computed:
        return self.notation.op(name, other, self)

    __add__ = partialmethod(_op, "add")
    __radd__ = partialmethod(_reflected, "add")
    __sub__ = partialmethod(_op, "sub")
    __rsub__ = partialmethod(_reflected, "sub")
    __mul__ = partialmethod(_op, "mul")
    __rmul__ = partialmethod(_reflected, "mul")
    __truediv__ = partialmethod(_op, "div")
    __rtruediv__ = partialmethod(_reflected, "div")
    __neg__ = partialmethod(_op, "neg")
    __abs__ = partialmethod(_op, "fabs")
    __and__ = partialmethod(_op, "and")
    __or__ = partialmethod(_op, "or")
    __invert__ = partialmethod(_op, "not")
    __lt__ = partialmethod(_op, "lt")
    __le__ = partialmethod(_op, "le")
    __gt__ = partialmethod(_op, "gt")
    __ge__ = partialmethod(_op, "ge")
    __eq__ = partialmethod(_op, "eq")
    __ne__ = partialmethod(_op, "ne")


@final
class LoopNotation:
    """Formulas as operations on scalars, in float64 unless it is said."""

    def __init__(
        self, writer: loops.Writer, precision: float, dtype: np.dtype[Any] = FLOAT64
    ) -> None:
        self.writer = writer
        self.precision = precision
        self.dtype = dtype

    def op(self, name: str, *operands: Any) -> Computed:
        """An operation of loop programs; Python's numbers are constants."""
        return Computed(self, self.writer.op(name, *map(self._scalar, operands)))

    def _scalar(self, x: Any) -> loops.Operand:
        return x.value if isinstance(x, Computed) else self.writer.number(x, self.dtype)

    def _function(self, name: str, x: Any) -> Computed:
        return self.op(name, x)

    exp = partialmethod(_function, "exp")
    expm1 = partialmethod(_function, "expm1")
    log = partialmethod(_function, "log")
    log1p = partialmethod(_function, "log1p")
    sqrt = partialmethod(_function, "sqrt")
    sin = partialmethod(_function, "sin")
    cos = partialmethod(_function, "cos")
    floor = partialmethod(_function, "floor")
    erfc = partialmethod(_function, "erfc")
    lgamma = partialmethod(_function, "lgamma")

    def parts(self, x: Computed) -> tuple[Computed, Computed]:
        mantissa, exponent = parts_in_loops(self.writer, x.value)
        return Computed(self, mantissa), Computed(self, exponent)

    def in_single(self, formula: Callable[..., Computed], *operands: Computed) -> Computed:
        w = self.writer
        page = LoopNotation(w, self.precision, FLOAT32)
        found = formula(page, *[Computed(page, w.convert(x.value, FLOAT32)) for x in operands])
        return Computed(self, w.convert(found.value, self.dtype))

    def power(self, x: Any, y: Any) -> Computed:
        return self.op("pow", x, y)

    def erf_inv(self, x: Any) -> Computed:
        return inverse_erf_of_each(self, x)

    def digamma(self, x: Any) -> Computed:
        return digamma(self, x)

    def where(self, condition: Any, x: Any, y: Any) -> Computed:
        choices = self._scalar(x), self._scalar(y)
        return Computed(self, self.writer.select(condition.value, *choices))

    def iterate(
        self,
        goes_on: Callable[..., Computed],
        step: Callable[..., Sequence[Any]],
        start: Sequence[Any],
    ) -> Sequence[Computed]:
        w = self.writer
        values = [self._scalar(x) for x in start]
        cells = [w.buffer("state", (), value.dtype) for value in values]

        def put(values: Sequence[loops.Operand]) -> None:
            for cell, value in zip(cells, values, strict=True):
                w.store(cell, loops.ORIGIN, value)

        def state() -> list[Computed]:
            return [Computed(self, w.load(cell)) for cell in cells]

        put(values)
        w.repeat(
            lambda: goes_on(*state()).value,
            lambda: put([self._scalar(x) for x in step(*state())]),
        )
        return state()

    def if_any(self, flags: Computed, compute: Callable[[], Any]) -> Computed:
        w = self.writer
        cell = w.buffer("value", (), self.dtype)

        def put(value: Any) -> None:
            w.store(cell, loops.ORIGIN, self._scalar(value))

        w.branch(flags.value, lambda: put(compute()), lambda: put(0.0), is_rare=True)
        return Computed(self, w.load(cell))


def formula_of_scalars(
    w: loops.Writer,
    formula: Callable[..., Any],
    *operands: loops.Operand,
    dtype: np.dtype = FLOAT64,
    digits: np.dtype | None = None,
) -> loops.Operand:
    """A formula of floats, computed in `dtype` and rounded once.

    Series end at four bits more than the result, or the dtype `digits`, has; the rest is rounded.
    """
    out = operands[0].dtype
    notation = LoopNotation(w, float(dtypes.finfo(digits or out).eps) / 16, dtype)
    result = formula(notation, *[Computed(notation, w.convert(x, dtype)) for x in operands])
    return w.convert(result.value, out)
