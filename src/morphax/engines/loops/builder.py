"""From a jaxpr to statements: what the rules `to_loops` of primitives write with.

A rule takes a builder, the aval of its result (a list of avals if there are several), and the
operands as values; it returns the value, or values, of the result.  Programs that equations hold
are written in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, final

import numpy as np

from ...core import Equation, Jaxpr, Literal, Primitive, ShapedArray
from ...util.messages import message
from ..programs_in_place import program_in_place_of
from ..xla.literals import host_constant
from .callees import Callee
from .environment import Environment
from .forms import held_dtype, is_complex_aval, narrow_form, takes_complex
from .fusion import Fusion
from .narrow import HELD, TO_ROUND, held, is_narrow, rounded
from .operations import NoOperation
from .program import ORIGIN, Buffer, Const, DType, Index, Kind, Operand
from .values import Indices, Place, Shape, Value, View, are_row_major, row_major
from .views import split_axes, viewed_strides
from .writer import Writer


@final
class NotALoopProgram(TypeError):
    """A program cannot be written as a loop program."""


@final
class Builder:
    """The program that is being written."""

    def __init__(
        self,
        where: str,
        name: str,
        *,
        has_vectors: bool,
        changes_in_place: bool,
        prepared: Callable[[Jaxpr], Jaxpr],
    ) -> None:
        self.where = where
        # Whether what loops carry is changed where it lies.
        self.changes_in_place = changes_in_place
        # What is done to each program before it is written.
        self.prepared = prepared
        self.constants_name = f"{name}_constant"
        self.writer = Writer()
        self.fusion = Fusion(self.writer, has_vectors=has_vectors)
        # Where results of the current equation are to lie, if that is decided.
        self.places: Sequence[Place | None] = ()
        self.equation: Equation | None = None
        # The functions of Python's that are called.
        self.callees: list[Callee] = []
        # What variables have that are still to be read.
        self.live: set[Value] = set()
        self._constants: dict[int, tuple[Any, Value]] = {}
        self._dtypes: dict[Any, DType] = {}
        # Avals whose numbers are computed as they are: neither narrow nor complex.
        self._plain: set[Any] = set()
        # What rules have said by `always`, and of which operations on which avals.
        self._forms: dict[Any, tuple[Callable[..., Operand], int]] = {}
        self._kind: Any = None
        # Buffers from this number on belong to the block that is written; so do these.
        self._first_owned = 0
        self._carried: frozenset[Buffer] = frozenset()

    # Programs

    def inline(
        self, jaxpr: Jaxpr, *operands: Value, places: Sequence[Place | None] = ()
    ) -> list[Value]:
        """Write the equations of a program; its results, at `places` where these are given."""
        jaxpr = self.prepared(jaxpr)
        env = Environment(self, jaxpr)
        for var, value in zip(jaxpr.invars, operands, strict=True):
            env.bind(var, value)
        for var, constant in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env.bind(var, self.constant(constant, var.aval))
        targets: dict[Any, Place | None] = {}
        if places:
            targets = dict(zip(reversed(jaxpr.outvars), reversed(places), strict=True))
        outer = self.equation, self.places
        for eqn, dying in zip(jaxpr.eqns, env.uses.dying, strict=True):
            inputs = env.read_all(eqn.invars)
            for var in dying:
                env.drop(var)
            self.equation = eqn
            self.places = [targets.get(v) for v in eqn.outvars] if targets else ()
            results = self._written(eqn, inputs)
            for i, (var, value) in enumerate(zip(eqn.outvars, results, strict=True)):
                env.bind(var, value, self.places[i] if self.places else None)
            self.equation, self.places = outer
        outs = env.read_all(jaxpr.outvars)
        env.close()
        return outs

    def _written(self, eqn: Equation, inputs: Sequence[Value]) -> Sequence[Value]:
        outs = [v.aval for v in eqn.outvars]
        kind = (eqn.primitive, *outs, *[x.aval for x in eqn.invars])
        self._kind = None if eqn.params else kind
        if self._kind and (known := self._forms.get(kind)) is not None:
            operation, cost = known
            return (self.elementwise(outs[0], operation, *inputs, cost=cost),)
        if (program := program_in_place_of(eqn, "cpu")) is not None:
            return self.inline(program, *inputs, places=self.places)
        avals = {*kind[1:]}
        if self._plain.issuperset(avals):
            return self._results_of(eqn, outs, inputs, is_complex=False)
        self._kind = None
        for aval in outs:
            self.dtype_of(aval)
        special = {x for x in avals if is_narrow(x) or is_complex_aval(x)}
        self._plain |= (avals - special).intersection(self._dtypes)
        is_complex = any(map(is_complex_aval, special))
        places, is_rounded = self.places, False
        if any(map(is_narrow, special)):
            treatment = narrow_form(eqn.primitive)
            if treatment == "refused":
                self.refuse("float16 and bfloat16 have no form of loops")
            is_rounded = treatment == "rounded"
        if is_rounded and places:
            # What is stored there is what has been rounded.
            self.places = [None if is_narrow(x) else y for x, y in zip(outs, places, strict=True)]
        results = self._results_of(eqn, outs, inputs, is_complex=is_complex)
        self.places = places
        pairs = zip(results, outs, strict=True)
        return [self._rounded(x, aval) for x, aval in pairs] if is_rounded else results

    def _results_of(
        self, eqn: Equation, outs: Sequence[Any], inputs: Sequence[Value], *, is_complex: bool
    ) -> Sequence[Value]:
        """What the rule of a primitive writes."""
        rule = eqn.primitive.to_loops
        if rule is None:
            self.refuse("it has no form of loops")
        if is_complex and not takes_complex(eqn.primitive):
            self.refuse("complex numbers have no form of loops")
        try:
            if eqn.primitive.multiple_results:
                results: Sequence[Value] = rule(self, outs, *inputs, **eqn.params)
                return results
            return (rule(self, outs[0], *inputs, **eqn.params),)
        except NoOperation:
            if not is_complex:
                raise
            self.refuse("complex numbers have no form of loops")

    def always(self, primitive: Primitive, operation: Callable[..., Operand], cost: int) -> None:
        """What a rule says that does no more than `elementwise`, of this operation and cost.

        Programs have the same operations on the same avals again and again: their rule is not
        asked again.  Rules may use those of other primitives, of which this is not noted.
        """
        if self._kind is not None and self._kind[0] is primitive:
            self._forms[self._kind] = operation, cost

    def _rounded(self, value: Value, aval: Any) -> Value:
        """What float32 has computed, as numbers of the dtype that it is computed for."""
        if not is_narrow(aval):
            return value
        round_ = partial(rounded, self.writer, dtype=aval.dtype)
        return self.elementwise(aval, round_, value, cost=TO_ROUND)

    def refuse(self, reason: str) -> NoReturn:
        """Raise: the current equation cannot be written."""
        eqn = self.equation
        name = "its operands and results" if eqn is None else eqn.primitive.name
        applied = "" if eqn is None else f" that applies {name}"
        line = "" if eqn is None or eqn.source is None else f", at {eqn.source}"
        raise NotALoopProgram(
            message(
                self.where,
                given=f"a program{applied}{line}",
                expected=f"operations that can be written as loops: of {name}, {reason}",
                fix="Compute this part outside, or write it with other operations.",
            )
        )

    @property
    def is_for_this_process(self) -> bool:
        """Whether the program runs beside Python: machine code does, C needs nothing else."""
        return self.fusion.has_vectors

    # Avals, constants, memory

    @property
    def operand_avals(self) -> list[Any]:
        """Of the current equation."""
        return [] if self.equation is None else [x.aval for x in self.equation.invars]

    def dtype_of(self, aval: Any) -> DType:
        """The dtype that holds the elements."""
        if type(aval) is not ShapedArray:
            self.refuse(f"a value of type {type(aval).__name__} is no array of numbers")
        if (known := self._dtypes.get(aval)) is not None:
            return known
        dtype = HELD if is_narrow(aval) else held_dtype(aval.dtype)
        if dtype is None:
            self.refuse(
                f"the dtype {aval.dtype} is none of bool, integers, floats of 16 to 64 bits and "
                "complex numbers"
            )
        self._dtypes[aval] = dtype
        return dtype

    def _held(self, value: Any, aval: Any) -> np.ndarray[Any, Any]:
        """A number or an array as programs hold it."""
        if is_narrow(aval):
            return held(value, aval.dtype)
        return np.asarray(value, self.dtype_of(aval))

    def constant(self, value: Any, aval: Any) -> Value:
        """A constant of a program; the same object becomes one array."""
        known = self._constants.get(id(value))
        if known is not None:
            return known[1]
        array = self._held(host_constant(value), aval)
        made = self._of_array(array)
        self._constants[id(value)] = value, made
        return made

    def literal(self, literal: Literal) -> Value:
        """The constant of a literal; steps that Python repeats have the same ones."""
        if (known := self._constants.get(id(literal))) is not None:
            return known[1]
        array = self._held(literal.val, literal.aval)
        scalar = None if array.shape else Const(array[()])
        made = self._of_array(array) if scalar is None else self.uniform((), scalar)
        self._constants[id(literal)] = literal, made
        return made

    def _of_array(self, array: np.ndarray[Any, Any]) -> Value:
        first = array.reshape(-1)[:1]
        if (
            array.size
            and (
                array.reshape(-1).view(np.uint8).reshape(array.size, -1) == first.view(np.uint8)
            ).all()
        ):
            scalar = self.writer.number(first[0], array.dtype)
            return Value(array.shape, array.dtype, scalar=scalar)
        buffer = self.writer.buffer(
            self.constants_name, array.shape, array.dtype, Kind.CONSTANT, array
        )
        return Value(array.shape, array.dtype, place=Place.whole(buffer))

    def uniform(self, shape: Shape, scalar: Operand) -> Value:
        """An array all of whose elements are a scalar."""
        return Value(shape, scalar.dtype, scalar=scalar)

    def new(self, aval: Any, number: int = 0, name: str = "v") -> Place:
        """Where to store result `number` of the equation: memory that nobody reads yet."""
        chosen = self.places[number] if aval.shape and number < len(self.places) else None
        return chosen or Place.whole(self.writer.buffer(name, aval.shape, self.dtype_of(aval)))

    def placed(self, shape: Shape, place: Place) -> Value:
        """What lies there; of rank 0, what lies there now."""
        if not shape:
            return Value(
                shape, place.buffer.dtype, scalar=self.writer.load(place.buffer, place.offset)
            )
        return Value(shape, place.buffer.dtype, place=place)

    def settled(self, value: Value) -> Value:
        """The value, stored unless it is a scalar for all: what loops may read again and again."""
        if value.is_pending and value.size:
            self.fusion.stored(value)
        return value

    def changeable(self, value: Value, number: int = 0) -> Place:
        """The elements of an operand in memory that result `number` may have.

        It is the operand's own, if nobody else reads that any more, and each element has its own.
        """
        chosen = self.places[number] if number < len(self.places) else None
        place = value.place
        if place is not None and chosen is None and self._is_ours(place.buffer):
            if place.is_apart(value.shape):
                return place
        target = chosen or Place.whole(self.writer.buffer("v", value.shape, value.dtype))
        self.fusion.fill(target, value, settles=False)
        return target

    def apart(self, value: Value, buffer: Buffer) -> Value:
        """The value as one that is not made of what a buffer holds, before that changes."""
        if buffer not in value.sources:
            return value
        return self.placed(value.shape, self.fusion.copied(value))

    def _is_ours(self, buffer: Buffer) -> bool:
        """Whether the block that is written may change what a buffer holds."""
        made_here = self.writer.ordinal[buffer] >= self._first_owned
        if buffer not in self._carried and not (made_here and buffer.kind is Kind.TEMPORARY):
            return False
        return not any([buffer in value.sources for value in self.live])

    def within(self, carried: Sequence[Buffer], body: Callable[[], None]) -> None:
        """Write a block that may run more than once, or not at all.

        What it closes over stays as it is; buffers that are `carried` it may change.
        """
        outer = self._first_owned, self._carried
        self._first_owned, self._carried = len(self.writer.ordinal), frozenset(carried)
        body()
        self._first_owned, self._carried = outer

    # Values made of values

    def elementwise(
        self, aval: Any, operation: Callable[..., Operand], *operands: Value, cost: int = 1
    ) -> Value:
        """`operation` of the elements; an operand of rank 0 is repeated."""
        scalars = [x.scalar for x in operands]
        if None not in scalars:
            return self.uniform(aval.shape, operation(*scalars))
        read = self.fusion.read

        def element(indices: Indices) -> Operand:
            return operation(*[x.scalar or read(x, indices if x.shape else ()) for x in operands])

        made = self.fusion.pending(aval.shape, self.dtype_of(aval), element, operands, cost)
        made.is_alike = made.is_pending and all([_is_read_alike(x, made.shape) for x in operands])
        return made

    def view(
        self,
        x: Value,
        shape: Shape,
        axes: Sequence[tuple[Index | int, Sequence[tuple[int, int]]]],
    ) -> Value:
        """Elements of `x` in other places.

        Args:
            x: the array.
            shape: of the result.
            axes: for each axis of `x`, where index i of the result reads it: a start, and axes of
                the result with factors: ``start + Σ factor · i[axis]``.
        """
        if x.scalar is not None:
            return self.uniform(shape, x.scalar)
        starts = [Index.of(start) if isinstance(start, int) else start for start, _ in axes]

        def there(place: Place) -> Place:
            offset = place.offset
            for start, stride in zip(starts, place.strides, strict=True):
                offset = offset.plus(start.times(stride))
            return Place(place.buffer, viewed_strides(place.strides, axes, len(shape)), offset)

        if x.place is not None:
            return self.placed(shape, there(x.place))
        if self.fusion.is_better_stored(x, math.prod(shape)):
            self.fusion.stored(x)
            return self.view(x, shape, axes)

        def element(indices: Indices) -> Operand:
            there = []
            for start, (_, terms) in zip(starts, axes, strict=True):
                for axis, factor in terms:
                    start = start.plus(indices[axis].times(factor))
                there.append(start)
            return self.fusion.read(x, tuple(there))

        made = self.fusion.pending(shape, x.dtype, element, [x], cost=0)
        if made.is_pending:
            whole = math.prod(shape) == x.size and starts == [ORIGIN] * x.ndim
            ordered = viewed_strides(row_major(x.shape), axes, len(shape))
            made.view_of = View(x, there, whole and are_row_major(ordered, shape))
        return made

    def part(self, x: Value, axis: int, start: int, shape: Shape) -> Value:
        """The elements from a place of an axis on."""
        axes = [(start if i == axis else 0, [(i, 1)]) for i in range(x.ndim)]
        return self.view(x, shape, axes)

    def reshape(self, x: Value, shape: Shape) -> Value:
        """The elements in another shape; only where axes join need they be stored."""
        if x.scalar is not None or not x.size:
            return self.uniform(shape, x.scalar or self.writer.number(0, x.dtype))
        axes = split_axes(x.shape, shape)
        if axes is not None:
            return self.view(x, shape, axes)
        return self.placed(shape, self.fusion.whole(x).reshaped(shape))


def _is_read_alike(x: Value, shape: Shape) -> bool:
    """Whether an element of a value of a shape reads that in its place of `x`, or one for all."""
    if x.scalar is not None:
        return True
    return x.shape == shape and (x.place is not None or x.is_alike)
