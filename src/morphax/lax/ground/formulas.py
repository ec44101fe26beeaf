"""Formulas that stand once and are computed by all engines.

A formula of many steps, such as a series that is summed until it has converged, is a function of a
*notation* and numbers.  The numbers have Python's operators.  The notation supplies the rest:
elementary functions, `where`, `iterate`, and `if_any`.  `HostNotation` computes with NumPy arrays.
`ProgramNotation` writes StableHLO, where the numbers are `Written`, `LoopNotation` loop programs.

Formulas are computed in float64 for every dtype, and rounded once: results of narrower dtypes are
then as exact as their dtype allows, even where the formula loses digits.  The exception are those
that are short, lose none, and would take twice the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, partialmethod
from typing import Any, ClassVar, Protocol, final

import numpy as np

from ... import dtypes
from ...core import ShapedArray
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value, i64_array
from ...util.scipy_libraries import special_functions
from .families import Elementwise, compare, expanded
from .float_parts import parts_in_program, parts_on_host
from .inverse_error import inverse_erf
from .kinds import FLOATING
from .log_gamma import digamma, log_gamma
from .logarithms import log_plus_one
from .loop_formulas import formula_of_scalars
from .narrow import COMPUTED_IN

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_BOOL = np.dtype(bool)


class Notation(Protocol):
    """What a formula may use beside operators; `precision` is where a series may end."""

    precision: float

    def exp(self, x: Any, /) -> Any: ...
    def expm1(self, x: Any, /) -> Any: ...
    def log(self, x: Any, /) -> Any: ...
    def log1p(self, x: Any, /) -> Any: ...
    def sqrt(self, x: Any, /) -> Any: ...
    def sin(self, x: Any, /) -> Any: ...
    def cos(self, x: Any, /) -> Any: ...
    def floor(self, x: Any, /) -> Any: ...
    def power(self, x: Any, y: Any, /) -> Any: ...
    def erfc(self, x: Any, /) -> Any: ...
    def erf_inv(self, x: Any, /) -> Any: ...
    def lgamma(self, x: Any, /) -> Any: ...
    def digamma(self, x: Any, /) -> Any: ...

    def in_single(self, formula: Callable[..., Any], /, *operands: Any) -> Any:
        """A formula of a notation of float32 and of the operands, rounded; for few digits."""

    def parts(self, x: Any, /) -> tuple[Any, Any]:
        """m and e with x = m 2ᵉ and √½ ≤ m < √2, for x > 0 of float64."""

    def where(self, condition: Any, x: Any, y: Any, /) -> Any:
        """x where the condition holds, y elsewhere."""

    def iterate(
        self,
        goes_on: Callable[..., Any],
        step: Callable[..., Sequence[Any]],
        start: Sequence[Any],
    ) -> Sequence[Any]:
        """The state after as many steps as the slowest element needs."""

    def if_any(self, flags: Any, compute: Callable[[], Any], /) -> Any:
        """What is computed, of the shape of the flags; 0 where none of them holds."""


@final
class HostNotation:
    """Formulas as NumPy computes them; SciPy is loaded by the first that needs it."""

    precision = 2.0**-54
    exp = staticmethod(np.exp)
    expm1 = staticmethod(np.expm1)
    log = staticmethod(np.log)
    log1p = staticmethod(np.log1p)
    sqrt = staticmethod(np.sqrt)
    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    floor = staticmethod(np.floor)
    power = staticmethod(np.power)
    where = staticmethod(np.where)

    parts = staticmethod(parts_on_host)

    def in_single(self, formula: Callable[..., Any], *operands: Any) -> Any:
        return formula(self, *operands)

    @staticmethod
    def erfc(x: Any) -> Any:
        return special_functions().erfc(x)

    @staticmethod
    def erf_inv(x: Any) -> Any:
        return special_functions().erfinv(x)

    @staticmethod
    def lgamma(x: Any) -> Any:
        return special_functions().gammaln(x)

    @staticmethod
    def digamma(x: Any) -> Any:
        return special_functions().psi(x)

    @staticmethod
    def iterate(
        goes_on: Callable[..., Any], step: Callable[..., Sequence[Any]], start: Sequence[Any]
    ) -> Sequence[Any]:
        state = start
        while np.any(goes_on(*state)):
            state = step(*state)
        return state

    @staticmethod
    def if_any(flags: Any, compute: Callable[[], Any]) -> Any:
        return compute() if np.any(flags) else np.zeros(np.shape(flags))


@final
class Written:
    """A number, or a truth value, of a program that is being written."""

    __slots__ = ("page", "value")
    __hash__ = None  # type: ignore[assignment]  # Its equality is that of its elements.

    def __init__(self, page: ProgramNotation, value: Value) -> None:
        self.page = page
        self.value = value

    def _op(self, name: str, *others: Any) -> Written:
        return self.page.elementwise(f"stablehlo.{name}", self, *others)

    def _reflected(self, name: str, other: Any) -> Written:
        return self.page.elementwise(f"stablehlo.{name}", other, self)

    def _compared(self, direction: str, other: Any) -> Written:
        return self.page.compared(direction, self, other)

    __add__ = partialmethod(_op, "add")
    __radd__ = partialmethod(_reflected, "add")
    __sub__ = partialmethod(_op, "subtract")
    __rsub__ = partialmethod(_reflected, "subtract")
    __mul__ = partialmethod(_op, "multiply")
    __rmul__ = partialmethod(_reflected, "multiply")
    __truediv__ = partialmethod(_op, "divide")
    __rtruediv__ = partialmethod(_reflected, "divide")
    __neg__ = partialmethod(_op, "negate")
    __abs__ = partialmethod(_op, "abs")
    __and__ = partialmethod(_op, "and")
    __or__ = partialmethod(_op, "or")
    __invert__ = partialmethod(_op, "not")
    __lt__ = partialmethod(_compared, "LT")
    __le__ = partialmethod(_compared, "LE")
    __gt__ = partialmethod(_compared, "GT")
    __ge__ = partialmethod(_compared, "GE")
    __eq__ = partialmethod(_compared, "EQ")
    __ne__ = partialmethod(_compared, "NE")


@final
class ProgramNotation:
    """Formulas as operations of StableHLO, in the block of `builder`."""

    def __init__(
        self,
        builder: Builder,
        precision: float,
        dtype: np.dtype = FLOAT64,
        shape: tuple[int, ...] = (),
    ) -> None:
        self._builder = builder
        self._shape = shape
        self._scalar = ShapedArray((), dtype)
        self.precision = precision

    def elementwise(self, name: str, *operands: Any) -> Written:
        values = self._aligned(*operands)
        write = self._builder.elementwise if name.startswith("stablehlo.") else self._builder.op
        return Written(self, write(name, values[0].aval, *values))

    def compared(self, direction: str, *operands: Any) -> Written:
        x, y = self._aligned(*operands)
        flag = x.aval.update(dtype=_BOOL)
        return Written(self, compare(self._builder, flag, direction, x, y))

    def _aligned(self, *operands: Any) -> list[Value]:
        """Values of one shape: Python's numbers and scalars are repeated."""
        write = self._builder.constant
        values = [x.value if isinstance(x, Written) else write(x, self._scalar) for x in operands]
        shape = max([v.aval.shape for v in values], key=len)
        return expanded(self._builder, shape, values)

    def exp(self, x: Any) -> Written:
        return self.elementwise("stablehlo.exponential", x)

    def expm1(self, x: Any) -> Written:
        return self.elementwise("stablehlo.exponential_minus_one", x)

    def log(self, x: Any) -> Written:
        return self.elementwise("stablehlo.log", x)

    def log1p(self, x: Any) -> Written:
        (value,) = self._aligned(x)
        return Written(self, log_plus_one(self._builder, value.aval, value))

    def sqrt(self, x: Any) -> Written:
        return self.elementwise("stablehlo.sqrt", x)

    def sin(self, x: Any) -> Written:
        return self.elementwise("stablehlo.sine", x)

    def cos(self, x: Any) -> Written:
        return self.elementwise("stablehlo.cosine", x)

    def floor(self, x: Any) -> Written:
        return self.elementwise("stablehlo.floor", x)

    def power(self, x: Any, y: Any) -> Written:
        return self.elementwise("stablehlo.power", x, y)

    def erfc(self, x: Any) -> Written:
        return self.elementwise("chlo.erfc", x)

    def erf_inv(self, x: Any) -> Written:
        is_wide = self._scalar.dtype == FLOAT64
        return inverse_erf(self, x) if is_wide else self.elementwise("chlo.erf_inv", x)

    def lgamma(self, x: Any) -> Written:
        return log_gamma(self, x, is_single=self._scalar.dtype != FLOAT64)

    def digamma(self, x: Any) -> Written:
        is_wide = self._scalar.dtype == FLOAT64
        return digamma(self, x) if is_wide else self.elementwise("chlo.digamma", x)

    def parts(self, x: Written) -> tuple[Written, Written]:
        mantissa, exponent = parts_in_program(self._builder, x.value)
        return Written(self, mantissa), Written(self, exponent)

    def in_single(self, formula: Callable[..., Written], *operands: Written) -> Written:
        b = self._builder
        page = ProgramNotation(b, self.precision, FLOAT32, self._shape)
        found = formula(page, *[Written(page, b.convert(x.value, FLOAT32)) for x in operands])
        return Written(self, b.convert(found.value, self._scalar.dtype))

    def where(self, condition: Written, x: Any, y: Any) -> Written:
        first, second = self._aligned(x, y)
        shape = max(condition.value.aval.shape, first.aval.shape, key=len)
        which, first, second = expanded(self._builder, shape, [condition.value, first, second])
        select = self._builder.op("stablehlo.select", first.aval, which, first, second)
        return Written(self, select)

    def iterate(
        self,
        goes_on: Callable[..., Written],
        step: Callable[..., Sequence[Any]],
        start: Sequence[Any],
    ) -> Sequence[Written]:
        outer = self._builder
        # Numbers of Python stay scalars, as counters are; what follows from operands gets steps
        # that follow from others too.
        initial = [
            expanded(outer, self._shape, [x.value])[0]
            if isinstance(x, Written)
            else self._aligned(x)[0]
            for x in start
        ]
        avals = [v.aval for v in initial]

        def condition(inner: Builder, *state: Value) -> list[Value]:
            self._builder = inner
            return [any_element(inner, goes_on(*[Written(self, v) for v in state]).value)]

        def body(inner: Builder, *state: Value) -> list[Value]:
            self._builder = inner
            results = [self._aligned(x)[0] for x in step(*[Written(self, v) for v in state])]
            return [expanded(inner, a.shape, [v])[0] for v, a in zip(results, avals, strict=True)]

        regions = [outer.region(avals, condition), outer.region(avals, body)]
        self._builder = outer
        results = outer.ops("stablehlo.while", avals, *initial, regions=regions)
        return [Written(self, v) for v in results]

    def if_any(self, flags: Written, compute: Callable[[], Any]) -> Written:
        outer = self._builder
        if not (outer.module.is_for_one_cpu and outer.module.branches_formulas):
            return self.where(flags, compute(), 0.0)  # Others would wait: for each other, the host.
        aval = flags.value.aval.update(dtype=self._scalar.dtype)

        def computed(inner: Builder) -> list[Value]:
            self._builder = inner
            values = expanded(inner, aval.shape, self._aligned(compute()))
            # XLA makes a choice of branches that are short, and computes both; not of this one.
            return inner.ops("stablehlo.optimization_barrier", [aval], *values)

        some = outer.region((), computed)
        none = outer.region((), lambda inner: [inner.full(0.0, aval)])
        self._builder = outer
        is_needed = any_element(outer, flags.value)
        return Written(self, outer.op("stablehlo.if", aval, is_needed, regions=[some, none]))


