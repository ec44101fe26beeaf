"""Making references, adding to them, giving them up; `get` and `swap` are in `ref_binding`."""

from __future__ import annotations

from typing import Any, final

from ...core import (
    AbstractRef,
    AccumEffect,
    Cell,
    Equation,
    ReadEffect,
    ShapedArray,
    WriteEffect,
    aval_of,
    carries_aval,
    current_trace,
    internal_refs,
)
from ...core.effects import Effects
from ...core.printing import Printer
from ...util.layout import Block, Document, Text
from ..ground.linear_structure import zeros
from .ref_binding import Access, apart, in_type, place_text
from .ref_indexing import Indexer
from .ref_regions import added


@final
class AddUpdate(Access):
    """Add to a part of a reference; a place that is named twice is added to twice."""

    name = "addupdate"
    multiple_results = True

    def typed(
        self, ref: Any, value: Any, *avals: Any, indexers: tuple[Indexer, ...]
    ) -> tuple[Any, Effects]:
        self.check_value(ref, value, self.part_of(ref, avals, indexers), avals)
        return (), frozenset({AccumEffect(0)})

    def discharge(
        self, ref: Cell, value: Any, *indices: Any, indexers: tuple[Indexer, ...]
    ) -> tuple[()]:
        ref.value = in_type(added(ref.value, indexers, indices, value), ref.aval)
        return ()

    def printed_equation(self, printer: Printer, eqn: Equation) -> Document:
        sign = Text(" += ", comments=printer.comments(eqn))
        place = place_text(printer, eqn, eqn.invars[2:])
        return Block([place, sign, printer.atom(eqn.invars[1])])


@final
class NewRef(Access):
    """A reference that holds a value.

    Params:
        memory_space, kind: see `AbstractRef`.
    """

    name = "new_ref"
    makes_references = True

    def typed(self, value: Any, *, memory_space: Any, kind: Any) -> tuple[Any, Effects]:
        return AbstractRef(value, memory_space, kind), internal_refs

    def discharge(self, value: Any, *, memory_space: Any, kind: Any) -> Cell:
        held = apart(value) if carries_aval(value) else current_trace().constant(value)
        return Cell(AbstractRef(aval_of(held), memory_space, kind), held)


@final
class EmptyRef(Access):
    """A reference whose value is not set: zeros, for lack of nothing.

    Params:
        ty: the aval of the value.
        memory_space: see `AbstractRef`.
    """

    name = "empty_ref"
    makes_references = True

    def typed(self, *, ty: ShapedArray, memory_space: Any) -> tuple[Any, Effects]:
        return AbstractRef(ty, memory_space), internal_refs

    def discharge(self, *, ty: ShapedArray, memory_space: Any) -> Cell:
        return Cell(AbstractRef(ty, memory_space), zeros(ty))


@final
class Freeze(Access):
    """The value of a reference that is not used afterwards."""

    name = "freeze"

    def typed(self, ref: Any) -> tuple[Any, Effects]:
        self.part_of(ref, (), ())
        return ref.inner_aval, frozenset({ReadEffect(0)})

    def discharge(self, ref: Cell) -> Any:
        return apart(ref.value)


@final
class FreeRef(Access):
    """Say that a reference is not used afterwards."""

    name = "free_ref"
    multiple_results = True

    def typed(self, ref: Any) -> tuple[Any, Effects]:
        self.part_of(ref, (), ())
        return (), frozenset({WriteEffect(0)})

    def discharge(self, ref: Cell) -> tuple[()]:
        return ()


addupdate_p = AddUpdate()
new_ref_p = NewRef()
empty_ref_p = EmptyRef()
freeze_p = Freeze()
free_ref_p = FreeRef()
