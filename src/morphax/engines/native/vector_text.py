"""Writing loops of independent steps: as many together as a vector is wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .masked_steps import MaskedSteps
from .vector_loops import VectorLoop
from .vector_steps import VectorSteps

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter

# The rest of longer bodies, that fills no vector, is done in the loop.
_SHORT_BODY = 5


def write_vectors(p: StatementPrinter, plan: VectorLoop) -> None:
    """A loop of independent steps: as many together as a vector is wide."""
    counter, extent, width = plan.counter, plan.extent, plan.width
    whole, rest = extent - extent % width, extent % width
    body = MaskedSteps(p, plan) if plan.has_members else VectorSteps(p, plan)
    body.prepare()
    p.numbers.update(dict.fromkeys(plan.outer, 0))
    is_long = plan.has_members or len(plan.body) > _SHORT_BODY
    most = width if plan.has_members else 2 * width
    if rest and plan.is_repeatable and is_long and extent > most:
        p.loop(counter, str(extent), width, lambda: _limited(p, body, plan))
        rest = 0
    elif whole <= most:
        for start in range(0, whole, width):
            p.numbers[counter] = start
            body.write(width)
            del p.numbers[counter]
    else:
        p.loop(counter, str(whole), width, lambda: body.write(width))
    if rest:
        last = width if plan.is_repeatable else rest
        p.numbers[counter] = extent - last
        if last == 1:
            p.block(plan.body)
        else:
            body.write(last)
        del p.numbers[counter]
    for name in plan.outer:
        del p.numbers[name]


def write_steps(p: StatementPrinter, plan: VectorLoop, first: str, end: str) -> None:
    """The steps from one on up to another, whole vectors of them but at the end of the loop."""
    if plan.width == 1:
        p.loop(plan.counter, end, 1, lambda: p.block(plan.body), first=first)
        return
    body = MaskedSteps(p, plan) if plan.has_members else VectorSteps(p, plan)
    body.prepare()
    p.numbers.update(dict.fromkeys(plan.outer, 0))

    def steps() -> None:
        if plan.extent % plan.width:
            _limited(p, body, plan)
        else:
            body.write(plan.width)

    p.loop(plan.counter, end, plan.width, steps, first=first)


def _limited(p: StatementPrinter, body: VectorSteps, plan: VectorLoop) -> None:
    """Steps of a loop of which the last ones begin earlier, to fill a vector."""
    i, last = p.texts[plan.counter], plan.extent - plan.width
    p.texts[plan.counter] = p.new(f"call i64 @llvm.smin.i64(i64 {i}, i64 {last})")
    body.write(plan.width)
