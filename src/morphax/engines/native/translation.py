"""From a jaxpr to what the native engine compiles: a loop program, and how it is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias, final
from weakref import WeakKeyDictionary

from ...core import DebugInfo, Jaxpr, ShapedArray, without_references
from ...core.dce import eliminate_dead_code
from ...dtypes import float0
from ...util.paused_collection import paused_collection
from ...util.records import dataclass
from ..engine import Options
from ..loops import LoopProgram, NotALoopProgram, loop_program
from ..loops.memory import with_shared_memory


@final
@dataclass(frozen=True, slots=True)
class NativeProgram:
    """A loop program with the recipe for calling it.

    Args:
        name: of the function.
        loops: the program.
        in_avals, out_avals: as the user sees them.
        kept: positions of the operands that it takes.
        donated: operands that a call gives away.
        unusable: donated operands that stay, for no result could have their memory.
        info: whose program it is.
    """

    name: str
    loops: LoopProgram
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    kept: tuple[int, ...]
    donated: tuple[int, ...]
    unusable: tuple[int, ...]
    info: DebugInfo


# What was translated for a verdict, and of which operands, is compiled next, and then forgotten.
_Translated: TypeAlias = dict[bool, tuple[tuple[int, ...], LoopProgram]]
_translated: WeakKeyDictionary[Jaxpr, _Translated] = WeakKeyDictionary()


def translated(jaxpr: Jaxpr, options: Options) -> NativeProgram:
    """The program of a jaxpr.

    Raises:
        NotALoopProgram: an operation or a dtype has no form of loops; the message names it.
    """
    plain = without_references(jaxpr)
    known = _translated.setdefault(jaxpr, {})
    if options.keep_unused not in known:
        live, used = eliminate_dead_code(plain)
        kept = tuple([i for i, on in enumerate(used) if on or options.keep_unused])
        with paused_collection():
            known[options.keep_unused] = kept, _loops(live, kept, jaxpr.debug_info)
    kept, loops = known[options.keep_unused]
    donated, unusable = _donations(plain, options.donated, kept)
    return NativeProgram(
        options.name,
        loops,
        plain.in_avals,
        plain.out_avals,
        kept,
        donated,
        unusable,
        jaxpr.debug_info,
    )


def forget(jaxpr: Jaxpr) -> None:
    """Let go of what was translated: it was compiled, or is not going to be."""
    _translated.pop(jaxpr, None)


def _loops(live: Jaxpr, kept: Sequence[int], info: DebugInfo) -> LoopProgram:
    entry = live.replace(invars=tuple([live.invars[i] for i in kept]))
    inputs = [f"operand{i}" for i in kept]
    outputs = [f"result{i}" for i in range(len(entry.outvars))]
    where = f"jit of {info.function}, compiled by the native engine"
    if float0 in [aval.dtype for aval in (*entry.in_avals, *entry.out_avals)]:
        raise NotALoopProgram(f"{where}: an operand or a result is of the dtype float0")
    program = loop_program(entry, "program", inputs, outputs, where=where, is_live=True)
    return with_shared_memory(program)


def _donations(
    jaxpr: Jaxpr, donated: Sequence[int], kept: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The donated operands whose memory a result of their size makes up for, and the others.

    One that is a result itself becomes that, unless there are two of it.
    """
    if not donated:
        return (), ()
    returned = Counter(jaxpr.outvars)
    free = Counter([_bytes(aval) for aval in jaxpr.out_avals])
    passed = frozenset(kept)
    usable, unusable = [], []
    for i in donated:
        size = _bytes(jaxpr.in_avals[i])
        if returned[jaxpr.invars[i]] > 1 or i not in passed:
            continue
        if free[size]:
            free[size] -= 1
            usable.append(i)
        else:
            unusable.append(i)
    return tuple(usable), tuple(unusable)


def _bytes(aval: Any) -> int:
    return int(aval.size * aval.dtype.itemsize)
