"""Forward mode: push tangents forward with primals.

For y = f(x) the trace carries pairs (x, ẋ) and computes ẏ = ∂f(x) ẋ.  The rule of each primitive is
staged once per signature into a fragment: primals and active tangents in, results and their active
tangents out.  A value without a tangent is not a tracer of this trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

from .. import dtypes
from ..core import (
    DebugInfo,
    Jaxpr,
    Operand,
    Param,
    Primitive,
    Tracer,
    Zero,
    aval_of,
    check_closed,
    current_trace,
    is_zero,
    memoize_fragment,
    note_concretised,
    stage_open,
    unknown_function,
    without_references,
)
from ..core.dce import eliminate_dead_code, holds_only_transposed
from ..core.trace import Trace
from ..lax.ground.linear_structure import instantiate
from ..lax.shape.resharding import tied

if TYPE_CHECKING:
    from ..core.call_with_rules import CallWithRules


class JVPFragment(NamedTuple):
    """A program with its tangents: which results have one."""

    jaxpr: Jaxpr
    out_active: tuple[bool, ...]


class PrimalTracer(Tracer):
    """A primal value that a trace of differentiation follows; it is as concrete as the value."""

    __slots__ = ("primal",)
    mode: ClassVar[str]
    differentiated = True

    primal: Any

    def get_referent(self) -> Any:
        return self.primal.get_referent() if isinstance(self.primal, Tracer) else self.primal

    def concrete(self) -> Any | None:
        if isinstance(self.primal, Tracer):
            return self.primal.concrete()
        note_concretised()
        return self.primal

    def number(self) -> Any | None:
        return self.primal.number() if isinstance(self.primal, Tracer) else self.concrete()

    def origin(self) -> str:
        if isinstance(self.primal, Tracer):
            return self.primal.origin()
        return f"a value under {self.mode}-mode differentiation"

    def dependence(self) -> str:
        return self.primal.dependence() if isinstance(self.primal, Tracer) else ""


@final
class JVPTracer(PrimalTracer):
    """A primal and its tangent."""

    __slots__ = ("tangent",)
    mode = "forward"

    def __init__(self, trace: JVPTrace, primal: Operand, tangent: Operand) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = aval_of(primal)

    def __repr__(self) -> str:
        note_concretised()
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


@final
class JVPTrace(Trace):
    """Gives each operation its tangent.

    Args:
        parent_trace: the trace that operations on primals and tangents go to.
        tag: what tells the transformation from others, for those who ask.
    """

    __slots__ = ("tag",)
    passes_numbers = True
    parent: Trace

    def __init__(self, parent_trace: Trace, tag: Any = None) -> None:
        super().__init__(parent_trace)
        self.tag = tag

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        active = tuple([type(x) is JVPTracer and x._trace is self for x in operands])
        if not any(active):
            return self.parent.process(primitive, operands, params)
        if primitive.process_jvp is not None:
            return primitive.process_jvp(self, operands, params)
        primals = [x.primal if a else x for x, a in zip(operands, active, strict=True)]
        tangents = [x.tangent for x, a in zip(operands, active, strict=True) if a]
        fragment = jvp_fragment(
            primitive, tuple(params.items()), tuple(map(aval_of, primals)), active
        )
        outs = self.wrap(fragment, self.parent.splice(fragment.jaxpr, [*primals, *tangents]))
        return outs if primitive.multiple_results else outs[0]

    def process_custom_call(
        self, call: CallWithRules, operands: Sequence[Operand]
    ) -> Sequence[Any]:
        if any([type(x) is JVPTracer and x._trace is self for x in operands]):
            return call.push(self, operands)
        return self.parent.process_custom_call(call, operands)

    def wrap(self, fragment: JVPFragment, results: Sequence[Any]) -> list[Any]:
        """Pair the results of a spliced fragment with their tangents."""
        tangents = iter(results[len(fragment.out_active) :])
        return [
            JVPTracer(self, primal, next(tangents)) if active else primal
            for primal, active in zip(results, fragment.out_active, strict=False)
        ]

    def split(self, x: Operand) -> tuple[Any, Any]:
        """Primal and tangent of a value, `Zero` if it has none."""
        if type(x) is JVPTracer and x._trace is self:
            return x.primal, x.tangent
        return x, Zero(aval_of(x).to_tangent_aval())


def apply_rule(
    primitive: Primitive,
    primals: Sequence[Operand],
    tangents: Sequence[Operand],
    params: dict[str, Param],
) -> tuple[list[Any], list[Any]]:
    """Results and tangents by the rule of a primitive, as lists, in the current trace."""
    if primitive.linear:
        outs = primitive.bind(*primals, **params)
        out_tangents = primitive.bind(*map(instantiate, tangents), **params)
    else:
        outs, out_tangents = primitive.jvp(primals, tangents, **params)
    if not primitive.multiple_results:
        outs, out_tangents = [outs], [out_tangents]
    pairs = zip(out_tangents, outs, strict=True)
    return list(outs), [_tangent_of(out, t) for t, out in pairs]


def _tangent_of(out: Operand, tangent: Operand) -> Any:
    """A tangent as further rules expect it: of the weak type of its primal, without float0."""
    if is_zero(tangent):
        return tangent
    aval = aval_of(tangent)
    return Zero(aval) if aval.dtype == dtypes.float0 else tied(tangent, aval_of(out))


@memoize_fragment
def jvp_fragment(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    active: tuple[bool, ...],
) -> JVPFragment:
    """The fragment of one primitive for one signature."""
    return _stage_with_tangents(
        lambda primals, tangents: apply_rule(primitive, primals, tangents, dict(params)),
        avals,
        active,
    )


def jvp_jaxpr(
    jaxpr: Jaxpr, active: tuple[bool, ...], forced: tuple[bool, ...] | None = None
) -> JVPFragment:
    """`open_jvp` of a program in which no rule of the user closes over a tracer."""
    fragment = open_jvp(jaxpr, active, forced)
    check_closed(fragment.jaxpr)
    return fragment


@memoize_fragment
def open_jvp(
    jaxpr: Jaxpr, active: tuple[bool, ...], forced: tuple[bool, ...] | None = None
) -> JVPFragment:
    """The program that computes `jaxpr` and its tangents.

    Args:
        jaxpr: the program.
        active: which operands have a tangent.
        forced: results that get a tangent even if it is zero.

    Returns:
        The program, which is open if a rule of the user closes over a tracer.
    """

    def function(primals: Sequence[Operand], tangents: Sequence[Operand]) -> Any:
        trace = JVPTrace(current_trace())
        pairs = zip(primals, tangents, strict=True)
        inputs = [p if is_zero(t) else JVPTracer(trace, p, t) for p, t in pairs]
        outs = [trace.split(out) for out in trace.splice(without_references(jaxpr), inputs)]
        must = forced or (False,) * len(outs)
        return [p for p, _ in outs], [
            instantiate(t) if on else t for (_, t), on in zip(outs, must, strict=True)
        ]

    fragment = _stage_with_tangents(function, jaxpr.in_avals, active, jaxpr.debug_info)
    if holds_only_transposed(fragment.jaxpr):
        # A tangent that nobody can compute must not be asked for where nobody needs it.
        return fragment._replace(jaxpr=eliminate_dead_code(fragment.jaxpr)[0])
    return fragment


def _stage_with_tangents(
    function: Any,
    avals: Sequence[Any],
    active: Sequence[bool],
    debug_info: DebugInfo = unknown_function,
) -> JVPFragment:
    tangent_avals = [a.to_tangent_aval() for a in avals]
    out_active: list[bool] = []

    def flat(*operands: Operand) -> list[Any]:
        given = iter(operands[len(avals) :])
        tangents = [
            next(given) if is_active else Zero(aval)
            for aval, is_active in zip(tangent_avals, active, strict=True)
        ]
        outs, out_tangents = function(operands[: len(avals)], tangents)
        out_active.extend([not is_zero(t) for t in out_tangents])
        return [*outs, *[t for t in out_tangents if not is_zero(t)]]

    active_avals = [t for t, is_active in zip(tangent_avals, active, strict=True) if is_active]
    jaxpr = stage_open(flat, [*avals, *active_avals], debug_info)
    return JVPFragment(jaxpr, tuple(out_active))
