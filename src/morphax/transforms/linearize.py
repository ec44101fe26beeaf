"""Linearization: run a program, and keep what its derivative needs.

f(x) and the linear map ẋ ↦ ∂f(x) ẋ come from one pass.  Each operation is split, once per
signature, into a *forward* program, which computes results and residuals, and a *linear* program of
residuals and tangents (`Linearization`).  The trace runs the forward programs and writes on a
*tape* which linear programs to apply to which residuals.  Played forwards the tape is the
derivative map; played backwards, with transposed programs, it is reverse mode.

References: Radul, Paszke, Frostig, Johnson & Maclaurin, "You only linearize once: tangents
transpose to gradients", POPL 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from ..core import (
    Jaxpr,
    Primitive,
    StagingTrace,
    StagingTracer,
    Trace,
    Var,
    Zero,
    aval_of,
    close,
    constants_as_arguments,
    current_trace,
    is_zero,
    new_trace,
    stage,
)
from ..lax.spine import add_tangents, instantiate
from ..util.memo import memoize, memoize_if_hashable
from .jvp import PrimalTracer, apply_rule
from .transposition import transpose_jaxpr


@final
@dataclass(frozen=True, slots=True)
class Linearization:
    """A program split into what depends on primals alone and what is linear in tangents.

    Args:
        forward: primals → results, then residuals; `None` where it has been run already.
        linear: residuals, then tangents of the active operands → tangents of the active results.
        out_active: which results have a tangent.
        num_residuals: how many residuals there are.
        pull: residuals, cotangents of the active results (`None` where zero) → cotangents of the
            active operands, where a function of the user replaces the transpose of `linear`.
    """

    forward: Jaxpr | None
    linear: Jaxpr
    out_active: tuple[bool, ...]
    num_residuals: int
    pull: Callable[[Sequence[Any], Sequence[Any]], list[Any]] | None = None

    def push_forward(self, residuals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the active results."""
        return current_trace().splice(self.linear, [*residuals, *map(instantiate, tangents)])

    def pull_back(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the active operands, `None` where they are zero."""
        if self.pull is not None:
            return self.pull(residuals, cotangents)
        n = self.num_residuals
        linear = (False,) * n + (True,) * (len(self.linear.invars) - n)
        fragment = transpose_jaxpr(
            self.linear, linear, tuple([ct is not None for ct in cotangents])
        )
        given = [ct for ct in cotangents if ct is not None]
        results = iter(current_trace().splice(fragment.jaxpr, [*residuals, *given]))
        return [next(results) if on else None for on in fragment.active[n:]]


@final
class PartialTrace(StagingTrace):
    """Stages what depends on its arguments; everything else goes to the parent at once."""

    __slots__ = ()
    parent: Trace

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent = parent

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        if any([type(x) is StagingTracer and x._trace is self for x in operands]):
            return super().process(primitive, operands, params)
        return self.parent.process(primitive, operands, params)

    def splice(self, jaxpr: Jaxpr, operands: Sequence[Any]) -> list[Any]:
        return Trace.splice(self, jaxpr, operands)


def split_linear(
    parent: Trace, function: Callable[..., Any], tangents: Sequence[Any]
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


@memoize_if_hashable
def linearization(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    active: tuple[bool, ...],
) -> Linearization:
    """The linearization of one primitive for one signature."""
    named = dict(params)
    if primitive.linearize is not None:
        return primitive.linearize(avals, active, named)  # type: ignore[no-any-return]
    trace = StagingTrace()
    with new_trace(trace):
        primals = [trace.new_argument(aval) for aval in avals]
        tangents = [
            a.to_tangent_aval() if on else Zero(a.to_tangent_aval())
            for a, on in zip(avals, active, strict=True)
        ]
        outs, out_active, linear, residuals = split_linear(
            trace, lambda given: apply_rule(primitive, primals, given, named), tangents
        )
        forward, consts = trace.finish([*outs, *residuals])
    return Linearization(close(forward, consts), linear, out_active, len(residuals))


@final
@dataclass(frozen=True, slots=True)
class TapeEntry:
    """One linear program on the tape, with its residuals and the slots of its tangents."""

    linearization: Linearization
    residuals: Sequence[Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@final
class Tape:
    """What a linearized program does to tangents, operation by operation.

    Each tangent has a numbered slot.
    """

    __slots__ = ("entries", "num_slots")

    def __init__(self) -> None:
        self.entries: list[TapeEntry] = []
        self.num_slots = 0

    def new_slot(self) -> int:
        self.num_slots += 1
        return self.num_slots - 1

    def push_forward(self, inputs: dict[int, Any]) -> dict[int, Any]:
        """Tangents of all slots from those of the inputs; a missing slot is zero."""
        tangents = dict(inputs)
        for entry in self.entries:
            if not any(slot in tangents for slot in entry.inputs):
                continue
            avals = entry.linearization.linear.in_avals[entry.linearization.num_residuals :]
            given = [
                tangents[slot] if slot in tangents else Zero(aval)
                for slot, aval in zip(entry.inputs, avals, strict=True)
            ]
            outs = entry.linearization.push_forward(entry.residuals, given)
            tangents.update(zip(entry.outputs, outs, strict=True))
        return tangents

    def pull_back(self, outputs: dict[int, Any]) -> dict[int, Any]:
        """Cotangents of the inputs from those of the outputs; a missing slot is zero."""
        cotangents = dict(outputs)
        for entry in reversed(self.entries):
            outs = [cotangents.pop(slot, None) for slot in entry.outputs]
            if all(ct is None for ct in outs):
                continue
            for slot, ct in zip(
                entry.inputs, entry.linearization.pull_back(entry.residuals, outs), strict=True
            ):
                if ct is not None:
                    known = cotangents.get(slot)
                    cotangents[slot] = ct if known is None else add_tangents(known, ct)
        return cotangents


@final
class LinearizeTracer(PrimalTracer):
    """A primal value and the slot of its tangent on the tape."""

    __slots__ = ("slot",)
    mode = "reverse"

    def __init__(self, trace: LinearizeTrace, primal: Any, slot: int) -> None:
        self._trace = trace
        self.primal = primal
        self.slot = slot
        self.aval = aval_of(primal)


@final
class LinearizeTrace(Trace):
    """Computes primals in the parent and writes the derivative on the tape."""

    __slots__ = ("tape",)
    parent: Trace

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.tape = Tape()

    def new_argument(self, primal: Any) -> LinearizeTracer:
        return LinearizeTracer(self, primal, self.tape.new_slot())

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
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

    def record(
        self, rule: Linearization, operands: Sequence[Any], results: Sequence[Any]
    ) -> list[Any]:
        """Write an entry; `results` are those of the forward program, residuals included."""
        count = len(rule.out_active)
        if not any(rule.out_active):
            return list(results[:count])
        outs = [
            self.new_argument(x) if on else x
            for x, on in zip(results, rule.out_active, strict=False)
        ]
        inputs = tuple(
            [x.slot for x in operands if type(x) is LinearizeTracer and x._trace is self]
        )
        outputs = tuple([x.slot for x, on in zip(outs, rule.out_active, strict=True) if on])
        self.tape.entries.append(TapeEntry(rule, results[count:], inputs, outputs))
        return outs

    def split(self, x: Any) -> tuple[Any, int | None]:
        """Primal and slot of a value, no slot if it does not depend on the inputs."""
        if type(x) is LinearizeTracer and x._trace is self:
            return x.primal, x.slot
        return x, None


@memoize
def linearize_jaxpr(
    jaxpr: Jaxpr, active: tuple[bool, ...], forced: tuple[bool, ...] | None = None
) -> Linearization:
    """The linearization of a whole program.

    Args:
        jaxpr: the program.
        active: which operands have a tangent.
        forced: results that get a tangent even if it is zero.
    """
    staging = StagingTrace(jaxpr.debug_info)
    with new_trace(staging):
        trace = LinearizeTrace(staging)
        arguments = [staging.new_argument(aval) for aval in jaxpr.in_avals]
        tracers = [
            trace.new_argument(x) if on else x for x, on in zip(arguments, active, strict=True)
        ]
        outs = [trace.split(x) for x in trace.splice(jaxpr, tracers)]
        residuals = _staged_residuals(trace.tape)
        forward, consts = staging.finish([*[p for p, _ in outs], *residuals])
    inputs = {x.slot: x.aval.to_tangent_aval() for x in tracers if type(x) is LinearizeTracer}
    must = forced or (False,) * len(outs)
    out_active = tuple([s is not None or on for (_, s), on in zip(outs, must, strict=True)])
    tangents = [
        Zero(aval_of(p).to_tangent_aval()) if slot is None else slot
        for (p, slot), on in zip(outs, out_active, strict=True)
        if on
    ]
    linear = _stage_tape(trace.tape, residuals, inputs, tangents)
    return Linearization(close(forward, consts), linear, out_active, len(residuals))


def _staged_residuals(tape: Tape) -> list[Any]:
    """The residuals that are variables of the forward program, each once."""
    found = {x.atom: x for entry in tape.entries for x in entry.residuals if _is_variable(x)}
    return list(found.values())


def _is_variable(x: Any) -> bool:
    return type(x) is StagingTracer and type(x.atom) is Var


def _substituted(x: Any, known: dict[Any, Any]) -> Any:
    """A residual of the forward program, as the linear program sees it."""
    if type(x) is not StagingTracer:
        return x
    return known[x.atom] if type(x.atom) is Var else x.atom.val


def _stage_tape(
    tape: Tape, residuals: Sequence[Any], inputs: dict[int, Any], outs: Sequence[int | Zero]
) -> Jaxpr:
    """The tape as a program of residuals and tangents; `inputs` maps slots to tangent avals."""

    def function(*values: Any) -> list[Any]:
        known = {x.atom: v for x, v in zip(residuals, values, strict=False)}
        replayed = Tape()
        replayed.entries = [
            TapeEntry(
                entry.linearization,
                [_substituted(x, known) for x in entry.residuals],
                entry.inputs,
                entry.outputs,
            )
            for entry in tape.entries
        ]
        tangents = replayed.push_forward(dict(zip(inputs, values[len(residuals) :], strict=True)))
        return [instantiate(out) if isinstance(out, Zero) else tangents[out] for out in outs]

    jaxpr, consts = stage(function, [*[x.aval for x in residuals], *inputs.values()])
    return close(jaxpr, consts)