def any_element(b: Builder, flags: Value) -> Value:
    """Whether any of an array of truth values holds."""
    scalar = flags.aval.update(shape=())
    if not flags.aval.shape:
        return flags
    body = b.region(
        (scalar, scalar), lambda inner, *pair: [inner.elementwise("stablehlo.or", scalar, *pair)]
    )
    axes = i64_array(range(len(flags.aval.shape)))
    return b.op(
        "stablehlo.reduce",
        scalar,
        flags,
        b.constant(False, scalar),
        regions=[body],
        dimensions=axes,
    )


def formula_of_arrays(
    b: Builder,
    out: Any,
    formula: Callable[..., Written],
    *operands: Value,
    dtype: np.dtype = FLOAT64,
    known: Sequence[int] = (),
    digits: np.dtype | None = None,
) -> Value:
    """A formula computed in `dtype` and rounded once; of places `known`, constants are numbers.

    Series end at four bits more than the result, or the dtype `digits`, has; the rest is rounded.
    """
    page = ProgramNotation(b, float(dtypes.finfo(digits or out.dtype).eps) / 16, dtype, out.shape)
    # Scalars stay scalars: what follows from them alone is computed once.
    inputs: list[Any] = [Written(page, b.convert(v, dtype)) for v in operands]
    for i in known:
        if not operands[i].aval.shape and (number := operands[i].element) is not None:
            inputs[i] = float(number)
    result = formula(page, *inputs)
    return expanded(b, out.shape, [b.convert(result.value, out.dtype)])[0]


