"""The equation of a function with a batching rule of the user, and what becomes of the rule.

The equation holds the function as a program and the rule as a *flat rule*, a function of leaves:

    (axis size, which operands are batched, operands) → (results, which results are batched)

with batch axes in front.  Derivatives keep both in step: the derivative of the equation is an
equation whose program is the derivative of the program and whose rule is the derivative of the
rule.  For reverse mode the residuals are the operands themselves, for program and rule need not
have other residuals in common; what is left of the function is recomputed.  See
``docs/design/collectives.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ... import dtypes, tree
from ...core import (
    BatchAxes,
    Equation,
    Operand,
    Param,
    UndefinedPrimal,
    Zero,
    aval_of,
    call_program,
    current_trace,
    is_undefined_primal,
    is_zero,
    new_trace,
    set_current_trace,
    stage,
)
from ...core.partition import Demand, Partition, selected, whole
from ...lax.ground.linear_structure import batched_first, instantiate, moved_axis
from ...transforms.batching import BatchTrace, batched_aval
from ...transforms.jvp import JVPTrace, JVPTracer, jvp_jaxpr
from ...transforms.known_parts import known_program
from ...transforms.linearize import Linearization
from ...transforms.transposition import backward_pass, transpose_jaxpr
from ...tree import PyTreeDef
from ...util.records import dataclass
from ..bodies.division import applied
from ..calls import split_tangents
from ..program_call import ProgramCall

FlatRule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


@final
class CustomVmapCall(ProgramCall):
    """Apply `call`; batch by the user's rule.

    Params:
        call: the function, first of the values that it closes over, then of its arguments.
        rule: the flat rule.
        in_tree, out_tree: structures of (values closed over, arguments) and of the result.
    """

    name = "custom_vmap_call"
    program = "call"

    def process_batch(
        self, trace: BatchTrace, operands: Sequence[Operand], params: dict[str, Param]
    ) -> list[Any]:
        pairs = [trace.split(x) for x in operands]
        with set_current_trace(trace.parent):
            outs, batched = params["rule"](
                trace.axes.size,
                [dim is not None for _, dim in pairs],
                [x if dim is None else moved_axis(x, dim, 0) for x, dim in pairs],
            )
        return [trace.wrap(x, 0 if on else None) for x, on in zip(outs, batched, strict=True)]

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[list[Any], list[Any]]:
        active = tuple([not is_zero(t) for t in tangents])
        given = [t for t in tangents if not is_zero(t)]
        pushed, out_active = _derivative(active, params)
        results = self.bind(*primals, *given, **pushed)
        return split_tangents(results, out_active, params["call"].out_avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        forward = call_program(self, avals, params)
        pushed, out_active = _derivative(active, params)
        linear = call_program(self, pushed["call"].in_avals, pushed)
        count = len(forward.outvars)
        return Linearization(
            forward=forward.replace(outvars=forward.outvars + forward.invars),
            linear=linear.replace(outvars=linear.outvars[count:]),
            out_active=out_active,
            num_residuals=len(avals),
        )

    def transpose(self, cts: Sequence[Operand], *operands: Operand, **params: Param) -> list[Any]:
        call, rule = params["call"], params["rule"]
        linear = tuple([is_undefined_primal(x) for x in operands])
        ct_active = tuple([not is_zero(ct) for ct in cts])
        known = [x for x in operands if not is_undefined_primal(x)]
        given = [ct for ct in cts if not is_zero(ct)]
        is_known = tuple([not on for on in linear])
        results = self.bind(
            *known,
            *given,
            call=transpose_jaxpr(call, linear, ct_active, True).jaxpr,
            rule=TransposedRule(rule, linear, ct_active, call.in_avals),
            in_tree=_pair(params["in_tree"], is_known, params["out_tree"], ct_active),
            out_tree=_present(params["in_tree"], linear),
        )
        cotangents = iter(results)
        return [next(cotangents) if on else None for on in linear]

    def partition(self, eqn: Equation, demand: Demand) -> Partition:
        """The known part is the function without its tangents; other parts have no rule."""
        rule, unknown = eqn.params["rule"], demand.unknown
        if not (unknown and isinstance(rule, DerivativeRule)) or any(unknown[: len(rule.active)]):
            return whole(eqn, demand)
        call, count = eqn.params["call"], len(rule.active)
        results = tuple([i < len(rule.out_active) for i in range(len(call.outvars))])
        program = known_program(call, tuple([i >= count for i in range(len(unknown))]), results)
        if program.results != results:
            return whole(eqn, demand)
        named = {
            "call": program.jaxpr,
            "rule": rule.rule,
            "in_tree": eqn.params["in_tree"].children()[0],
            "out_tree": eqn.params["out_tree"].children()[0],
        }
        outvars = selected(eqn.outvars, results)
        return Partition((applied(eqn, eqn.invars[:count], outvars, named),), (eqn,))


custom_vmap_call_p = CustomVmapCall()


def _derivative(
    active: tuple[bool, ...], params: dict[str, Param]
) -> tuple[dict[str, Any], tuple[bool, ...]]:
    """Parameters of the equation for results and tangents; which results have a tangent.

    All that can have one do, for the rule may depend on more than the function does.
    """
    call, in_tree, out_tree = params["call"], params["in_tree"], params["out_tree"]
    out_active = tuple([a.to_tangent_aval().dtype != dtypes.float0 for a in call.out_avals])
    everything = (True,) * len(active)
    return {
        "call": jvp_jaxpr(call, active, out_active).jaxpr,
        "rule": DerivativeRule(params["rule"], active, out_active),
        "in_tree": _pair(in_tree, everything, in_tree, active),
        "out_tree": _pair(out_tree, (True,) * len(out_active), out_tree, out_active),
    }, out_active


def _present(structure: PyTreeDef, present: Sequence[bool]) -> Any:
    """A structure with `None` for leaves that are absent."""
    return tree.structure(structure.unflatten([0 if on else None for on in present]))


def _pair(first: Any, first_present: Any, second: Any, second_present: Any) -> Any:
    return tree.treedef_tuple([_present(first, first_present), _present(second, second_present)])


@final
@dataclass(frozen=True, slots=True)
class DerivativeRule:
    """The rule of (primals, active tangents) → (results, their tangents)."""

    rule: FlatRule
    active: tuple[bool, ...]
    out_active: tuple[bool, ...]

    def __repr__(self) -> str:
        return f"derivative of {self.rule!r}"

    def __call__(
        self, size: int, batched: Sequence[bool], operands: Sequence[Operand]
    ) -> tuple[list[Any], list[bool]]:
        count, axes = len(self.active), BatchAxes(size)
        flags = list(batched[:count])
        tangents = iter(zip(operands[count:], batched[count:], strict=True))
        trace = JVPTrace(current_trace())
        inputs = list(operands[:count])
        for i, on in enumerate(self.active):
            if on:
                tangent, tangent_batched = next(tangents)
                both = flags[i] or tangent_batched
                primal = _in_front(axes, inputs[i], flags[i]) if both else inputs[i]
                tangent = _in_front(axes, tangent, tangent_batched) if both else tangent
                inputs[i], flags[i] = JVPTracer(trace, primal, tangent), both
        with new_trace(trace):
            outs, out_flags = self.rule(size, flags, inputs)
        pairs = [trace.split(x) for x in outs]
        results = [p for p, _ in pairs]
        pushed = [instantiate(t) for (_, t), on in zip(pairs, self.out_active, strict=True) if on]
        kept = [b for b, on in zip(out_flags, self.out_active, strict=True) if on]
        return results + pushed, out_flags + kept


@final
@dataclass(frozen=True, slots=True)
class TransposedRule:
    """The rule of (known operands, active cotangents) → cotangents of the linear operands.

    Every member has cotangents of its own, so a linear operand counts as batched.
    """

    rule: FlatRule
    linear: tuple[bool, ...]
    ct_active: tuple[bool, ...]
    avals: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"transpose of {self.rule!r}"

    def __call__(
        self, size: int, batched: Sequence[bool], operands: Sequence[Operand]
    ) -> tuple[list[Any], list[bool]]:
        axes = BatchAxes(size)
        given = iter(zip(operands, batched, strict=True))
        inputs: list[Any] = []
        flags: list[bool] = []
        for aval, on in zip(self.avals, self.linear, strict=True):
            linear = (UndefinedPrimal(batched_aval(aval, 0, axes)), True)
            x, flag = linear if on else next(given)
            inputs.append(x)
            flags.append(flag)

        def forward(*values: Operand) -> list[Any]:
            outs, out_flags = self.rule(size, flags, values)
            return [_in_front(axes, x, flag) for x, flag in zip(outs, out_flags, strict=True)]

        jaxpr, consts = stage(
            forward, [x.aval if is_undefined_primal(x) else aval_of(x) for x in inputs]
        )
        cts = [
            _in_front(axes, *next(given)) if on else Zero(aval.to_tangent_aval())
            for aval, on in zip(jaxpr.out_avals, self.ct_active, strict=True)
        ]
        results = backward_pass(jaxpr.replace(consts=tuple(consts)), inputs, cts)
        found = [instantiate(ct) for ct, on in zip(results, self.linear, strict=True) if on]
        return found, [True] * len(found)


def _in_front(axes: BatchAxes, x: Operand, batched: bool) -> Any:
    return batched_first(axes, x, 0 if batched else None)
