"""Calls of the library's functions, which write again what they have written before.

What such a function writes into a program depends on the avals of its operands, on its other
arguments and on the configuration.  So the equations of a call are kept, and the next call of the
signature copies them instead of running Python.  A call inside of another is not kept by itself: it
would cost more than it saves.  See docs/design/eager-replay.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, final

import numpy as np

from ..config import current as current_config
from ..dtypes.operands import times_warned
from ..util.compiled import twin_in
from ..util.contexts import replaced_attribute
from ..util.memo import MemoTable, missing
from ..util.parameter_keys import key_of
from .abstract_value import AbstractValue
from .atoms import Atom, Var
from .aval import ShapedArray
from .jaxpr import Equation, Jaxpr, make_template
from .sources import equation_source
from .staging import StagingTrace, StagingTracer, compiled
from .trace import Tracer, _current, current_name_stack
from .values import aval_of

_CONSTANTS = frozenset({bool, int, float, complex, str, NoneType})
# Constants that are larger are not kept, and so not what uses them.
_MOST_NUMBERS = 256
_MOST_NESTED = 4


@final
class RecordedCall:
    """What a call wrote.

    Args:
        jaxpr: of the call's operands.
        collect: makes the result of a list of arrays, `None` if it is one array.
    """

    __slots__ = ("collect", "is_plain", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, collect: Callable[[list[Any]], Any] | None) -> None:
        self.jaxpr = jaxpr
        self.collect = collect
        self.is_plain = False

    @property
    def remembered_weight(self) -> int:
        """See `util.memo`."""
        return self.jaxpr.remembered_weight

    def write(self, trace: StagingTrace, operands: Sequence[Atom]) -> Any:
        """Write it again; what the call gives."""
        if not self.is_plain:
            self.jaxpr = _without_lines(self.jaxpr)
            self.is_plain = True
        atoms = trace.copy(self.jaxpr, operands, equation_source(3))
        results = [StagingTracer(trace, a) for a in atoms]
        return results[0] if self.collect is None else self.collect(results)


Calls = MemoTable[RecordedCall | None]


def call_or_recorded(
    calls: Calls, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of a call of `function`, which looks at no number."""
    call = read_call(args, kwargs)
    if call is None:
        return function(*args, **kwargs)
    trace, key, operands = call
    known = calls[key]
    if known is None or (known is missing and _current.is_recording):
        return function(*args, **kwargs)
    if known is not missing:
        return known.write(trace, operands)
    equations, names = trace.equations, current_name_stack()
    start, warned = len(equations), times_warned()
    with recording():
        result = function(*args, **kwargs)
    # Equations do not tell an operand that is a number from other numbers.
    is_general = all([type(a) is Var for a in operands])
    # Who is warned of a dtype is warned at each line that asks for it.
    if is_general and times_warned() == warned:
        calls.add(key, _recorded(trace, equations[start:], names, operands, result))
    return result


def recording() -> replaced_attribute[bool]:
    """Context in which calls are not kept: they are parts of something that is."""
    return replaced_attribute(_current, "is_recording", True)


def is_recording() -> bool:
    """Whether calls are parts of something that is kept, or whose first call this is."""
    return _current.is_recording


@twin_in(compiled)
def read_call(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[StagingTrace, tuple[Any, ...], list[Atom]] | None:
    """The trace, the key and the operands of a call that may be known; `None` if it cannot be."""
    trace, config = _current.trace, current_config()
    if type(trace) is not StagingTrace or trace.ask is not None or config.debugs_execution:
        return None
    operands: list[Atom] = []
    signature = []
    for x in (*args, *kwargs.values()):
        signature.append(_read(trace, x, operands))
        if signature[-1] is None:
            return None
    axes = _current.axis_env and key_of(_current.axis_env)
    if axes is None:
        return None
    key = tuple(signature), tuple(kwargs), config.trace_key, axes, _repeats(operands)
    return trace, key, operands


def _repeats(operands: Sequence[Atom]) -> tuple[int, ...]:
    """Which operands are the same, by the place of the first; empty where all differ."""
    places: dict[Atom, int] = {}
    firsts = tuple([places.setdefault(a, i) for i, a in enumerate(operands)])
    return firsts if len(places) < len(operands) else ()


def _read(
    trace: StagingTrace, x: Any, operands: list[Atom], depth: int = 0
) -> tuple[Any, ...] | AbstractValue | None:
    """What equations depend on of an argument; operands are collected.

    The aval of a tracer of this program, the kind of a list or tuple and this of its members, the
    key of a constant in a tuple, and `None` for anything else.
    """
    kind = type(x)
    if kind is StagingTracer:
        if x._trace is not trace:
            return None
        operands.append(x.atom)
        return x.aval
    if kind is list or kind is tuple:
        if depth == _MOST_NESTED:
            return None
        members = [_read(trace, item, operands, depth + 1) for item in x]
        return None if None in members else (kind, len(members), *members)
    if kind in _CONSTANTS or isinstance(x, (type, np.dtype, np.generic)):
        key = key_of(x)
        return None if key is None else (key,)
    return None


def _recorded(
    trace: StagingTrace,
    equations: Sequence[Equation],
    names: tuple[str, ...],
    operands: Sequence[Any],
    result: Any,
) -> RecordedCall | None:
    """What a call wrote; `None` if that is more than equations of its operands."""
    several = isinstance(result, (tuple, list))
    results = result if several else [result]
    if not all([type(x) is StagingTracer and x._trace is trace for x in results]):
        return None
    if any([eqn.effects or eqn.name_stack != names for eqn in equations]):
        return None
    if not all([_has_numbers_for_sizes(v.aval) for v in operands]):
        return None
    outvars = tuple([x.atom for x in results])
    consts = _constants(trace, equations, operands, outvars)
    if consts is None:
        return None
    jaxpr = Jaxpr(
        invars=tuple(operands),
        outvars=outvars,
        eqns=tuple(equations),
        constvars=tuple(consts),
        consts=tuple(consts.values()),
    )
    return RecordedCall(jaxpr, getattr(result, "_make", type(result)) if several else None)


def _has_numbers_for_sizes(aval: AbstractValue) -> bool:
    return type(aval) is ShapedArray and all([type(n) is int for n in aval.shape])


def _constants(
    trace: StagingTrace,
    equations: Sequence[Equation],
    operands: Sequence[Atom],
    results: Sequence[Atom],
) -> dict[Var, Any] | None:
    """The constants that equations read; `None` if there are others than few numbers."""
    bound = {*operands, *[v for eqn in equations for v in eqn.outvars]}
    used = [a for eqn in equations for a in eqn.invars] + list(results)
    free = {a: None for a in used if type(a) is Var and a not in bound}
    if not free:
        return {}
    known = trace.constants()
    consts = {var: known.get(var) for var in free}
    return consts if all([_is_small(x) for x in consts.values()]) else None


def _is_small(constant: Any) -> bool:
    """Whether it is an array, of no program that is being written, and few numbers."""
    if isinstance(constant, Tracer):
        return False
    aval = aval_of(constant)
    return type(aval) is ShapedArray and aval.size <= _MOST_NUMBERS


def _without_lines(jaxpr: Jaxpr) -> Jaxpr:
    """The program with equations that belong to no line, ready to be copied."""
    eqns = [Equation(e.primitive, e.invars, e.outvars, e.params) for e in jaxpr.eqns]
    plain = jaxpr.replace(eqns=tuple(eqns))
    make_template(plain)
    return plain
