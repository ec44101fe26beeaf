"""Reverse mode through a `while` whose number of steps is known only when it has run.

The primitive `reversible_while` is a `while` with `ReverseBounds`.  Its forward pass counts steps
and keeps the carry at the beginning of each part of the loop; the pullback goes through the parts
from the last to the first, recomputes the carries in between, level by level, and pulls the
cotangent back through one step after the other.  See ``docs/design/reverse-while.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, final

import numpy as np

from ...core import (
    Jaxpr,
    Operand,
    Param,
    apply_jaxpr,
    aval_of,
    call_program,
    stage_closed,
)
from ...lax.elementwise.arithmetic import add, div, mul, sub
from ...lax.elementwise.bitwise import bitwise_and
from ...lax.elementwise.comparison import lt
from ...lax.ground.linear_structure import zeros
from ...lax.indexing.dynamic_slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from ...transforms.jvp import jvp_jaxpr, open_jvp
from ...transforms.linearize import Linearization
from ..bodies.wiring import Parts
from ..custom.custom_linear_call import linear_call_p
from .step_limit import step_limit_p
from .while_bounds import ReverseBounds, parts_by_level
from .while_primitive import Loops
from .while_unwinding import Unwinding

_ONE = np.int32(1)


@final
class ReversibleWhile(Loops):
    """A `while` that can be differentiated in reverse mode.

    Params: those of `while`, and

        bounds: `ReverseBounds`.
    """

    name = "reversible_while"

    def most_steps(self, *, bounds: ReverseBounds, **_: Param) -> int:
        return bounds.max_steps

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        return _Reversal(avals, active, params).linearization()


reversible_while_p = ReversibleWhile()


@final
class _Reversal:
    """The linearization of one loop.

    Its residuals are all operands, the number of steps, and the carries at the beginning of parts.
    """

    def __init__(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> None:
        self.avals = avals
        self.active = active
        self.params = params
        self.bounds: ReverseBounds = params["bounds"]
        self.body: Jaxpr = params["body_jaxpr"]
        self.condition: Jaxpr = params["cond_jaxpr"]
        whole = call_program(reversible_while_p, avals, params)
        self.carry_active = open_jvp(whole, active).out_active
        parts = self.by_role(active)
        self.const_active, self.given = tuple(parts["body_consts"]), parts["carry"]
        # The body first: it knows the line of a rule that closes over a tracer.
        jvp_jaxpr(self.body, (*self.const_active, *self.carry_active), self.carry_active)
        self.jvp = jvp_jaxpr(whole, active)
        self.carry_avals = self.by_role(avals)["carry"]
        carry_bytes = sum([a.size * a.dtype.itemsize for a in self.carry_avals])
        self.parts = parts_by_level(self.bounds, carry_bytes)

    def by_role(self, values: Sequence[Any]) -> Parts:
        """What belongs to the operands, by role."""
        return reversible_while_p.wiring.parts(values, self.params)

    def linearization(self) -> Linearization:
        forward = stage_closed(self.forward, self.avals)
        count = len(self.carry_avals)
        residual_avals = forward.out_avals[count:]
        tangents = [a.to_tangent_aval() for a in self.avals]
        given = [t for t, on in zip(tangents, self.active, strict=True) if on]
        results = [a.to_tangent_aval() for a in self.carry_avals]
        cts = [a for a, on in zip(results, self.carry_active, strict=True) if on]
        pushed = {
            "callee": stage_closed(self.push, [*residual_avals, *given]),
            "callee_transpose": stage_closed(self.pull, [*residual_avals, *cts]),
            "num_res": len(residual_avals),
        }
        linear = call_program(linear_call_p, [*residual_avals, *given], pushed)
        return Linearization(forward, linear, self.carry_active, len(residual_avals))

    def forward(self, *operands: Operand) -> list[Any]:
        """The loop, part by part: last carry, operands, number of steps, first carries of parts."""
        cond_consts, body_consts, carry = self.by_role(operands).values()
        length, n = prod(self.parts[1:]), len(carry)

        def goes_on(values: Sequence[Any]) -> Any:
            return apply_jaxpr(self.condition, *cond_consts, *values)[0]

        def step(values: Sequence[Any]) -> list[Any]:
            return apply_jaxpr(self.body, *body_consts, *values)

        def one_part(steps: Operand, *state: Operand) -> list[Any]:
            values, checkpoints = list(state[:n]), list(state[n:])
            place = div(steps, np.int32(length))
            checkpoints = [
                dynamic_update_index_in_dim(stack, x, place, 0)
                for stack, x in zip(checkpoints, values, strict=True)
            ]
            done, *values = _loop(
                lambda i, *x: bitwise_and(lt(i, np.int32(length)), goes_on(x)),
                lambda i, *x: [add(i, _ONE), *step(x)],
                [np.int32(0), *values],
                length,
            )
            return [add(steps, done), *values, *checkpoints]

        checkpoints = [zeros(a.update(shape=(self.parts[0], *a.shape))) for a in self.carry_avals]
        steps, *state = _loop(
            lambda _, *state: goes_on(state[:n]),
            one_part,
            [np.int32(0), *carry, *checkpoints],
            self.parts[0],
        )
        return [*state[:n], *operands, steps, *state[n:]]

    def push(self, *values: Operand) -> list[Any]:
        """The loop, recomputed with tangents."""
        tangents = values[len(values) - sum(self.active) :]
        outs = apply_jaxpr(self.jvp.jaxpr, *values[: len(self.avals)], *tangents)
        return outs[len(self.carry_avals) :]

    def pull(self, *values: Operand) -> list[Any]:
        """Cotangents of the active operands, from those of the active results."""
        operands, (steps, *rest) = values[: len(self.avals)], values[len(self.avals) :]
        checkpoints, cts = rest[: len(self.carry_avals)], rest[len(self.carry_avals) :]
        consts = self.by_role(operands)["body_consts"]
        step_limit_p.bind(steps, max_steps=self.bounds.max_steps)
        length = prod(self.parts[1:])
        unwinding = Unwinding(self.body, self.const_active, self.carry_active, consts, steps)
        sums = [
            zeros(aval_of(x).to_tangent_aval())
            for x, on in zip(consts, self.const_active, strict=True)
            if on
        ]

        def one_part(part: Operand, *state: Operand) -> list[Any]:
            part = sub(part, _ONE)
            carry = [dynamic_index_in_dim(x, part, 0, keepdims=False) for x in checkpoints]
            first = mul(part, np.int32(length))
            return [part, *unwinding.through(self.parts[1:], carry, first, list(state))]

        _, *state = _loop(
            lambda part, *_: lt(np.int32(0), part),
            one_part,
            [div(add(steps, np.int32(length - 1)), np.int32(length)), *sums, *cts],
            self.parts[0],
        )
        carried = iter(state[len(sums) :])
        carry = [next(carried) if on else None for on in self.carry_active]
        active_cts = [ct for ct, on in zip(carry, self.given, strict=True) if on]
        # The condition has no derivative.
        return [*self.of_condition(), *state[: len(sums)], *active_cts]

    def of_condition(self) -> list[Any]:
        """Zeros for the constants of the condition that have a tangent."""
        n = self.params["cond_nconsts"]
        pairs = zip(self.avals[:n], self.active[:n], strict=True)
        return [zeros(a.to_tangent_aval()) for a, on in pairs if on]


def _loop(
    condition: Callable[..., Any], body: Callable[..., Any], carry: Sequence[Any], steps: int
) -> list[Any]:
    """A reversible `while` of at most so many steps."""
    return reversible_while_p.staged(
        {"cond_jaxpr": lambda *x: [condition(*x)], "body_jaxpr": body},
        Parts(cond_consts=[], body_consts=[], carry=list(carry)),
        bounds=ReverseBounds(steps),
    )
