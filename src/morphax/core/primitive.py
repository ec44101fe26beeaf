"""The contract of a primitive: one final class, its rules side by side.

A primitive is an operation that transformations know: a subclass of `Primitive` with one instance,
which `bind` applies in the current trace.  The rules, called with parameters as keyword arguments:

===================  ===============================================================================
`abstract_eval`      avals of the operands → aval of the result (a list if `multiple_results`).
                     Depends on avals and params alone, for it is memoised; raises `TypeError` or
                     `ValueError` on wrong operands.
`effects`            params → the set of effects of the equation.
`typed`              avals → the pair of `abstract_eval` and `effects`; defined instead of these
                     where effects depend on the operands.
`axis_flow`          avals, params → the `AxisFlow`: which axes of operands and results go together,
                     from which `infer` derives how results are split over a mesh.  Operations with
                     programs need none.
`evaluate`           NumPy operands → NumPy result: the meaning, used by the reference engine.
`kernel`             avals, params → `evaluate` for this signature, a function of NumPy operands
                     alone, or `None`.  Optional: decides once what `evaluate` decides each time.
`fused`              avals, params → the name of the compiled operation that gives the same bits, as
                     one step of a chain of operations (`engines/reference/fusion.py`), or `None`.
`view`               the same, its result in the operand's memory; None where that is in pieces
`moves`              Whether results consist of elements of operands, chosen by avals and params.
`windows`            avals, params → which elements are taken or replaced where the program says
                     (`engines.reference.windows`), or None; for programs on few numbers.
`folds`              aval, params → ``"fold"``, ``"accumulate"`` or ``"accumulate_wide"`` (in twice
                     the precision), the name of the operation that combines elements, and the axes
                     along which; for programs on few numbers.
`composed`           operands, params → the result by other primitives, to the bit: for replays.
`program_in_place`   avals, params → the program that engines of loops write in its place.
`programs_in_loops`  params → the programs that `to_loops` writes, where they are not the params'.
`execute`            Arrays → Array(s), if eager mode should not use `evaluate` (programs, say).
`lower`              StableHLO: a builder, the result's aval(s), operand values → result value(s).
`to_loops`           The same for loop programs (`engines.loops`).  Optional: for C code.
`jvp`                primals, tangents (`Zero` where known to be zero) → result, tangent of it.
                     Or `linear = True`: linear in all operands together, so the rule is `bind`.
`transpose`          cotangent(s) of the result(s), operands (`UndefinedPrimal` where linear) →
                     one cotangent or `None` per operand.
`batch`              a `BatchAxes` (axis size and name), operands, their batch axes (`None` if not
                     mapped) → result(s), batch axis (axes) of the result(s).
===================  ===============================================================================

Operations that carry programs may also define

===================  ===============================================================================
`linearize`          avals, which operands are active, params → a `Linearization`, where deriving it
                     from `jvp` would lose structure (`jit`, `scan`, …).
`process_eval`       The trace (at the root, of differentiation, of batching), operands, params →
`process_jvp`        result(s): for operations that run functions of the user, such as custom
`process_linearize`  derivatives, and so must see the operands themselves.
`process_batch`
`interpret`          operands → results by Python's control flow, in the current trace: what
                     diagnostics see of a loop or a branch, step by step.
`partition`          equation, `Demand` → `Partition`: what of the equation each of two passes does,
                     where that is more or less than the whole; see `core.partition`.
`discharge`          operands, with a `Cell` for each reference → result(s): the operation on the
                     values of references, which it looks up and replaces (see `core.discharge`).
`to_lojax`           operands, those of high types as values → result(s) (`core.high_types`).
`collect`            like `batch`, where the batch axis is one of `axis_names(params)`, over which
                     the operation communicates.
===================  ===============================================================================

A rule that cannot exist is declared with its reason, `jvp = not_differentiable("…")`.  A rule that
is simply missing fails the completeness test (`tests/core/test_completeness.py`), and a user who
meets it is told which method to write.

Rules are written in terms of other primitives and run while staging, on abstract operands; what
they write is remembered per signature (see `core.trace`).  `printed_params` chooses what the text
of an equation shows; `printed_equation`, a printer and an equation → a document, writes all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Self, final
from weakref import WeakSet

from ..util.memo import MemoTable, missing
from ..util.messages import message
from ..util.parameter_keys import params_key
from ..util.records import dataclass
from .abstract_sharding import AbstractSharding
from .abstract_value import AbstractValue, Operand, Param
from .aval import ShapedArray
from .axis_flow import AxisFlow, split_on_mesh
from .effects import Effects, no_effects
from .jaxpr import jaxprs_in_params
from .missing_rules import Rule, not_linear, undeclared
from .pending_sums import Groups, PendingSums, have_sums
from .trace import _current
from .values import in_own_dtypes


@final
@dataclass(frozen=True, slots=True)
class BatchAxes:
    """The mapped axis of one `vmap`.

    Args:
        size: the number of members.
        name: by which collectives may refer to it.
        sharding: how it is split over a mesh, as the sharding of a vector.
        spmd_names: the axes of a mesh over which constraints and programs of members split it.
        varies: the axes of a mesh over which batches vary, as members have different parts of them.
    """

    size: int
    name: Any = None
    sharding: AbstractSharding | None = None
    spmd_names: tuple[Hashable, ...] = ()
    varies: frozenset[Hashable] = frozenset()


_known: WeakSet[Primitive] = WeakSet()


def known_primitives() -> list[Primitive]:
    """All primitives that exist now, by name."""
    return sorted(_known, key=lambda primitive: primitive.name)


class Primitive:
    """Base of all primitives; see the module's text for the rules."""

    name: ClassVar[str]
    multiple_results: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    # Whether the parameters `name` and `jaxpr` are a call, printed with the caller's variables.
    is_call: ClassVar[bool] = False
    # Whether `lower` itself handles keys held as key data (`engines.xla.key_data_lowering`).
    lowers_key_data: ClassVar[bool] = False
    # The parameter whose program is all that it does outside of transformations.
    plain_program: ClassVar[str | None] = None
    # Whether it can be compiled for sizes that are numbers only.
    needs_numbers: ClassVar[bool] = False
    # What it does with arrays of keys: "draws" from its first operand, whose keys it uses up;
    # "makes" keys that are new; "joins" or else "moves" them.  See docs/design/key-reuse.md.
    key_use: ClassVar[str] = "moves"
    # How it is put together of programs, a `control.bodies.wiring.Wiring`.
    wiring: ClassVar[Any] = None
    # Operands may be of types that users define: then there is the rule `to_lojax`.
    takes_high_types: ClassVar[bool] = False
    only_transposed: ClassVar[bool] = False  # Whether it is only there to be transposed.
    # Whether its rules say themselves how results are on a mesh, as those with programs do.
    typed_on_mesh: ClassVar[bool] = False
    # Elements are made of those in their place ("alike"), are one "elsewhere", or of any (`None`).
    reads: ClassVar[str | None] = None
    # Whether result i is of operand i alone, so that operands may vary over different mesh axes.
    separate: ClassVar[bool] = False
    # Of a larger `size_by_loops` XLA has a kernel that is faster than loops.
    most_by_loops: ClassVar[int | None] = None
    quick: ClassVar[bool] = False  # Whether its one result is as quick to compute as to read.
    # The same where a program does it once: it takes less time than to call XLA's program.
    most_by_loops_once: ClassVar[int | None] = None
    # How loop programs do it on float16 and bfloat16, which they hold as float32: each result is
    # "rounded", or is "kept", for it is made of operands or of programs.  What says nothing is kept
    # if it moves, rounded if it is linear, and else "refused".
    narrow_in_loops: ClassVar[str | None] = None
    # Whether its rule for loop programs holds for complex numbers; what says nothing holds if it
    # holds for narrow floats, and does no operation that complex numbers do not have.
    complex_in_loops: ClassVar[bool | None] = None
    # Of its first operand a window is "read", or "changed", in place where a loop carries it.
    window_in_loops: ClassVar[str] = ""
    of_one_dtype: ClassVar[bool] = False  # Whether operands must be of one dtype.
    # Whether it may run the programs in its parameters again and again.
    repeats_programs: ClassVar[bool] = False
    # Sets of operands in which it is linear, those of a set together, if not in all or none.
    linear_sets: ClassVar[Groups | None] = None

    abstract_eval: Rule = undeclared("abstract_eval")
    evaluate: Rule = undeclared("evaluate")
    lower: Rule = undeclared("lower")
    jvp: Rule = undeclared("jvp")
    to_loops: Callable[..., Any] | None = None
    kernel: Callable[..., Callable[..., Any] | None] | None = None
    view: Callable[..., Callable[..., Any] | None] | None = None
    fused: Callable[..., str | None] | None = None
    folds: Callable[..., tuple[str, str, Sequence[int]]] | None = None
    moves: ClassVar[bool] = False
    windows: Callable[..., Any] | None = None
    composed: Callable[..., Any] | None = None
    program_in_place: Callable[..., Any] | None = None
    programs_in_loops: Callable[..., Any] | None = None
    execute: Callable[..., Any] | None = None
    interpret: Callable[..., Any] | None = None
    axis_flow: Callable[..., AxisFlow] | None = None
    linearize: Callable[..., Any] | None = None
    partition: Callable[..., Any] | None = None
    partial_eval: Callable[..., Any] | None = None
    process_jvp: Callable[..., Any] | None = None
    process_linearize: Callable[..., Any] | None = None
    process_batch: Callable[..., Any] | None = None
    process_eval: Callable[..., Any] | None = None
    discharge: Rule = undeclared("discharge")
    printed_equation: Callable[..., Any] | None = None
    collect: Rule = undeclared("collect")
    transpose: Rule = undeclared("transpose")
    batch: Rule = undeclared("batch")

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        primitive = super().__new__(cls)
        _known.add(primitive)
        return primitive

    def effects(self, **params: Param) -> Effects:
        return no_effects

    def typed(self, *avals: AbstractValue, **params: Param) -> tuple[Any, Effects]:
        """Aval(s) of the result(s), and effects."""
        return self.abstract_eval(*avals, **params), self.effects(**params)

    def axis_names(self, **params: Param) -> tuple[Hashable, ...]:
        """Names of mapped axes that the operation communicates over."""
        return ()

    def varies_over(self, names: frozenset[Hashable], **params: Param) -> frozenset[Hashable]:
        """The mesh axes that results vary over, if operands vary over `names`."""
        return names

    def additive(self, *avals: AbstractValue, **params: Param) -> Groups:
        """Sets of operands in which it is linear, those of a set together."""
        everything = [range(len(avals))] if self.linear or self.separate else []
        return everything if self.linear_sets is None else self.linear_sets

    def size_by_loops(self, *avals: Any) -> int:
        """What decides whether loops are fast: the elements of the first operand."""
        size: int = avals[0].size
        return size

    def decides_by_roundings(self, *avals: Any, **params: Param) -> bool:
        """Whether roundings decide what comes out, so that it is left to XLA, whose are JAX's."""
        return False

    def is_much_for_loops(self, *avals: Any, **params: Param) -> bool:
        """Whether it is so much that XLA is faster, whatever else a program does.

        What is known of an operation need not be found out by translation.
        """
        return False

    def gains_by_loops(self, *avals: Any, **params: Param) -> bool:
        """Whether loops are so much faster than XLA that programs with it may have larger arrays.

        What says how large it may be does not count then.
        """
        return False

    def runs_on(self, **params: Param) -> Sequence[Any]:
        """Shardings over the devices on which an equation says that its program runs."""
        return ()

    def bind(self, *operands: Operand, **params: Param) -> Any:
        """Apply the primitive in the current trace."""
        try:
            return _current.trace.process(self, operands, params)
        except TypeError:
            own = in_own_dtypes(operands) if self.of_one_dtype else None
            if own is None:
                raise
            return _current.trace.process(self, own, params)

    def to_lojax(self, *operands: Operand, **params: Param) -> Any:
        """The operation on values, some of which may be of types that users define."""
        return self.bind(*operands, **params)

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that the text of an equation shows, in their order."""
        return dict(sorted(params.items()))

    def get_bind_params(self, params: dict[str, Param]) -> dict[str, Any]:
        """The params with which an interpreter calls `bind` again, from those of an equation."""
        return params

    def __repr__(self) -> str:
        return self.name


class NoResults(Primitive):
    """Base of operations without results, which are there for their effects.

    A derivative passes them by, for the primal program has them.  A batch is acted upon as a whole.
    """

    multiple_results = True
    lowers_key_data = True
    transpose = not_linear("it has no results")

    def abstract_eval(self, *avals: AbstractValue, **params: Param) -> list[Any]:
        return []

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[list[Any], list[Any]]:
        self.bind(*primals, **params)
        return [], []

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[list[Any], list[Any]]:
        self.bind(*operands, **params)
        return [], []


Inferred = tuple[tuple[AbstractValue, ...], Effects]

# The results of an operation whose operands vary over different mesh axes, and are cast first.
operands_differ: Final[tuple[AbstractValue, ...]] = (AbstractValue(),)


def infer(
    primitive: Primitive, params: dict[str, Param], avals: tuple[AbstractValue, ...]
) -> Inferred:
    """Result avals and effects of one application; worked out once per signature.

    The avals are `operands_differ` if operands do not vary alike that must.
    """
    parameters = params_key(params) if params else ()
    if parameters is None:
        return _infer(primitive, params, avals)
    key = primitive, parameters, avals
    known = _inferred[key]
    if known is missing:
        return _inferred.add(key, _infer(primitive, params, avals))
    return known


def _infer(
    primitive: Primitive, params: dict[str, Param], avals: tuple[AbstractValue, ...]
) -> Inferred:
    is_on_mesh = any([aval.is_on_mesh for aval in avals])
    derives = is_on_mesh and not types_itself(primitive, params)
    if derives and not primitive.separate and _vary_differently(avals):
        return operands_differ, no_effects
    if any([aval.is_high for aval in avals]) and not primitive.takes_high_types:
        raise TypeError(_high_operands(primitive, avals))
    result, effects = primitive.typed(*avals, **params)
    results = tuple(result) if primitive.multiple_results else (result,)
    return (_on_mesh(primitive, params, avals, results) if derives else results), effects


def _high_operands(primitive: Primitive, avals: tuple[AbstractValue, ...]) -> str:
    return message(
        f"{primitive.name}",
        given=f"operands {', '.join(map(str, avals))}, of a type that a user has defined",
        expected="arrays",
        fix="Apply an operation of that type, which gives arrays.",
    )


def types_itself(primitive: Primitive, params: dict[str, Param]) -> bool:
    """Whether its rules say how results are on a mesh, as a program has it from its own rules."""
    if primitive.typed_on_mesh or primitive.axis_flow is not None:
        return primitive.typed_on_mesh
    return any(True for _ in jaxprs_in_params(params))


def _vary_differently(avals: tuple[Any, ...]) -> bool:
    """Whether an array varies over fewer axes than another operand, which may be a reference."""
    own = [aval.vma for aval in avals if type(aval) is ShapedArray]
    names = frozenset[Hashable]().union(*[getattr(aval, "vma", ()) for aval in avals])
    return any([varies != names for varies in own])


def _on_mesh(
    primitive: Primitive, params: dict[str, Param], avals: tuple[Any, ...], results: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Results that vary over the mesh axes that operands vary over, and are split as they are."""
    vary: list[frozenset[Hashable]] = [getattr(aval, "vma", frozenset()) for aval in avals]
    if not primitive.separate:
        varying = primitive.varies_over(frozenset().union(*vary), **params)
        vary = [varying] * len(results)
    results = tuple(
        [
            r.update(vma=over) if type(r) is ShapedArray else r
            for r, over in zip(results, vary, strict=True)
        ]
    )
    if all([getattr(aval, "split", None) is None for aval in avals]):
        return results
    flow = None if primitive.axis_flow is None else primitive.axis_flow(*avals, **params)
    results = split_on_mesh(primitive.name, flow, avals, results)
    if not have_sums(avals) or (flow is not None and flow.changes_mesh):
        return results
    contracts = flow is not None and flow.contracts

    def with_sums(operands: tuple[Any, ...], own: tuple[Any, ...]) -> tuple[Any, ...]:
        groups = partial(primitive.additive, *operands, **params)
        return PendingSums(primitive.name, operands, groups, contracts).of_results(own)

    if primitive.separate:
        each = zip(avals, results, strict=True)
        return tuple([with_sums((aval,), (r,))[0] for aval, r in each])
    return with_sums(avals, results)


_inferred: MemoTable[Inferred] = MemoTable()
