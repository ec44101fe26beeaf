"""Linearization: run a program, and keep what its derivative needs.

f(x) and the linear map ẋ ↦ ∂f(x) ẋ come from one pass.  Each operation is split, once per
signature, into a *forward* program, which computes results and residuals, and a *linear* program of
residuals and tangents (`Linearization`).  The trace runs the forward programs and writes on a
*tape* which linear programs to apply to which residuals.  Played forwards the tape is the
derivative map; played backwards, with transposed programs, it is reverse mode.  See
docs/design/tape.md.

References: Radul, Paszke, Frostig, Johnson & Maclaurin, "You only linearize once: tangents
transpose to gradients", POPL 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, final

from ..core import (
    Jaxpr,
    Operand,
    Param,
    Primitive,
    StagingTrace,
    StagingTracer,
    Zero,
    attributed_to_running_line,
    aval_of,
    call_program,
    close_open,
    constants_as_arguments,
    current_trace,
    equation_source,
    is_zero,
    memoize_fragment,
    new_trace,
    note_concretised,
)
from ..core.partition import selected
from ..core.trace import Trace, current_name_stack
from .jvp import PrimalTracer, apply_rule
from .known_parts import known_equation
from .tape import Tape
from .transposition import TransposeFragment, open_transpose, transpose_fragment

if TYPE_CHECKING:
    from ..core.call_with_rules import CallWithRules

Transpose = Callable[[tuple[bool, ...]], TransposeFragment]


@final
class Linearization:
    """A program split into what depends on primals alone and what is linear in tangents.

    Args:
        forward: primals → results, then residuals; `None` where it has been run already.
        linear: residuals, then tangents of the active operands → tangents of the active results;
            or what makes that program when it is needed.
        out_active: which results have a tangent.
        num_residuals: how many residuals there are.
        pull: residuals, cotangents of the active results (`None` where zero) → cotangents of the
            active operands, where a function of the user replaces the transpose of `linear`.
        transpose: which results have a cotangent → the transpose of `linear`, where there is a
            shorter way to it.
    """

    __slots__ = (
        "_linear",
        "_towards",
        "_transpose",
        "_transposed",
        "forward",
        "num_residuals",
        "out_active",
        "pull",
    )

    def __init__(
        self,
        forward: Jaxpr | None,
        linear: Jaxpr | Callable[[], Jaxpr],
        out_active: tuple[bool, ...],
        num_residuals: int,
        pull: Callable[[Sequence[Any], Sequence[Any]], list[Any]] | None = None,
        *,
        transpose: Transpose | None = None,
    ) -> None:
        self.forward = forward
        self._linear = linear
        self.out_active = out_active
        self.num_residuals = num_residuals
        self.pull = pull
        self._transpose = transpose or self._transpose_linear
        self._transposed: dict[tuple[bool, ...], TransposeFragment] = {}
        self._towards: dict[tuple[bool, ...], Linearization] = {}

    @property
    def linear(self) -> Jaxpr:
        """Residuals, tangents of the active operands → tangents of the active results."""
        linear = self._linear
        if not isinstance(linear, Jaxpr):
            linear = self._linear = linear()
        return linear

    def transposed(self, ct_active: tuple[bool, ...]) -> TransposeFragment:
        """The transpose of `linear`, for cotangents of some results."""
        fragment = self._transposed.get(ct_active)
        if fragment is None:
            fragment = self._transposed[ct_active] = self._transpose(ct_active)
        return fragment

    def _transpose_linear(self, ct_active: tuple[bool, ...]) -> TransposeFragment:
        n = self.num_residuals
        linear = (False,) * n + (True,) * (len(self.linear.invars) - n)
        return open_transpose(self.linear, linear, ct_active)

    def towards(self, wanted: tuple[bool, ...]) -> Linearization:
        """The same on the way back, for the cotangents of some of the active operands alone."""
        known = self._towards.get(wanted)
        if known is None:
            known = self._towards[wanted] = Linearization(
                None,
                lambda: self.linear,
                self.out_active,
                self.num_residuals,
                None if self.pull is None else partial(_selected_of, self.pull, wanted),
                transpose=lambda ct_active: self.transposed(ct_active).towards(wanted),
            )
        return known

    def pull_back(
        self, residuals: Sequence[Operand], cotangents: Sequence[Operand]
    ) -> Sequence[Any]:
        """Cotangents of the active operands, `None` where they are zero."""
        if self.pull is not None:
            with attributed_to_running_line():
                return self.pull(residuals, cotangents)
        fragment = self.transposed(tuple([ct is not None for ct in cotangents]))
        given = [ct for ct in cotangents if ct is not None]
        results = current_trace().splice(fragment.jaxpr, [*residuals, *given])
        return fragment.spread(results, self.num_residuals)


def _selected_of(
    pull: Callable[..., list[Any]], wanted: tuple[bool, ...], *operands: Any
) -> list[Any]:
    return list(selected(pull(*operands), wanted))


@final
class PartialTrace(StagingTrace):
    """Stages what depends on its arguments; everything else goes to the parent at once.

    An operation that does both is staged as a whole, and its known part goes to the parent too.
    """

    __slots__ = ()
    writes_all = False
    parent: Trace

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent = parent

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        unknown = tuple([type(x) is StagingTracer and x._trace is self for x in operands])
        if True not in unknown:
            return self.parent.process(primitive, operands, params)
        if primitive.partial_eval is not None:
            return primitive.partial_eval(self, *operands, **params)
        return self.default_process_primitive(primitive, operands, params)

    def default_process_primitive(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        """Stage an operation of unknown operands; results that need none of these are computed."""
        staged = super().process(primitive, operands, params)
        unknown = tuple([type(x) is StagingTracer and x._trace is self for x in operands])
        if primitive.partition is None:
            return staged
        eqn = self.equations[-1]
        part = known_equation(eqn, unknown)
        if part is None:
            return staged
        values = dict(zip(eqn.invars, operands, strict=True))
        given = [values[a] for a in part.invars]
        results = self.parent.process(part.primitive, given, part.params)
        if not part.primitive.multiple_results:
            results = [results]
        known = dict(zip(part.outvars, results, strict=True))
        if not primitive.multiple_results:
            return known.get(eqn.outvars[0], staged)
        return [known.get(v, x) for v, x in zip(eqn.outvars, staged, strict=True)]

    def process_custom_call(
        self, call: CallWithRules, operands: Sequence[Operand]
    ) -> Sequence[Any]:
        if any([type(x) is StagingTracer and x._trace is self for x in operands]):
            return call.stage(self, operands)
        return self.parent.process_custom_call(call, operands)

    def splice(self, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Any]:
        return Trace.splice(self, jaxpr, operands)

    def constant(self, value: Operand) -> Any:
        return self.parent.constant(value)


def split_linear(
    parent: Trace, function: Callable[..., Any], tangents: Sequence[Operand]
) -> tuple[list[Any], tuple[bool, ...], Jaxpr, list[Any]]:
    """Run a jvp function with known primals, staging what depends on tangents.

    Args:
        parent: the trace in which what is known is computed.
        function: tangents → (results, tangents of the results), both lists.
        tangents: one per operand: `Zero`, or the aval of an active tangent.

    Returns:
        Results, which of them are active, the linear program and its residuals.
    """
    partial = PartialTrace(parent)
    with new_trace(partial):
        given = [t if is_zero(t) else partial.new_argument(t) for t in tangents]
        outs, out_tangents = function(given)
        out_active = tuple([not is_zero(t) for t in out_tangents])
        linear, residuals = partial.finish([t for t in out_tangents if not is_zero(t)])
    return outs, out_active, constants_as_arguments(linear), residuals


@memoize_fragment
def linearization(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    active: tuple[bool, ...],
) -> Linearization:
    """The linearization of one primitive for one signature."""
    named = dict(params)
    if primitive.linearize is not None:
        return primitive.linearize(avals, active, named)
    if primitive.linear and len(avals) == 1:
        own = _of_linear(primitive, named, avals)
        if own is not None:
            return own
    trace = StagingTrace()
    with new_trace(trace):
        primals = [trace.new_argument(aval) for aval in avals]
        tangents = [
            a.to_tangent_aval() if on else Zero(a.to_tangent_aval())
            for a, on in zip(avals, active, strict=True)
        ]
        outs, out_active, linear, residuals = split_linear(
            trace,
            lambda given: apply_rule(primitive, primals, given, named),
            tangents,
        )
        forward, consts = trace.finish([*outs, *residuals])
    return Linearization(close_open(forward, consts), linear, out_active, len(residuals))


def _of_linear(
    primitive: Primitive, params: dict[str, Param], avals: tuple[Any, ...]
) -> Linearization | None:
    """That of an operation linear in its one operand, which is its own derivative.

    What staging it would give, without staging; `None` where tangents are of other types.
    """
    program = call_program(primitive, avals, params)
    types = (*avals, *program.out_avals)
    if program.effects or any([aval.to_tangent_aval() != aval for aval in types]):
        return None

    def transpose(ct_active: tuple[bool, ...]) -> TransposeFragment:
        given = tuple(params.items())
        return transpose_fragment(primitive, given, avals, (True,), program.out_avals, ct_active)

    out_active = (True,) * len(program.out_avals)
    return Linearization(program, program, out_active, 0, transpose=transpose)


@final
class LinearizeTracer(PrimalTracer):
    """A primal value and the slot of its tangent on the tape."""

    __slots__ = ("slot",)
    mode = "reverse"

    def __init__(self, trace: LinearizeTrace, primal: Operand, slot: int) -> None:
        self._trace = trace
        self.primal = primal
        self.slot = slot
        self.aval = aval_of(primal)

    def __repr__(self) -> str:
        note_concretised()
        tangent = self.aval.to_tangent_aval().str_short()
        return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"


@final
class LinearizeTrace(Trace):
    """Computes primals in the parent and writes the derivative on the tape.

    Args:
        parent: computes primals.
        pushes: whether the tape will be played forwards, for operations that have rules for both.
    """

    __slots__ = ("pushes", "tape")
    passes_numbers = True
    parent: Trace

    def __init__(self, parent: Trace, pushes: bool = False) -> None:
        super().__init__(parent)
        self.tape = Tape()
        self.pushes = pushes

    def new_argument(self, primal: Operand) -> LinearizeTracer:
        return LinearizeTracer(self, primal, self.tape.new_slot())

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        active = tuple([type(x) is LinearizeTracer and x._trace is self for x in operands])
        if not any(active):
            return self.parent.process(primitive, operands, params)
        if primitive.process_linearize is not None:
            return primitive.process_linearize(self, operands, params)
        primals = [x.primal if a else x for x, a in zip(operands, active, strict=True)]
        rule = linearization(primitive, tuple(params.items()), tuple(map(aval_of, primals)), active)
        assert rule.forward is not None, "a rule splits the operation, it does not run it"
        results = self.parent.splice(rule.forward, primals)
        outs = self.record(rule, operands, results)
        return outs if primitive.multiple_results else outs[0]

    def process_custom_call(
        self, call: CallWithRules, operands: Sequence[Operand]
    ) -> Sequence[Any]:
        if any([type(x) is LinearizeTracer and x._trace is self for x in operands]):
            return call.record(self, operands)
        return self.parent.process_custom_call(call, operands)

    def record(
        self, rule: Linearization, operands: Sequence[Operand], results: Sequence[Any]
    ) -> list[Any]:
        """Write an entry; `results` are those of the forward program, residuals included."""
        inputs = tuple(
            [x.slot for x in operands if type(x) is LinearizeTracer and x._trace is self]
        )
        residuals = results[len(rule.out_active) :]
        place = equation_source(3), current_name_stack()
        slots = iter(self.tape.record(rule, residuals, inputs, *place))
        return [
            LinearizeTracer(self, x, next(slots)) if on else x
            for x, on in zip(results, rule.out_active, strict=False)
        ]

    def split(self, x: Operand) -> tuple[Any, int | None]:
        """Primal and slot of a value, no slot if it does not depend on the inputs."""
        if type(x) is LinearizeTracer and x._trace is self:
            return x.primal, x.slot
        return x, None
