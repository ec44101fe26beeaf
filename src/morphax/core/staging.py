"""Staging: run a Python function on tracers and write down what it does as a jaxpr.

A `StagingTrace` stages every operation out, whatever its operands: numbers become literals, arrays
and tracers of outer traces become constants (one constant variable per object).  A constant that is
a tracer must be passed on as an operand by whoever stages; `stage` returns the constants apart for
that reason.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ..config import current as current_config
from ..util.compiled import part, twin_in
from ..util.frames import UserFrame
from ..util.paused_collection import RareCollection
from .abstract_value import AbstractValue, Operand, Param
from .atoms import Atom, Literal, Var
from .captures import captures_as_operands
from .check import check_jaxpr
from .closing import close, close_open
from .debug_info import DebugInfo, unknown_function
from .high_tracer import HighTracer, note_states
from .jaxpr import Equation, Jaxpr, TemplateRow, joined_effects, make_template
from .operand_effects import types_in
from .primitive import Primitive, infer, operands_differ
from .references import AbstractRef, check_is_reference
from .sources import equation_source
from .trace import Trace, Tracer, _current, check_live, new_trace, set_current_trace
from .values import aval_of, computed, pinned, pinned_types, type_of_pinned
from .varying import varying_alike

if TYPE_CHECKING:
    from .call_with_rules import CallWithRules

compiled = part("staging")
# Programs of up to this many equations are taken for fragments, which are copied again and again.
_FRAGMENT_LENGTH = 16
# Types of values that become literals, those of NumPy's scalars apart; others may be added.
literalable_types: set[type] = {bool, int, float, complex, *pinned_types}


@final
class StagingTracer(Tracer):
    """A variable (or a literal) of the jaxpr that is being written."""

    __slots__ = ("atom",)

    _trace: StagingTrace

    def __init__(self, trace: StagingTrace, atom: Atom) -> None:
        self._trace = trace
        self.atom = atom
        self.aval = atom.aval

    def __repr__(self) -> str:
        return f"JitTracer({self.aval})"

    @property
    def val(self) -> Atom:
        """The variable or literal, under JAX's name."""
        return self.atom

    def number(self) -> Any | None:
        ask = self._trace.ask
        return None if ask is None else ask(self.atom)

    def origin(self) -> str:
        return self._trace.describe(self.atom)

    def dependence(self) -> str:
        if self.atom in self._trace.invars:
            return ""
        names = ", ".join(self._trace.arguments_behind(self.atom))
        return f", which depends on {names}," if names else ""


