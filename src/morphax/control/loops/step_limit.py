"""The primitive `step_limit`: raise an error, when the program runs, if a loop was too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ...array import Array
from ...core import NoResults, Operand, Param, ShapedArray
from ...core.effects import DebugEffect, Effects
from ...engines.callbacks import call_python
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.stablehlo import Builder, Value
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
        def check(counts: Operand) -> Sequence[Any]:
            _check(counts, max_steps)
            return ()

        return call_python(b, check, (), steps)


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
