"""Loops and branches of several members together: what a mask hides, changes nothing.

Members are steps of a loop that run in the places of a vector (`masked_loops`).  A `while` goes on
as long as one of them does; of an `if` those branches run that some member takes.  Loads need no
mask, for indices are inside of their buffers whatever the data are.  What hidden members compute is
never stored; so that it cannot stop the machine, divisors and indices are frozen: LLVM has to take
them for some number.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from ..loops.memory import touched_by
from ..loops.program import (
    BOOL,
    Buffer,
    Copy,
    For,
    If,
    Index,
    Operand,
    Statement,
    While,
    walk,
)
from .llvm_scalars import memory_type, scalar_type, wide
from .variables import Room, Variables
from .vector_loops import VectorLoop
from .vector_steps import VectorSteps

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter

# Operations that machines fail at, or whose results are addresses.
_FROZEN = ("quotient", "remainder", "limit")
# Names of types in those of intrinsics.
_SUFFIXES = {"float": "f32", "double": "f64"}


def room_of(buffer: Buffer, width: int) -> Room:
    """The memory for copies of an array: those of an element side by side, without gaps."""
    count = buffer.size * width
    return Room(f"[{count} x {memory_type(buffer.dtype)}]", count * buffer.dtype.itemsize)


def fits(plan: VectorLoop, variables: Variables) -> bool:
    """Whether there is room for the copies of the members."""
    return variables.has_room([room_of(x, plan.width) for x in plan.private if x.size > 1])


@final
class MaskedSteps(VectorSteps):
    """Writes the body of a loop for several members together."""

    # What a mask hides may be anything, and results of divisions are addresses.
    divides_by_floats = False

    def __init__(self, printer: StatementPrinter, plan: VectorLoop) -> None:
        super().__init__(printer, plan)
        # The members that run; `None` if all do.
        self.mask: str | None = None
        # The variables that hold the copies of all members, those of an element side by side.
        self.copies: dict[Buffer, str] = {}

    def write(self, width: int) -> None:
        """The members from the counter on."""
        self.width, self.texts, self.mask = width, {}, None
        statements = list(walk(self.plan.body))
        touched = dict.fromkeys([x for statement in statements for x in touched_by(statement)])
        private = [x for x in touched if x in self.plan.private]
        variables = self.printer.variables
        rooms = {x: room_of(x, width) for x in private if x.size > 1}
        self.copies = {
            x: variables.take(rooms[x]) if x in rooms else variables.new(self._type(x))
            for x in private
        }
        if any([type(x) in (While, If) for x in statements]):
            # Members may read what they have not written, as long as they are hidden.
            for buffer in private:
                self._clear(buffer)
        with self._block():
            self.statements(self.plan.body)
        for buffer, room in rooms.items():
            variables.give_back(room, self.copies[buffer])

    def statements(self, body: Iterable[Statement]) -> None:
        for statement in body:
            match statement:
                case Copy(target, source, size):
                    for i in range(size):
                        value = self.element(source, statement.source_start.plus(i))
                        self.put(target, statement.target_start.plus(i), value)
                case For():
                    self._for(statement)
                case While():
                    self._while(statement)
                case If():
                    self._if(statement)
                case _:
                    self.statement(statement)

    @contextmanager
    def _block(self) -> Iterator[None]:
        """What is known in it, is not after it."""
        texts, indices = self.texts, len(self.printer.open_indices)
        known = texts.maps if isinstance(texts, ChainMap) else [texts]
        self.texts = ChainMap({}, *known)
        yield
        self.texts = texts
        self.printer.forget(indices)

    # Memory

    def _type(self, buffer: Buffer) -> str:
        """The type of the copies of an element."""
        is_mask = buffer.dtype == BOOL and buffer.size == 1
        return wide("i1" if is_mask else memory_type(buffer.dtype), self.width)

    def _clear(self, buffer: Buffer) -> None:
        if buffer.size <= 1:
            text = f"store {self._type(buffer)} zeroinitializer, ptr {self.copies[buffer]}"
        else:
            size = room_of(buffer, self.width).size
            place = f"ptr {self.copies[buffer]}, i8 0, i64 {size}, i1 false"
            text = f"call void @llvm.memset.p0.i64({place})"
        self.printer.line(text)

    def _places(self, buffer: Buffer, index: Index) -> str:
        """The address of an element's copies, or the addresses of different elements'."""
        p, base, element = self.printer, self.copies[buffer], memory_type(buffer.dtype)
        if self.plan.factor(index) == 0:
            at = p.index(index.times(self.width))
            return base if at == "0" else p.new(f"getelementptr {element}, ptr {base}, i64 {at}")
        vector = wide("i64", self.width)
        at = p.new(f"mul nsw {vector} {self.indices(index)}, splat (i64 {self.width})")
        own = ", ".join([f"i64 {i}" for i in range(self.width)])
        at = p.new(f"add nsw {vector} {at}, <{own}>")
        return p.new(f"getelementptr {element}, ptr {base}, {vector} {at}")

    def loaded(self, buffer: Buffer, index: Index) -> str:
        if buffer not in self.copies:
            return super().loaded(buffer, index)
        p, type_, places = self.printer, self._type(buffer), self._places(buffer, index)
        if self.plan.factor(index) == 0:
            value = p.new(f"load {type_}, ptr {places}, align {buffer.dtype.itemsize}")
        else:
            value = self.gathered(places, memory_type(buffer.dtype), buffer.dtype.itemsize)
        return self.truth(value, buffer) if not type_.endswith("i1>") else value

    def put(self, buffer: Buffer, index: Index, value: str) -> None:
        factor = self.plan.factor(index)
        if buffer not in self.copies:
            if factor in (1, -1) and self.mask is None:
                super().put(buffer, index, value)
            else:
                places = self.addresses(buffer, index)
                self._scatter(buffer, places, self.in_memory(value, buffer))
            return
        type_, place = self._type(buffer), self._places(buffer, index)
        if type_ != wide("i1", self.width):
            value = self.in_memory(value, buffer)
        if factor == 0:
            self._put_copies(buffer, type_, place, value)
        else:
            self._scatter(buffer, place, value)

    def _put_copies(self, buffer: Buffer, type_: str, place: str, value: str) -> None:
        """Store an element of all members; of those that do not run, the old one."""
        p, align = self.printer, buffer.dtype.itemsize
        if self.mask is not None:
            old = p.new(f"load {type_}, ptr {place}, align {align}")
            masks = wide("i1", self.width)
            value = p.new(f"select {masks} {self.mask}, {type_} {value}, {type_} {old}")
            if buffer.size > 1:
                value = self.frozen(value, memory_type(buffer.dtype))
        p.line(f"store {type_} {value}, ptr {place}, align {align}")

    def _scatter(self, buffer: Buffer, places: str, value: str) -> None:
        """Store elements one by one, those of the members that run."""
        element, width = memory_type(buffer.dtype), self.width
        vector, pointers, masks = (wide(x, width) for x in (element, "ptr", "i1"))
        suffix = f"v{width}{_SUFFIXES.get(element, element)}.v{width}p0"
        mask = "splat (i1 true)" if self.mask is None else self.mask
        self.printer.line(
            f"call void @llvm.masked.scatter.{suffix}({vector} {value}, {pointers} {places}, "
            f"i32 {buffer.dtype.itemsize}, {masks} {mask})"
        )

    def taken(self, operation: str, texts: list[str], x: Sequence[Operand]) -> list[str]:
        if operation not in _FROZEN:
            return texts
        vector = wide(scalar_type(x[0].dtype), self.width)
        return [
            self.printer.new(f"freeze {vector} {text}") if text.startswith("%") else text
            for text in texts
        ]

    # Loops and branches

    def _for(self, loop: For) -> None:
        p, extent = self.printer, loop.extent

        def step() -> None:
            with self._block():
                self.statements(loop.body)

        if not isinstance(extent, Index) and p.plans.is_written_out(loop):
            for number in range(extent):
                p.numbers[loop.counter] = number
                step()
                del p.numbers[loop.counter]
            return
        end = p.index(extent) if isinstance(extent, Index) else str(extent)
        p.loop(loop.counter, end, 1, step, isinstance(extent, Index))

    def _any(self, mask: str) -> str:
        """Whether a member runs."""
        name = f"@llvm.vector.reduce.or.v{self.width}i1"
        return self.printer.new(f"call i1 {name}({wide('i1', self.width)} {mask})")

    def _masked(self, condition: str) -> str:
        """The members that run and for whom a condition holds."""
        if self.mask is None:
            return condition
        return self.printer.new(f"and {wide('i1', self.width)} {self.mask}, {condition}")

    def _while(self, loop: While) -> None:
        p, masks, outer = self.printer, wide("i1", self.width), self.mask
        label, running = f"while{p.label()}", p.variables.new(masks)
        p.repeat_any_times()
        p.line(f"store {masks} {outer or 'splat (i1 true)'}, ptr {running}")
        p.jump(label)
        with self._block():
            self.mask = p.new(f"load {masks}, ptr {running}")
            self.statements(loop.condition)
            self.mask = self._masked(self.operand(loop.goes_on))
            p.line(f"store {masks} {self.mask}, ptr {running}")
            p.fork(self._any(self.mask), f"{label}.body", f"{label}.end")
            self.statements(loop.body)
        p.line(f"br label %{label}")
        p.lines.append(f"{label}.end:")
        self.mask = outer

    def _if(self, statement: If) -> None:
        p, outer, condition = self.printer, self.mask, statement.condition
        label, masks = f"if{p.label()}", wide("i1", self.width)
        chosen = self.operand(condition)
        for name, block in (("then", statement.then), ("else", statement.otherwise)):
            if not block:
                continue
            if name == "else":
                chosen = p.new(f"xor {masks} {chosen}, splat (i1 true)")
            mask = self._masked(chosen)
            p.fork(self._any(mask), f"{label}.{name}", f"{label}.{name}.end")
            self.mask = mask
            with self._block():
                self.statements(block)
            self.mask = outer
            p.jump(f"{label}.{name}.end")