class StagingTrace(Trace):
    """Writes each application of a primitive as an equation.

    Attributes:
        ask: finds out the number behind a variable, where the operands have numbers already.
    """

    __slots__ = ("_constants", "ask", "debug_info", "equations", "invars", "states")
    stages = writes_all = True

    def __init__(self, debug_info: DebugInfo = unknown_function) -> None:
        super().__init__(None)
        self.debug_info = debug_info
        self.ask: Callable[[Atom], Any | None] | None = None
        self.invars: list[Var] = []
        self.equations: list[Equation] = []
        self._constants: dict[int, tuple[Var, Any]] = {}
        # The states of variables that the program has changed; see `core.high_types`.
        self.states: dict[Atom, Hashable] = {}

    def new_argument(self, aval: AbstractValue) -> StagingTracer:
        return StagingTracer(self, self.new_operand(aval))

    def new_operand(self, aval: AbstractValue) -> Var:
        """A further operand of the jaxpr, for those who write it by variables."""
        var = Var(aval)
        self.invars.append(var)
        return var

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        lift = self.lift
        atoms = tuple(
            [x.atom if type(x) is StagingTracer and x._trace is self else lift(x) for x in operands]
        )
        avals = tuple([a.aval for a in atoms])
        if self.states:
            avals = types_in(self.states, atoms)
        out_avals, effects = infer(primitive, params, avals)
        if out_avals is operands_differ:
            return self.process(primitive, varying_alike(operands), params)
        if effects:
            note_states(self.states, effects, operands, atoms)
        outvars = tuple([Var(aval) for aval in out_avals])
        source = equation_source(3)
        self.equations.append(
            Equation(primitive, atoms, outvars, params, effects, source, _current.name_stack)
        )
        if primitive.multiple_results:
            return [StagingTracer(self, var) for var in outvars]
        return StagingTracer(self, outvars[0])

    def process_custom_call(
        self, call: CallWithRules, operands: Sequence[Operand]
    ) -> Sequence[Any]:
        return call.stage(self, operands)

    def splice(self, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Any]:
        """Copy the equations of `jaxpr`; nothing is inferred anew."""
        atoms = [self.atom(x) for x in operands]
        outs = self.copy(jaxpr, atoms, equation_source(3))
        if jaxpr.effects:
            note_states(self.states, jaxpr.effects, operands, atoms)
        return [StagingTracer(self, a) for a in outs]

    def copy(self, jaxpr: Jaxpr, operands: Sequence[Atom], source: UserFrame | None) -> list[Atom]:
        """Copy the equations of `jaxpr` with its variables renamed.

        Args:
            jaxpr: the program.
            operands: variables or literals of this program for its operands.
            source: the line to which equations of no line belong.
        """
        if jaxpr.template is not None or len(jaxpr.eqns) <= _FRAGMENT_LENGTH:
            return self._copy_fragment(jaxpr, operands, source)
        env: dict[Atom, Atom] = dict(zip(jaxpr.invars, operands, strict=True))
        if jaxpr.constvars:
            env.update(zip(jaxpr.constvars, map(self.atom, jaxpr.consts), strict=True))
        for eqn in jaxpr.eqns:
            self.copy_equation(eqn, env, source)
        return [env.get(a, a) for a in jaxpr.outvars]

    def _copy_fragment(
        self, jaxpr: Jaxpr, operands: Sequence[Atom], source: UserFrame | None
    ) -> list[Atom]:
        """Copy a program that is copied often."""
        template = jaxpr.template or make_template(jaxpr)
        atoms = [*operands, *map(self.atom, jaxpr.consts), *template.literals]
        write_rows(template.rows, atoms, self.equations, source, _current.name_stack)
        return [atoms[i] for i in template.outs]

    def copy_equation(
        self, eqn: Equation, env: dict[Atom, Atom], source: UserFrame | None = None
    ) -> None:
        """Copy an equation; `env` maps its variables to those of this program."""
        outvars = tuple([Var(v.aval) for v in eqn.outvars])
        self.equations.append(
            Equation(
                eqn.primitive,
                tuple([env.get(a, a) for a in eqn.invars]),
                outvars,
                eqn.params,
                eqn.effects,
                eqn.source or source,
                _current.name_stack,
            )
        )
        env.update(zip(eqn.outvars, outvars, strict=True))

    def atom(self, x: Operand) -> Atom:
        """The variable or literal that stands for `x` in this jaxpr."""
        return x.atom if type(x) is StagingTracer and x._trace is self else self.lift(x)

    def constant(self, value: Operand) -> StagingTracer:
        return StagingTracer(self, self.lift(value))

    def lift(self, x: Operand) -> Atom:
        """A value that the program closes over, as a literal or a constant variable."""
        if type(x) in literalable_types or isinstance(x, np.generic):
            aval = aval_of(x)
            kind = type_of_pinned.get((type(x), aval))
            return Literal(pinned(x, aval) if kind is None else kind(x), aval)
        known = self._constants.get(id(x))
        if known is None:
            if isinstance(x, Tracer):
                check_live(x)
            if type(x) is StagingTracer and type(x.atom) is Literal:
                return x.atom  # a number of the program around this one
            if type(x) is HighTracer:
                return self.atom(x.content)
            if type(x) in computed:
                with set_current_trace(self):
                    return self.atom(computed[type(x)](x))
            aval = aval_of(x)
            if type(aval) is AbstractRef:
                check_is_reference(x)
            known = self._constants[id(x)] = (Var(aval), x)
        return known[0]

    def constants(self) -> dict[Var, Any]:
        """The values of the constant variables so far."""
        return dict(self._constants.values())

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr with these results, without constants, and the constants."""
        return self.finish_atoms([self.atom(x) for x in outs])

    def finish_atoms(self, outvars: Sequence[Atom]) -> tuple[Jaxpr, list[Any]]:
        """Like `finish`, for results that are variables or literals of the jaxpr."""
        constvars = tuple([var for var, _ in self._constants.values()])
        jaxpr = Jaxpr(
            invars=tuple(self.invars),
            outvars=tuple(outvars),
            eqns=tuple(self.equations),
            constvars=constvars,
            effects=joined_effects(self.equations, [*self.invars, *constvars]),
            debug_info=self.debug_info,
        )
        consts = [value for _, value in self._constants.values()]
        if current_config().enable_checks:
            check_jaxpr(close_open(jaxpr, consts))
        return jaxpr, consts

    def way_to_known(self) -> str:
        transform = self.debug_info.transform
        if transform == "checkpoint":
            return "mark the argument static (static_argnums of checkpoint)"
        if transform in ("scan", "while_loop") or transform.startswith("lax."):
            return "take it from outside of the function, if it is known there"
        return super().way_to_known()

    def describe(self, var: Atom) -> str:
        """A variable in the user's words: an argument by name, or the line that made it."""
        info = self.debug_info
        place = f"the function {info.function} traced by {info.transform}"
        if var in self.invars:
            return f"the argument {info.argument_name(self.invars.index(var))} of {place}"
        for eqn in self.equations:
            if var in eqn.outvars:
                return f"a result of {eqn.primitive} at {eqn.source} in {place}"
        return f"a constant of {place}"

    def arguments_behind(self, var: Atom) -> list[str]:
        """Names of the arguments that the value of a variable depends on."""
        behind = {var}
        for eqn in reversed(self.equations):
            if not behind.isdisjoint(eqn.outvars):
                behind.update(a for a in eqn.invars if type(a) is Var)
        name = self.debug_info.argument_name
        return [name(i) for i, v in enumerate(self.invars) if v in behind]


