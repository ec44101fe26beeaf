"""From a jaxpr to a loop program."""

from __future__ import annotations

from collections.abc import Sequence

from ...config import current as current_config
from ...core import Jaxpr, without_references
from ...core.dce import eliminate_dead_code
from .accumulators import with_accumulators
from .builder import Builder
from .cleanup import without_dead_code
from .narrow import is_narrow
from .outer_memory import outer_buffer, received, sent
from .parts import without_complex
from .program import Buffer, Kind, LoopProgram
from .repeats import with_steps_found
from .values import Place


def loop_program(
    jaxpr: Jaxpr,
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    where: str = "loop program",
    has_vectors: bool = True,
    is_live: bool = False,
) -> LoopProgram:
    """The loop program that computes a jaxpr.

    Args:
        jaxpr: the program.
        name: of the function.
        inputs: names of its operands.
        outputs: names of its results.
        where: who asks, for errors.
        has_vectors: whether expensive operations get loops of their own, to become vectors, and
            sums memory of their own, to become registers.
        is_live: whether it is known that nothing in the program is dead.

    Raises:
        NotALoopProgram: an operation or a dtype has no form of loops.
    """
    if not is_live:
        jaxpr, _ = eliminate_dead_code(without_references(jaxpr))
    config = current_config()
    prepared = with_steps_found if has_vectors and config.find_repeated_steps else _as_it_is
    in_place = has_vectors and config.change_in_place
    b = Builder(where, name, has_vectors=has_vectors, changes_in_place=in_place, prepared=prepared)
    memory = b.writer
    given = [
        outer_buffer(b, text, aval, Kind.INPUT)
        for text, aval in zip(inputs, jaxpr.in_avals, strict=True)
    ]
    made = [
        outer_buffer(b, text, aval, Kind.OUTPUT)
        for text, aval in zip(outputs, jaxpr.out_avals, strict=True)
    ]
    read = zip(given, jaxpr.in_avals, strict=True)
    operands = [received(b, b.placed(x.shape, Place.whole(x)), aval) for x, aval in read]
    places = list(map(Place.whole, made))
    held = zip(places, jaxpr.out_avals, strict=True)
    results = b.inline(
        jaxpr, *operands, places=[None if is_narrow(aval) else place for place, aval in held]
    )
    for value, place, aval in zip(results, places, jaxpr.out_avals, strict=True):
        b.fusion.fill(place, sent(b, value, aval))
    kinds: dict[Kind, list[Buffer]] = {kind: [] for kind in Kind}
    for buffer in memory.ordinal:
        kinds[buffer.kind].append(buffer)
    program = LoopProgram(
        name,
        tuple(given),
        tuple(made),
        tuple(kinds[Kind.CONSTANT]),
        tuple(kinds[Kind.TEMPORARY]),
        tuple(memory.blocks[0].statements),
        tuple(b.callees),
    )
    if memory.has_complex:
        program = without_complex(program)
    live = without_dead_code(program)
    return with_accumulators(live) if has_vectors else live


def _as_it_is(jaxpr: Jaxpr) -> Jaxpr:
    """C is read by people, who know their program step by step."""
    return jaxpr
