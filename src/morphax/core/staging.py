"""Staging: run a Python function on tracers and write down what it does as a jaxpr.

A `StagingTrace` stages every operation out, whatever its operands: numbers become literals, arrays
and tracers of outer traces become constants (one constant variable per object).  A constant that is
a tracer must be passed on as an operand by whoever stages; `stage` returns the constants apart for
that reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ..util.frames import user_frame
from .atoms import Atom, Literal, Var
from .aval import AbstractValue
from .jaxpr import DebugInfo, Equation, Jaxpr, joined_effects, unknown_function
from .primitive import Primitive, infer
from .trace import Trace, Tracer, _current, check_live, new_trace
from .values import aval_of

_LITERAL_TYPES = frozenset({bool, int, float, complex})


@final
class StagingTracer(Tracer):
    """A variable (or a literal) of the jaxpr that is being written."""

    __slots__ = ("atom", "aval")

    _trace: StagingTrace

    def __init__(self, trace: StagingTrace, atom: Atom) -> None:
        self._trace = trace
        self.atom = atom
        self.aval = atom.aval

    def origin(self) -> str:
        return self._trace.describe(self.atom)

    def dependence(self) -> str:
        if self.atom in self._trace.invars:
            return ""
        names = ", ".join(self._trace.arguments_behind(self.atom))
        return f", which depends on {names}," if names else ""


class StagingTrace(Trace):
    """Writes each application of a primitive as an equation."""

    __slots__ = ("_constants", "debug_info", "equations", "invars")

    def __init__(self, debug_info: DebugInfo = unknown_function) -> None:
        super().__init__(None)
        self.debug_info = debug_info
        self.invars: list[Var] = []
        self.equations: list[Equation] = []
        self._constants: dict[int, tuple[Var, Any]] = {}

    def new_argument(self, aval: AbstractValue) -> StagingTracer:
        var = Var(aval)
        self.invars.append(var)
        return StagingTracer(self, var)

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        lift = self.lift
        atoms = tuple(
            [x.atom if type(x) is StagingTracer and x._trace is self else lift(x) for x in operands]
        )
        out_avals, effects = infer(
            primitive, tuple(params.items()) if params else (), *[a.aval for a in atoms]
        )
        outvars = tuple([Var(aval) for aval in out_avals])
        frame = user_frame(3)
        self.equations.append(
            Equation(primitive, atoms, outvars, params, effects, frame, _current.name_stack)
        )
        if primitive.multiple_results:
            return [StagingTracer(self, var) for var in outvars]
        return StagingTracer(self, outvars[0])

    def splice(self, jaxpr: Jaxpr, operands: Sequence[Any]) -> list[Any]:
        """Copy the equations of `jaxpr` with its variables renamed; nothing is inferred anew."""
        env: dict[Atom, Atom] = dict(zip(jaxpr.invars, map(self.atom, operands), strict=True))
        if jaxpr.constvars:
            env.update(zip(jaxpr.constvars, map(self.lift, jaxpr.consts), strict=True))
        source, name_stack, append = user_frame(3), _current.name_stack, self.equations.append
        for eqn in jaxpr.eqns:
            invars = tuple([env.get(a, a) for a in eqn.invars])
            outvars = tuple([Var(v.aval) for v in eqn.outvars])
            env.update(zip(eqn.outvars, outvars, strict=True))
            append(
                Equation(
                    eqn.primitive, invars, outvars, eqn.params, eqn.effects, source, name_stack
                )
            )
        return [StagingTracer(self, env.get(a, a)) for a in jaxpr.outvars]

    def atom(self, x: Any) -> Atom:
        """The variable or literal that stands for `x` in this jaxpr."""
        return x.atom if type(x) is StagingTracer and x._trace is self else self.lift(x)

    def constant(self, value: Any) -> StagingTracer:
        return StagingTracer(self, self.lift(value))

    def lift(self, x: Any) -> Atom:
        """A value from outside as a literal or a constant variable."""
        if type(x) in _LITERAL_TYPES or isinstance(x, np.generic):
            return Literal(x, aval_of(x))
        known = self._constants.get(id(x))
        if known is None:
            if isinstance(x, Tracer):
                check_live(x)
            known = self._constants[id(x)] = (Var(aval_of(x)), x)
        return known[0]

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr with these results, without constants, and the constants."""
        outvars = tuple([self.atom(x) for x in outs])
        jaxpr = Jaxpr(
            invars=tuple(self.invars),
            outvars=outvars,
            eqns=tuple(self.equations),
            constvars=tuple([var for var, _ in self._constants.values()]),
            effects=joined_effects(self.equations),
            debug_info=self.debug_info,
        )
        return jaxpr, [value for _, value in self._constants.values()]

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
    with new_trace(trace):
        outs = function(*[trace.new_argument(aval) for aval in avals])
        return trace.finish(outs)


def call_program(
    primitive: Primitive, avals: Sequence[AbstractValue], params: dict[str, Any]
) -> Jaxpr:
    """The program that consists of one application of `primitive`."""
    out_avals, effects = infer(primitive, tuple(params.items()), *avals)
    invars = tuple([Var(aval) for aval in avals])
    outvars = tuple([Var(aval) for aval in out_avals])
    call = Equation(primitive, invars, outvars, params, effects)
    return Jaxpr(invars, outvars, (call,), effects=effects)


def close(jaxpr: Jaxpr, consts: Sequence[Any]) -> Jaxpr:
    """Give a staged jaxpr its constants."""
    return jaxpr.replace(consts=tuple(consts)) if consts else jaxpr


def constants_as_arguments(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its constants as leading operands."""
    return jaxpr.replace(constvars=(), consts=(), invars=jaxpr.constvars + jaxpr.invars)


def stage_with_operands(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_function,
) -> tuple[Jaxpr, list[Any]]:
    """Trace to a jaxpr whose leading operands are the tracers that `function` closes over.

    Other constants become part of the jaxpr.  This is what operations with a body (``jit``,
    ``scan``, …) need: the body itself must not refer to tracers of outer traces.
    """
    jaxpr, consts = stage(function, avals, debug_info)
    traced = [isinstance(c, Tracer) for c in consts]
    if not any(traced):
        return close(jaxpr, consts), []
    split = list(zip(jaxpr.constvars, consts, traced, strict=True))
    hoisted = jaxpr.replace(
        invars=tuple(var for var, _, t in split if t) + jaxpr.invars,
        constvars=tuple(var for var, _, t in split if not t),
        consts=tuple(value for _, value, t in split if not t),
    )
    return hoisted, [value for _, value, t in split if t]
