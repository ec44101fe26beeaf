"""The primitive `step_limit`: raise an error, when the program runs, if a loop was too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

from ...array import Array
from ...core import NoResults, Operand, Param, ShapedArray
from ...core.effects import DebugEffect, Effects
from ...engines import loops
from ...engines.callbacks import call_python, call_python_in_loops
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.stablehlo import Builder, Value
from ...lax.ground.monoids import MAX
from ...util.messages import message


@final
class StepLimit(NoResults, RunsOnArrays):
    """Raise `RuntimeError` if one of the operand's numbers is larger than `max_steps`."""

    name = "step_limit"

    def effects(self, **_: Param) -> Effects:
        return frozenset({DebugEffect()})

    def execute(self, steps: Array, *, max_steps: int) -> list[Any]:
        _check(steps.to_host(), max_steps)
        return []

    def lower(
        self, b: Builder, outs: Sequence[ShapedArray], steps: Value, *, max_steps: int
    ) -> list[Value]:
        return call_python(b, _checking(max_steps), (), steps)

    def to_loops(
        self, b: loops.Builder, outs: Sequence[Any], steps: loops.Value, *, max_steps: int
    ) -> list[loops.Value]:
        """Python is called only where there is an error to raise."""
        steps = b.settled(steps)
        most = b.fusion.scalar(_largest(b, steps))
        is_longer = b.writer.op("gt", most, b.writer.number(max_steps, most.dtype))

        def call() -> None:
            call_python_in_loops(b, _checking(max_steps), (), steps)

        b.writer.branch(is_longer, partial(b.within, (), call), is_rare=True)
        return []


def _largest(b: loops.Builder, x: loops.Value) -> loops.Value:
    """The largest number of an array of counts."""
    operation, identity = MAX.for_loops(b.writer, x.dtype)
    axes = range(x.ndim)
    return loops.reduced(b, ShapedArray((), x.dtype), x, axes, operation, identity)


def _checking(max_steps: int) -> Callable[[Operand], Sequence[Any]]:
    """The check as a function without results, of counts."""

    def check(counts: Operand) -> Sequence[Any]:
        _check(counts, max_steps)
        return ()

    return check


def _check(steps: Operand, max_steps: int) -> None:
    most = int(steps.max(initial=0))
    if most > max_steps:
        raise RuntimeError(
            message(
                "reverse-mode derivative of lax.while_loop",
                given=f"a loop that took {most} steps",
                expected=f"at most {max_steps}, as said by reverse_while(max_steps={max_steps})",
                fix="Give a larger max_steps; use memory= to bound what the loop remembers.",
            )
        )


step_limit_p = StepLimit()