@twin_in(compiled)
def write_rows(
    rows: Sequence[TemplateRow],
    atoms: list[Atom],
    equations: list[Equation],
    source: UserFrame | None,
    names: tuple[str, ...],
) -> None:
    """Append the equations of a template to those of a program.

    Args:
        rows: the template's.
        atoms: what the rows number: operands, constants and literals; results are added.
        equations: of the program.
        source: the line to which equations of no line belong.
        names: the scopes that equations carry.
    """
    for eqn, places, avals in rows:
        outvars = tuple([Var(aval) for aval in avals])
        invars = tuple([atoms[i] for i in places])
        atoms += outvars
        line = eqn.source or source
        equations.append(
            Equation(eqn.primitive, invars, outvars, eqn.params, eqn.effects, line, names)
        )


def stage(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_function,
) -> tuple[Jaxpr, list[Any]]:
    """Trace `function` of flat operands to a jaxpr.

    Args:
        function: takes one operand per aval, returns a flat sequence of values.
        avals: of the operands.
        debug_info: whose program it is.

    Returns:
        The jaxpr, whose `consts` are still empty, and the values of its `constvars`.
    """
    trace = StagingTrace(debug_info)
    with RareCollection(), new_trace(trace):
        outs = function(*[trace.new_argument(aval) for aval in avals])
        return trace.finish(outs)


def apply_to(primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]) -> Any:
    """The results of a primitive, one or several, as a list."""
    results = primitive.bind(*operands, **params)
    return results if primitive.multiple_results else [results]


def call_program(
    primitive: Primitive, avals: Sequence[AbstractValue], params: dict[str, Param]
) -> Jaxpr:
    """The program that consists of one application of `primitive`."""
    out_avals, effects = infer(primitive, params, tuple(avals))
    if out_avals is operands_differ:
        return stage_closed(lambda *xs: apply_to(primitive, xs, params), avals)
    invars = tuple([Var(aval) for aval in avals])
    outvars = tuple([Var(aval) for aval in out_avals])
    call = Equation(primitive, invars, outvars, params, effects)
    return Jaxpr(invars, outvars, (call,), effects=effects)


def stage_closed(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_function,
) -> Jaxpr:
    """Trace to a jaxpr that holds its constants; arguments as for `stage`, errors of `close`."""
    return close(*stage(function, avals, debug_info))


def stage_open(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_function,
) -> Jaxpr:
    """Trace to a jaxpr whose constants may be tracers, as `close_open` says."""
    return close_open(*stage(function, avals, debug_info))


def stage_with_operands(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_function,
) -> tuple[Jaxpr, list[Any]]:
    """Trace to a jaxpr whose leading operands are the tracers and references closed over.

    Other constants become part of the jaxpr.  This is what operations with a body (``jit``,
    ``scan``, …) need: the body itself must not refer to tracers of outer traces.
    """
    # As `stage` does, whose frame would be one more where functions are nested.  So would be the
    # step from an object to its method, if that is written in Python.
    method: Any = type(function).__call__
    call = method.__get__(function) if type(method) is FunctionType else function
    trace = StagingTrace(debug_info)
    with RareCollection(), new_trace(trace):
        outs = call(*[trace.new_argument(aval) for aval in avals])
        jaxpr, consts = trace.finish(outs)
    consts = [_owned(c) if type(c) is np.ndarray else c for c in consts]
    return captures_as_operands(close_open(jaxpr, consts))


def _owned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that nobody changes, of an array that the user's function closes over."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy
