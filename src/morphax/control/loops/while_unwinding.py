"""The way back through a loop: recompute carries, level by level, pull cotangents through steps.

Used by `while_derivatives`, whose text tells the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, final

import numpy as np

from ...core import Jaxpr, Operand, apply_jaxpr, aval_of
from ...lax.elementwise.arithmetic import add, mul
from ...lax.elementwise.bitwise import bitwise_and
from ...lax.elementwise.comparison import lt
from ...lax.elementwise.convert import convert_element_type
from ...lax.ground.linear_structure import add_tangents, zeros
from ...transforms.staged_linearization import linearize_jaxpr
from ..bodies.wiring import Parts
from ..branches.cond_primitive import cond_p
from .scan_primitive import scan_p

_ONE = np.int32(1)


@final
class Unwinding:
    """Pulls cotangents back through steps of a loop.

    Args:
        body: of the loop: constants, carry → carry.
        const_active, carry_active: which of its operands have a tangent.
        consts: the constants.
        steps: how many the loop took.
    """

    def __init__(
        self,
        body: Jaxpr,
        const_active: tuple[bool, ...],
        carry_active: tuple[bool, ...],
        consts: Sequence[Any],
        steps: Operand,
    ) -> None:
        self.body = body
        self.consts = consts
        self.steps = steps
        self.num_sums = sum(const_active)
        self.rule = linearize_jaxpr(body, (*const_active, *carry_active), carry_active)

    def through(
        self, parts: Sequence[int], carry: list[Any], first: Operand, state: list[Any]
    ) -> list[Any]:
        """Pull cotangents back through a part of the loop.

        Args:
            parts: into how many parts this one is cut, level by level.
            carry: at its beginning.
            first: the number of its first step.
            state: cotangents of the constants so far, and of the carry at its end.

        Returns:
            Those of the constants so far, and of the carry at its beginning.
        """
        if not parts:
            return self.one_step(carry, state)
        count, length = parts[0], prod(parts[1:])
        places = np.arange(count, dtype=np.int32)

        def start(i: Operand) -> Any:
            return add(first, mul(i, np.int32(length)))

        def record(carry: list[Any], xs: Sequence[Any]) -> list[Any]:
            following = add(xs[0], _ONE)
            needed = bitwise_and(lt(following, np.int32(count)), self.reaches(start(following)))
            return [*_if(needed, lambda *c: self.advanced(length, list(c)), carry), *carry]

        def back(state: list[Any], xs: Sequence[Any]) -> list[Any]:
            i, *carry = xs
            return _if(
                self.reaches(start(i)),
                lambda *s: self.through(parts[1:], carry, start(i), list(s)),
                state,
            )

        starts = _scan(record, count, carry, [places])[len(carry) :]
        return _scan(back, count, state, [places, *starts], reverse=True)

    def reaches(self, step: Operand) -> Any:
        """Whether the loop took the step of this number."""
        return lt(step, self.steps)

    def advanced(self, length: int, carry: list[Any]) -> list[Any]:
        """The carry some steps later."""
        return _scan(
            lambda carry, _: apply_jaxpr(self.body, *self.consts, *carry), length, carry, []
        )

    def one_step(self, carry: list[Any], state: list[Any]) -> list[Any]:
        assert self.rule.forward is not None, "the linearization of a program splits it"
        sums, cts = state[: self.num_sums], state[self.num_sums :]
        outs = apply_jaxpr(self.rule.forward, *self.consts, *carry)
        results = self.rule.pull_back(outs[len(carry) :], cts)
        added = [
            x if ct is None else add_tangents(x, ct) for x, ct in zip(sums, results, strict=False)
        ]
        moved = [
            zeros(aval_of(old)) if ct is None else ct
            for old, ct in zip(cts, results[self.num_sums :], strict=True)
        ]
        return [*added, *moved]


def _scan(
    step: Callable[[list[Any], Sequence[Any]], list[Any]],
    length: int,
    carry: Sequence[Any],
    xs: Sequence[Any],
    reverse: bool = False,
) -> list[Any]:
    """The last carry, then results stacked."""
    n = len(carry)
    return scan_p.staged(
        {"jaxpr": lambda *x: step(list(x[:n]), x[n:])},
        Parts(consts=[], carry=list(carry), xs=list(xs)),
        length=length,
        reverse=reverse,
        unroll=1,
    )


def _if(condition: Operand, function: Callable[..., Any], operands: Sequence[Operand]) -> list[Any]:
    """`function` of the operands where the condition holds, else the operands."""
    index = convert_element_type(condition, np.int32)
    parts = Parts(index=[index], operands=list(operands))
    return cond_p.staged({"branches": (lambda *x: list(x), function)}, parts)
