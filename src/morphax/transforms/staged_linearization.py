"""Linearization of staged programs: a jaxpr in, jaxprs out, no tracers in between.

The forward pass copies, for each equation, the forward program of its linearization, and notes on a
tape of variables what to do to tangents.  From the tape the linear program is written when somebody
asks for it, and so is its transpose (docs/design/tape.md).  All of them are one
pass over the equations; what an equation turns into is remembered per signature (see
`linearize.linearization`).

Primitives that run functions of the user (custom derivative rules) get tracers, as they do outside
of staged programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple, final

from ..core import (
    Atom,
    DebugInfo,
    Equation,
    Jaxpr,
    Literal,
    Operand,
    StagingTrace,
    StagingTracer,
    Var,
    attributed_to,
    close,
    close_open,
    infer,
    is_captured,
    memoize_fragment,
    new_trace,
    no_effects,
    without_references,
    without_source,
)
from ..core.trace import set_name_stack
from ..lax.ground.linear_structure import add_any_p, zeros
from ..util.frames import UserFrame
from ..util.records import dataclass
from .derived_residuals import divided, without_unused
from .linearize import Linearization, LinearizeTrace, LinearizeTracer, linearization
from .tape import Tape, TapeEntry
from .transposition import TransposeFragment


@memoize_fragment
def linearize_jaxpr(
    jaxpr: Jaxpr,
    active: tuple[bool, ...],
    forced: tuple[bool, ...] | None = None,
    *,
    derives: bool = False,
) -> Linearization:
    """The linearization of a whole program.

    The forward program, and the transpose, are open if a custom rule in the program closes over a
    tracer, see `close_open`: what the rule reads there is a constant of theirs, and a residual.

    Args:
        jaxpr: the program.
        active: which operands have a tangent.
        forced: results that get a tangent even if it is zero.
        derives: whether residuals that quickly follow from others are computed again.
    """
    writer = _ForwardWriter(without_references(jaxpr), active)
    writer.write()
    tape = writer.tape(forced or (False,) * len(jaxpr.outvars), derives)
    forward, consts = writer.finish(tape.residuals, tape.again)
    return Linearization(
        close_open(forward, consts),
        tape.linear,
        tuple([out is not None for out in tape.outs]),
        len(tape.residuals),
        transpose=tape.transposed,
    )


@final
class _ForwardWriter:
    """Writes the forward program, equation by equation.

    `atoms` maps the variables of the program to those of the forward program, `slots` those that
    have a tangent to its slot.
    """

    __slots__ = ("atoms", "inputs", "jaxpr", "slots", "staging", "trace")

    def __init__(self, jaxpr: Jaxpr, active: Sequence[bool]) -> None:
        self.jaxpr = jaxpr
        self.staging = staging = StagingTrace(jaxpr.debug_info)
        self.trace = LinearizeTrace(staging)
        self.atoms: dict[Atom, Atom] = {v: staging.new_operand(v.aval) for v in jaxpr.invars}
        self.atoms.update(zip(jaxpr.constvars, map(staging.lift, jaxpr.consts), strict=True))
        self.slots: dict[Atom, int] = {
            v: self.trace.tape.new_slot() for v, on in zip(jaxpr.invars, active, strict=True) if on
        }
        self.inputs = {slot: v.aval.to_tangent_aval() for v, slot in self.slots.items()}

    def write(self) -> None:
        """Write all of it; what `tape` and `finish` give is known then."""
        with new_trace(self.staging):
            for eqn in self.jaxpr.eqns:
                if eqn.name_stack:
                    with set_name_stack(eqn.name_stack):
                        self._write(eqn)
                else:
                    self._write(eqn)

    def _write(self, eqn: Equation) -> None:
        slots, staging = self.slots, self.staging
        active = tuple([a in slots for a in eqn.invars])
        if True not in active:
            staging.copy_equation(eqn, self.atoms)
            return
        if eqn.primitive.process_linearize is not None:
            self._run_rule(eqn)
            return
        rule = linearization(
            eqn.primitive, tuple(eqn.params.items()), tuple([a.aval for a in eqn.invars]), active
        )
        assert rule.forward is not None, "a rule splits the operation, it does not run it"
        atoms = self.atoms
        results = staging.copy(rule.forward, [atoms.get(a, a) for a in eqn.invars], eqn.source)
        for v, atom in zip(eqn.outvars, results, strict=False):
            atoms[v] = atom
        inputs = tuple([slots[a] for a in compress(eqn.invars, active)])
        residuals = results[len(rule.out_active) :]
        outputs = self.trace.tape.record(rule, residuals, inputs, eqn.source, eqn.name_stack)
        for v, slot in zip(compress(eqn.outvars, rule.out_active), outputs, strict=True):
            slots[v] = slot

    def _run_rule(self, eqn: Equation) -> None:
        """Apply a primitive that needs to see its operands as tracers."""
        staging, tape = self.staging, self.trace.tape
        operands = [self._tracer(a) for a in eqn.invars]
        assert eqn.primitive.process_linearize is not None, "this is what the caller looked for"
        before = len(tape.entries)
        with attributed_to(eqn.source):
            results = eqn.primitive.process_linearize(self.trace, operands, eqn.params)
        if not eqn.primitive.multiple_results:
            results = [results]
        for var, result in zip(eqn.outvars, results, strict=True):
            primal, slot = self.trace.split(result)
            self.atoms[var] = staging.atom(primal)
            if slot is not None:
                self.slots[var] = slot
        for entry in tape.entries[before:]:
            entry.residuals = [staging.atom(x) for x in entry.residuals]

    def _tracer(self, a: Atom) -> Any:
        """An operand as code outside of this file knows it."""
        atom = self.atoms.get(a, a)
        primal = atom.val if type(atom) is Literal else StagingTracer(self.staging, atom)
        slot = self.slots.get(a)
        return primal if slot is None else LinearizeTracer(self.trace, primal, slot)

    def tape(self, forced: Sequence[bool], derives: bool) -> StagedTape:
        """What the program does to tangents, without what no result depends on."""
        outs = [
            Output(self.slots.get(a), a.aval.to_tangent_aval()) if a in self.slots or must else None
            for a, must in zip(self.jaxpr.outvars, forced, strict=True)
        ]
        tape = self.trace.tape
        tape.keep_entries_of([out.slot for out in outs if out and out.slot is not None])
        constants = self.staging.constants()

        def is_constant(a: Var) -> bool:
            return a in constants and not is_captured(constants[a])

        read = [a for entry in tape.entries for a in entry.residuals if type(a) is Var]
        residuals = [a for a in dict.fromkeys(read) if not is_constant(a)]
        again: list[Equation] = []
        if derives:
            residuals, again = divided(self.staging.equations, residuals, is_constant)
        return StagedTape(
            tape=tape,
            residuals=residuals,
            again=again,
            constants=constants,
            inputs=self.inputs,
            outs=outs,
            debug_info=self.jaxpr.debug_info.of_derived(),
        )

    def finish(
        self, residuals: Sequence[Var], again: Sequence[Equation]
    ) -> tuple[Jaxpr, list[Any]]:
        """The forward program: results, then residuals; without what only `again` is to give."""
        staging = self.staging
        results = [*[self.atoms.get(a, a) for a in self.jaxpr.outvars], *residuals]
        if again:
            staging.equations = without_unused(staging.equations, again, results)
        return staging.finish_atoms(results)


class Output(NamedTuple):
    """The tangent of an active result: its slot, `None` if it is zero, and its aval."""

    slot: int | None
    aval: Any


@final
@dataclass(frozen=True, slots=True)
class StagedTape:
    """What a program does to tangents, in terms of the variables of its forward program.

    Args:
        tape: its linear programs; their residuals are variables or literals.
        residuals: the variables among these that are no constants, or stand for tracers.
        again: equations that give those of them that are not kept, from those that are.
        constants: the values of those that are.
        inputs: avals of the tangents of active operands, by slot.
        outs: the tangents of results, `None` for those that have none.
        debug_info: whose program it is.
    """

    tape: Tape
    residuals: list[Var]
    again: list[Equation]
    constants: dict[Var, Any]
    inputs: dict[int, Any]
    outs: list[Output | None]
    debug_info: DebugInfo

    @without_source
    def linear(self) -> Jaxpr:
        """The program residuals, tangents → tangents of the active results."""
        player = _OnVariables(self)
        staging = player.staging
        inputs: dict[int, Atom] = {
            slot: staging.new_operand(aval) for slot, aval in self.inputs.items()
        }
        with new_trace(staging):
            tangents = self.tape.push_forward(inputs, player)
            results = [
                staging.atom(zeros(out.aval)) if out.slot is None else tangents[out.slot]
                for out in self.outs
                if out is not None
            ]
        jaxpr, consts = staging.finish_atoms(results)
        return close(jaxpr, consts)

    @without_source
    def transposed(self, ct_active: tuple[bool, ...]) -> TransposeFragment:
        """The program residuals, active cotangents → cotangents of the active operands."""
        player = _OnVariables(self)
        staging = player.staging
        outs = [out for out in self.outs if out is not None]
        given: list[tuple[int | None, Atom]] = [
            (out.slot, staging.new_operand(out.aval))
            for out, on in zip(outs, ct_active, strict=True)
            if on
        ]
        with new_trace(staging):
            cotangents = self.tape.pull_back(given, player)
        results = [cotangents.get(slot) for slot in self.inputs]
        jaxpr, consts = staging.finish_atoms([ct for ct in results if ct is not None])
        active = [False] * len(self.residuals) + [ct is not None for ct in results]
        return TransposeFragment(close_open(jaxpr, consts), tuple(active))


@final
class _OnVariables:
    """Plays a tape into a program that is being written; all it deals with are variables of it.

    `known` maps residuals to the variables of that program.
    """

    __slots__ = ("constants", "known", "staging")

    def __init__(self, staged: StagedTape) -> None:
        self.staging = staging = StagingTrace(staged.debug_info)
        self.constants = staged.constants
        self.known: dict[Any, Atom] = {a: staging.new_operand(a.aval) for a in staged.residuals}
        for eqn in staged.again:
            for a in eqn.invars:
                if type(a) is Var and a not in self.known:
                    self._constant(a)
            staging.copy_equation(eqn, self.known)

    def push(self, entry: TapeEntry, tangents: Sequence[Atom]) -> list[Atom]:
        linear = entry.linearization.linear
        return self.staging.copy(linear, [*self._residuals(entry), *tangents], entry.source)

    def pull(
        self, entry: TapeEntry, cotangents: Sequence[Atom | None], place: UserFrame | None
    ) -> Sequence[Atom | None]:
        rule, residuals = entry.linearization, self._residuals(entry)
        if rule.pull is not None:
            with attributed_to(place):
                return self._pull_by_function(rule, residuals, cotangents)
        fragment = rule.transposed(tuple([ct is not None for ct in cotangents]))
        given = [ct for ct in cotangents if ct is not None]
        results = self.staging.copy(fragment.jaxpr, [*residuals, *given], place)
        return fragment.spread(results, rule.num_residuals)

    def _pull_by_function(
        self, rule: Linearization, residuals: Sequence[Atom], cotangents: Sequence[Atom | None]
    ) -> list[Atom | None]:
        """Let a function of the user turn cotangents of results into those of operands."""
        staging = self.staging
        values = [a.val if type(a) is Literal else StagingTracer(staging, a) for a in residuals]
        given = [None if ct is None else StagingTracer(staging, ct) for ct in cotangents]
        results = rule.pull_back(values, given)
        return [None if ct is None else staging.atom(ct) for ct in results]

    def add(self, x: Atom, y: Atom, place: UserFrame | None) -> Atom:
        aval = x.aval
        if aval is not y.aval:
            ((aval,), _) = infer(add_any_p, {}, (aval, y.aval))
        total = Var(aval)
        equation = Equation(add_any_p, (x, y), (total,), {}, no_effects, place)
        self.staging.equations.append(equation)
        return total

    def _residuals(self, entry: TapeEntry) -> list[Atom]:
        known = self.known
        return [known[a] if a in known else self._constant(a) for a in entry.residuals]

    def _constant(self, residual: Operand) -> Atom:
        """A residual that is a literal or a constant of the program."""
        if type(residual) is Literal:
            return residual
        atom = self.known[residual] = self.staging.lift(self.constants[residual])
        return atom
