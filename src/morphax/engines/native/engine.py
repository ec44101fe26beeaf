"""The native engine: programs of small steps, each as one function of machine code."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

from ...array import Array
from ...core import Atom, Equation, Jaxpr, Primitive, ShapedArray, call_program, without_references
from ...core.effects import DebugEffect, IOEffect, OrderedDebugEffect, OrderedIOEffect
from ...core.jaxpr import jaxprs_in_params
from ...runtime.membership import membership
from ...runtime.places import Places
from ...runtime.sharding import Sharding, SingleDeviceSharding
from ...util.threads import processors
from .. import loops, native
from ..build_events import COMPILING, LOWERING, reported
from ..engine import Engine, Options, Plan, Verdict
from ..programs_in_place import program_in_place_of
from ..xla.compilation import is_watched
from .compiler import fault_of_compiler
from .limits import MOST_OPERATIONS

_MOST_ELEMENTS: Final = 1 << 14
"""Larger arrays are better seen to by XLA, where its threads find processors to share them."""

_MOST_WHERE_LOOPS_GAIN: Final = 1 << 15
"""The same of programs with operations that XLA does slowly."""

_FEW_PROCESSORS: Final = 4

_MOST_ON_FEW_PROCESSORS: Final = 1 << 17
"""The same of these outside of loops, where there are not more: to start threads takes as long."""

_MOST_IN_LOOPS: Final = 1 << 17
"""The same of others in loops, which are judged by what their steps take."""

_MOST_ONCE: Final = 1 << 22
"""The same of others outside of loops, whose times are known best."""

_OF_CALLS: Final = frozenset((DebugEffect(), OrderedDebugEffect(), IOEffect(), OrderedIOEffect()))
"""Programs with these effects do one thing after the other, and are waited for."""


class NativeEngine(Engine):
    """Loops over memory, compiled by LLVM; for one CPU."""

    name = "native"

    def verdict(
        self,
        jaxpr: Jaxpr | None,
        place: Sharding,
        operations: float,
        options: Options | None = None,
    ) -> Verdict:
        if jaxpr is None or options is None:
            return Verdict(False, "it compiles whole programs")
        if options.cpu_engine == "xla":
            return Verdict(False, "jax_cpu_engine is 'xla'")
        if outside := _outside(jaxpr, place, options):
            return Verdict(False, outside)
        if options.cpu_engine == "native":
            return Verdict(True, "jax_cpu_engine is 'native'")
        doubt, in_loops = _doubt(jaxpr)
        if doubt:
            return Verdict(False, doubt)
        try:
            verdict: Verdict = native.judged(native.translated(jaxpr, options).loops, in_loops)
        except loops.NotALoopProgram as error:
            return Verdict(False, str(error))
        except RecursionError:
            # Writing loops takes more of Python's stack for each program within a program than
            # tracing and XLA's text do, so that users have not reached its limit yet.
            native.forget(jaxpr)
            return Verdict(False, "programs are nested too deep")
        if not verdict.accepts:
            native.forget(jaxpr)
        return verdict

    def compile(self, jaxpr: Jaxpr, places: Places, options: Options) -> Plan:
        """The plan of a program.

        Raises:
            NotALoopProgram: an operation or a dtype has no form of loops; the message names it.
        """
        with reported(LOWERING, f"jit({options.name})"):
            program = native.translated(jaxpr, options)
            native.forget(jaxpr)
        with reported(COMPILING, f"jit({options.name})"):
            return native.NativeExecutable(
                program, native.first_machine_code_of(program.loops), places
            )

    def evaluate(
        self,
        primitive: Primitive,
        operands: Sequence[Array],
        params: dict[str, Any],
        place: Sharding,
        committed: bool,
    ) -> list[Array]:
        jaxpr = call_program(primitive, tuple([x.aval for x in operands]), dict(params))
        places = Places.all_at(place, len(jaxpr.invars), len(jaxpr.outvars))
        return self.compile(jaxpr, places, Options(primitive.name)).run(operands, committed)


def _outside(jaxpr: Jaxpr, place: Sharding, options: Options) -> str:
    """Why a program is none for this engine, whatever its operations; empty if it may be."""
    if place.num_devices > 1 or membership() is not None:
        return "the program runs on several devices"
    if not isinstance(place, SingleDeviceSharding):
        return "the program runs on a mesh"
    if place.platform != "cpu":
        return f"the program runs on a {place.platform}"
    if is_watched():
        return "a function of the user's is to see what XLA compiles"
    if options.compiler:
        return "there are compiler options of XLA"
    plain = without_references(jaxpr)
    if not {effect for effect in plain.effects if not effect.vanishing} <= _OF_CALLS:
        return "the program has effects that are not those of calls of Python"
    if any([type(aval) is not ShapedArray for aval in (*plain.in_avals, *plain.out_avals)]):
        return "operands or results are no arrays"
    return ""


def _doubt(jaxpr: Jaxpr) -> tuple[str, int]:
    """Why a program is not even translated to be judged; empty if it is.

    And how many elements the largest array has that steps of its loops work on, if it is so large
    that they are judged by that.
    """
    if fault := fault_of_compiler():
        return fault, 0
    if not jaxpr.eqns and _largest_size(jaxpr) > _MOST_ELEMENTS:
        return "XLA hands on what it is given", 0
    programs, count, gains = [(jaxpr, False)], 0, False
    sizes = {False: 0, True: 0}  # the largest outside of loops, and in them
    while programs:
        program, is_repeated = programs.pop()
        count += len(program.eqns)
        if count > MOST_OPERATIONS:
            return f"the program has more than {MOST_OPERATIONS} operations", 0
        largest = _largest_worked_on(program) if is_repeated else _largest_size(program)
        sizes[is_repeated] = max(sizes[is_repeated], largest)
        for eqn in _unlike(program.eqns):
            own = program_in_place_of(eqn, "cpu")
            if doubt := (own is None and _doubt_of(eqn)) or _doubt_of_size(eqn, is_repeated):
                return doubt, 0
            gains = gains or (own is None and _gains(eqn))
            inner = _written(eqn) if own is None else [own]
            programs += [(x, is_repeated or eqn.primitive.repeats_programs) for x in inner]
    for is_repeated, size in sizes.items():
        if size > _most_elements(is_repeated, gains):
            return f"an array has {size} elements, which is much", 0
    return "", 0 if gains or sizes[True] <= _MOST_ELEMENTS else sizes[True]


def _written(eqn: Equation) -> Iterable[Jaxpr]:
    """The programs that an operation holds, as loops."""
    of_loops = eqn.primitive.programs_in_loops
    return jaxprs_in_params(eqn.params) if of_loops is None else of_loops(**eqn.params)


def _unlike(eqns: Sequence[Equation]) -> list[Equation]:
    """Equations, but one only of those that are judged alike.

    Programs have the same operations on the same avals again and again.  Those that have parameters
    are not compared.
    """
    kinds: dict[Hashable, Equation] = {}
    for eqn in eqns:
        kind = id(eqn) if eqn.params else (eqn.primitive, *[x.aval for x in eqn.invars])
        kinds.setdefault(kind, eqn)
    return list(kinds.values())


def _most_elements(is_repeated: bool, gains: bool) -> int:
    are_few = processors() <= _FEW_PROCESSORS
    if gains:
        return _MOST_ON_FEW_PROCESSORS if are_few and not is_repeated else _MOST_WHERE_LOOPS_GAIN
    if not is_repeated:
        return _MOST_ONCE
    return _MOST_IN_LOOPS if are_few else _MOST_ELEMENTS


def _gains(eqn: Equation) -> bool:
    """Whether an operation is one that XLA does slowly."""
    return eqn.primitive.gains_by_loops(*[x.aval for x in eqn.invars], **eqn.params)


def _doubt_of(eqn: Equation) -> str:
    """The same of an operation, programs that it holds left out."""
    primitive = eqn.primitive
    if "lower" in vars(primitive):
        return f"a user's rule lowers {primitive.name}"
    if primitive.to_loops is None:
        return f"{primitive.name} has no form of loops"
    avals = [x.aval for x in eqn.invars]
    if primitive.decides_by_roundings(*avals, **eqn.params):
        return f"{primitive.name} decides by roundings, which are XLA's"
    if primitive.is_much_for_loops(*avals, **eqn.params):
        return f"there is a large {primitive.name}"
    return ""


def _doubt_of_size(eqn: Equation, is_repeated: bool) -> str:
    """The same of the size of an operation, in a loop or not."""
    primitive = eqn.primitive
    most = primitive.most_by_loops
    if not is_repeated:
        most = primitive.most_by_loops_once or most
    if most is not None and not _gains(eqn):
        size = primitive.size_by_loops(*[x.aval for x in eqn.invars])
        if size > most:
            return f"{primitive.name} has the size {size}, which is much"
    return ""


def _largest_size(program: Jaxpr) -> int:
    """The number of elements of the largest array, those in programs of equations left out."""
    made = [v for eqn in program.eqns for v in eqn.outvars]
    return _largest([*program.invars, *program.constvars, *made])


def _largest_worked_on(program: Jaxpr) -> int:
    """The same of those that its equations work on, in each step of a loop."""
    return _largest([x for eqn in program.eqns for x in _worked_on(eqn)])


def _worked_on(eqn: Equation) -> Sequence[Atom]:
    """Operands and results but arrays of which a window is read, or changed in place."""
    window = eqn.primitive.window_in_loops
    operands = eqn.invars[1:] if window else eqn.invars
    return operands if window == "changed" else (*operands, *eqn.outvars)


def _largest(atoms: Sequence[Atom]) -> int:
    avals = {x.aval for x in atoms if isinstance(x.aval, ShapedArray)}
    return max([x.size for x in avals], default=0)


NATIVE: Final[NativeEngine] = NativeEngine()
