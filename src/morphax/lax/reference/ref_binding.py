"""Operations on references: who carries them out, and the two that all others come down to.

Where a program is staged, an operation on references becomes an equation.  Everywhere else, in
eager mode and in traces of differentiation and batching, it is *discharged*: its primitive looks up
the values of the references, computes with them in the current trace, and replaces them.

A reference belongs to one trace, its *home*, and its value must make sense there.  So what a
transformation inside computes for its own use (a value under differentiation, a batch) cannot be
kept in a reference that was made outside of the transformed function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

from ...array import Array
from ...config import current as current_config
from ...core import (
    AbstractRef,
    Cell,
    Equation,
    HighTracer,
    NoRule,
    Primitive,
    ReadEffect,
    Tracer,
    WriteEffect,
    aval_of,
    current_trace,
    infer,
    is_reference,
    not_batchable,
    not_differentiable,
    not_linear,
    presented,
)
from ...core.effects import Effects
from ...core.printing import Printer
from ...core.trace import Trace
from ...engines.reference.key_identities import identities_of, is_key, remember
from ...errors import UnexpectedTracerError
from ...util.layout import Block, Document, Text
from ...util.messages import message
from ..elementwise.convert import convert
from .ref_indexing import Indexer
from .ref_regions import read, written

_DISCHARGED = "programs are rid of references before they are transformed"


class Reference:
    """What users hold; `content` is the cell, or the variable of a program, that it stands for."""

    __slots__ = ("__weakref__", "content")

    def __init__(self, content: Any) -> None:
        self.content = content

    def __init_subclass__(cls) -> None:
        _HOLDERS.add(cls)


# The types by which operands are known to be references without asking each for its aval.
_HOLDERS: set[type] = {Cell, HighTracer}


def unwrapped(operands: Sequence[Any]) -> list[Any]:
    """Operands with the contents of references, and of traced values of high types."""
    return [x.content if isinstance(x, Reference | HighTracer) else x for x in operands]


class TakesReferences(Primitive):
    """Base of primitives whose operands may be references; they define `discharge`."""

    # Whether one reference may be several operands; whether references are made of other values.
    takes_twice: ClassVar[bool] = False
    makes_references: ClassVar[bool] = False

    def bind(self, *operands: Any, **params: Any) -> Any:
        trace = current_trace()
        if _HOLDERS.isdisjoint(map(type, operands)) and trace.parent is None:
            if trace.writes_all or not self.makes_references:
                return self._shown(trace.process(self, operands, params))
        contents = unwrapped(operands)
        if True not in map(is_reference, contents) and not self.makes_references:
            return self._shown(trace.process(self, contents, params))
        if not self.takes_twice:
            _check_distinct(self, contents, params)
        if trace.writes_all:
            return trace.process(self, contents, params)
        return self.carry_out(trace, contents, params)

    def _shown(self, results: Any) -> Any:
        """Results as users may see them: those of programs may be of high types."""
        return presented(results) if self.multiple_results else results

    def carry_out(self, trace: Trace, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """Discharge the operation in the current trace."""
        inner, root = _down_to_root(trace)
        if root.writes_all and _concerns_root_only(inner, operands):
            if not self.makes_references:
                return root.process(self, operands, params)
        opened = {id(x): _Opened(inner, root, x) for x in operands if is_reference(x)}
        cells = [opened[id(x)].cell if id(x) in opened else x for x in operands]
        infer(self, params, tuple(map(aval_of, operands)))
        results = self.discharge(*cells, **params)
        for reference in opened.values():
            reference.write_back()
        return results


def _down_to_root(trace: Trace) -> tuple[list[Trace], Trace]:
    """The traces above the root, innermost first, and the root."""
    inner = []
    while trace.parent is not None:
        inner.append(trace)
        trace = trace.parent
    return inner, trace


def _concerns_root_only(inner: Sequence[Trace], operands: Sequence[Any]) -> bool:
    """Whether an operation may be staged by the root, as if there were no transformation."""
    return not any(trace.maps for trace in inner) and not any(
        (x.home if type(x) is Cell else x._trace) in inner
        for x in operands
        if type(x) is Cell or isinstance(x, Tracer)
    )


class _Opened:
    """A reference for the time of one operation.

    If its home is the current trace or a parent, `cell` is the reference itself.  Otherwise it is a
    variable of the program that the root stages, and `cell` stands in for it.
    """

    __slots__ = ("_before", "_passed", "_reference", "_root", "cell")

    def __init__(self, inner: Sequence[Trace], root: Trace, reference: Any) -> None:
        home = reference.home if type(reference) is Cell else reference._trace
        traces = [*inner, root]
        if not home.live or not (home in traces or root.writes_all):
            raise UnexpectedTracerError(_leaked(reference.aval))
        self._reference, self._root = reference, root
        # The traces whose values must not get into the reference.
        self._passed = traces[: traces.index(home) if home in traces else -1]
        if type(reference) is Cell and home in traces:
            self.cell = reference
        else:
            value = root.process(get_p, [reference], {"indexers": ()})
            self.cell = Cell(reference.aval, value)
        self._before = self.cell.value

    def write_back(self) -> None:
        """Check the value that the operation has left, and write it back."""
        value = self.cell.value
        if value is self._before:
            return
        for trace in self._passed:
            if trace.maps or (isinstance(value, Tracer) and value._trace is trace):
                self.cell.value = self._before
                raise TypeError(_escaped_value(self.cell.aval, trace))
        if self.cell is not self._reference:
            self._root.process(swap_p, [self._reference, value], {"indexers": ()})


def _check_distinct(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> None:
    """Raise `ValueError` if a reference is given twice: a write to one would miss the other."""
    places: dict[int, int] = {}
    for i, x in enumerate(operands):
        if is_reference(x) and places.setdefault(id(x), i) != i:
            first = places[id(x)]
            names = [_operand_name(params, len(operands), k) for k in (first, i)]
            raise ValueError(
                message(
                    f"{primitive}, references",
                    given=f"one reference, {x.aval}, as {names[0]} and as {names[1]}",
                    expected="references that are passed once, and not closed over as well",
                    fix="Use the reference under one name only inside the function.",
                )
            )


def _operand_name(params: Mapping[str, Any], count: int, position: int) -> str:
    """How the user calls an operand of an operation that carries programs."""
    programs = params.get("branches") or (params.get("jaxpr"),)
    info = getattr(programs[0], "debug_info", None)
    names = info.name_arguments() if info is not None and info.name_arguments is not None else ()
    from_end = count - position
    if from_end <= len(names):
        return f"the argument {names[-from_end]}"
    return f"a value that {info.function if info is not None else 'the function'} closes over"


def _leaked(aval: AbstractRef) -> str:
    return message(
        "use of a reference",
        given=f"{aval}, after the transformed function that made it has returned",
        expected="references of this function, or of those around it",
        fix="Make the reference outside and close over it, or return what it holds: ref[...].",
    )


def _escaped_value(aval: AbstractRef, trace: Trace) -> str:
    what = "a value that differs between members of a batch (vmap)"
    fix = "Make the reference an argument of the mapped function, or make it inside."
    if not trace.maps:
        what = "a value under differentiation"
        fix = "Make the reference inside the differentiated function, or write "
        fix += "jax.lax.stop_gradient(value)."
    return message(
        "assignment to a reference",
        given=f"{what}, for {aval}, which was made outside of the transformed function",
        expected="a value that does not depend on the transformation",
        fix=fix,
    )


def apart(x: Any) -> Any:
    """The same numbers as another object, so that one may be given away and the other used."""
    if type(x) is not Array:
        return x
    copy = x.clone()
    if current_config().debug_key_reuse and is_key(x):
        remember(copy, identities_of(x))
    return copy


class Access(TakesReferences):
    """Base of operations on a part of one reference.

    Params:
        indexers: which part, each of the part that the one before names.

    Operands: the reference, a value if the operation takes one, operands of the indexers.
    """

    jvp = not_differentiable(_DISCHARGED)
    transpose = not_linear(_DISCHARGED)
    batch = not_batchable(_DISCHARGED)

    evaluate = NoRule("evaluate", _DISCHARGED)
    lower = NoRule("lower", _DISCHARGED)

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        return self.typed(*avals, **params)[0]

    def part_of(
        self, ref: Any, avals: Sequence[Any], indexers: Sequence[Indexer]
    ) -> tuple[int, ...]:
        """The shape of the part; `TypeError` if `ref` is no reference."""
        if type(ref) is not AbstractRef:
            raise TypeError(
                message(
                    f"{self.name}, argument ref",
                    given=f"{ref}",
                    expected="a reference",
                    fix="Make one with jax.new_ref.",
                )
            )
        shape, given = ref.shape, list(avals)
        for indexer in indexers:
            own, given = given[: indexer.num_operands], given[indexer.num_operands :]
            shape = indexer.result_shape(own)
        return shape

    def check_value(self, ref: Any, value: Any, shape: tuple[int, ...], indices: Any) -> None:
        """Raise `ValueError` unless a value fits the part.

        `TypeError` if members would leave different things in what is the same for all.
        """
        varying = frozenset[Any]().union(value.vma, *[index.vma for index in indices]) - ref.vma
        if varying:
            raise TypeError(
                message(
                    f"{self.name}, argument value",
                    given=f"{value}, for {ref}, which is the same for all members along "
                    f"{', '.join(map(repr, varying))}",
                    expected="a value and indices that vary over no more axes than the reference",
                    fix="Make the reference of a value that varies, by lax.pcast; pass it as an "
                    "argument that in_specs splits over these axes; or sum the value by lax.psum.",
                )
            )
        if value.shape != shape or value.dtype != ref.dtype:
            raise ValueError(
                message(
                    f"{self.name}, argument value",
                    given=f"{value} for {ref}",
                    expected=f"shape {list(shape)} and dtype {ref.dtype}: what the index names",
                    fix="Convert the value with astype or jnp.broadcast_to.",
                )
            )


def place_text(printer: Printer, eqn: Equation, indices: Sequence[Any]) -> str:
    """``a[0,:][i]``: the part of the reference that an equation is about."""
    names = iter([printer.atom(a) for a in indices])
    texts = [indexer.text(names) for indexer in eqn.params["indexers"]] or ["..."]
    return printer.atom(eqn.invars[0]) + "".join([f"[{text}]" for text in texts])


def in_type(value: Any, aval: AbstractRef) -> Any:
    """A value with the weak type of what the reference holds."""
    inner = aval.inner_aval
    if aval_of(value) is inner:
        return value
    return convert(value, inner.dtype, inner.weak_type)


@final
class Get(Access):
    """The value of a part of a reference."""

    name = "get"

    def typed(self, ref: Any, *avals: Any, indexers: tuple[Indexer, ...]) -> tuple[Any, Effects]:
        shape = self.part_of(ref, avals, indexers)
        return ref.inner_aval.update(shape=shape), frozenset({ReadEffect(0)})

    def discharge(self, ref: Cell, *indices: Any, indexers: tuple[Indexer, ...]) -> Any:
        return apart(read(ref.value, indexers, indices))

    def printed_equation(self, printer: Printer, eqn: Equation) -> Document:
        arrow = Text(" <- ", comments=printer.comments(eqn))
        return Block(
            [printer.binders(eqn.outvars), arrow, place_text(printer, eqn, eqn.invars[1:])]
        )


@final
class Swap(Access):
    """Replace the value of a part of a reference; the result is the value before."""

    name = "swap"

    def typed(
        self, ref: Any, value: Any, *avals: Any, indexers: tuple[Indexer, ...]
    ) -> tuple[Any, Effects]:
        shape = self.part_of(ref, avals, indexers)
        self.check_value(ref, value, shape, avals)
        return ref.inner_aval.update(shape=shape), frozenset({WriteEffect(0)})

    def discharge(self, ref: Cell, value: Any, *indices: Any, indexers: tuple[Indexer, ...]) -> Any:
        before = apart(read(ref.value, indexers, indices))
        ref.value = in_type(written(ref.value, indexers, indices, apart(value)), ref.aval)
        return before

    def printed_equation(self, printer: Printer, eqn: Equation) -> Document:
        arrow = Text(" <- ", comments=printer.comments(eqn))
        place = place_text(printer, eqn, eqn.invars[2:])
        value = printer.atom(eqn.invars[1])
        if printer.atom(eqn.outvars[0]) == "_":
            return Block([place, arrow, value])
        return Block([printer.binders(eqn.outvars), f", {place}", arrow, f"{place}, {value}"])


get_p = Get()
swap_p = Swap()