class ByFormula(Elementwise):
    """Functions of real numbers that compiled programs compute by `formula`.

    Parameters are given to the formula by name.  Eager mode computes by it too, unless `evaluate`
    says otherwise, or the operands are narrower than float64 and `of_narrow` has digits enough for
    these: it takes and gives arrays of float64.  Programs compute what is narrower than float64 by
    `formula_of_single`, if there is one.  Where `keeps_dtype` holds, programs compute float32 in
    float32.  Series end where the result's dtype does, or `digits`, if more may be lost than the
    result is rounded by.  Operands at `known_operands` are Python's numbers in programs that have
    them as constants: the formula may be a shorter one then.
    """

    accepts = FLOATING
    formula: ClassVar[Callable[..., Any]]
    formula_of_single: ClassVar[Callable[..., Any] | None] = None
    of_narrow: ClassVar[Callable[..., Any] | None] = None
    keeps_dtype: ClassVar[bool] = False
    digits: ClassVar[np.dtype | None] = None
    known_operands: ClassVar[tuple[int, ...]] = ()

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        wide = [np.asarray(x, FLOAT64) for x in operands]
        of_narrow = type(self).of_narrow
        if of_narrow is not None and operands[0].dtype != FLOAT64:
            return np.asarray(of_narrow(*wide, **params)).astype(operands[0].dtype)
        return np.asarray(type(self).formula(HostNotation(), *wide, **params)).astype(
            operands[0].dtype
        )

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        dtype = COMPUTED_IN.get(out.dtype, out.dtype) if self.keeps_dtype else FLOAT64
        rule, known = partial(self._formula(out.dtype), **params), self.known_operands
        digits = self.digits
        return formula_of_arrays(b, out, rule, *operands, dtype=dtype, known=known, digits=digits)

    def _formula(self, dtype: np.dtype) -> Callable[..., Any]:
        kind = type(self)
        return kind.formula if dtype == FLOAT64 else kind.formula_of_single or kind.formula

    def scalar(self, w: loops.Writer, *operands: loops.Operand, **params: Any) -> loops.Operand:
        rule = partial(self._formula(operands[0].dtype), **params)
        return formula_of_scalars(w, rule, *operands, digits=self.digits)
