"""Reverse mode through a `while` whose number of steps is known only when it has run.

The primitive `reversible_while` is a `while` with `ReverseBounds`.  Its forward pass counts steps
and keeps the carry at the beginning of each part of the loop; the pullback goes through the parts
from the last to the first, computes the carries in between again, level by level, and pulls the
cotangent back through one step after the other.  See ``docs/design/reverse-while.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, final

import numpy as np

from ...core import (
    BatchAxes,
    Jaxpr,
    apply_jaxpr,
    aval_of,
    call_program,
    is_zero,
    stage_closed,
    stage_with_operands,
)
from ...core.effects import Effects
from ...engines.xla.stablehlo import Builder, Value
from ...lax.arithmetic import add, div, mul, sub
from ...lax.bitwise import bitwise_and
from ...lax.comparison import lt
from ...lax.dynamic_slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from ...lax.ref_binding import TakesReferences
from ...lax.spine import zeros
from ...transforms.batching import batch_jaxpr, unbatched_aval
from ...transforms.jvp import jvp_jaxpr
from ...transforms.known_parts import KnownPart, Mask
from ...transforms.linearize import Linearization
from ..calls import split_tangents
from ..custom.custom_linear_call import linear_call_p
from ..ref_bodies import discharge_while
from .step_limit import step_limit_p
from .while_bounds import ReverseBounds, parts_by_level
from .while_primitive import active_carry, while_p
from .while_unwinding import Unwinding

_ONE = np.int32(1)


@final
class ReversibleWhile(TakesReferences):
    """A `while` that can be differentiated in reverse mode.

    Params: those of `while`, and

        bounds: `ReverseBounds`.
    """

    name = "reversible_while"
    multiple_results = True
    takes_twice = while_p.takes_twice

    def abstract_eval(self, *avals: Any, bounds: ReverseBounds, **params: Any) -> Sequence[Any]:
        return while_p.abstract_eval(*avals, **params)  # type: ignore[no-any-return]

    def effects(self, *, bounds: ReverseBounds, **params: Any) -> Effects:
        return while_p.effects(**params)

    def axis_names(self, *, bounds: ReverseBounds, **params: Any) -> tuple[Any, ...]:
        return while_p.axis_names(**params)

    def execute(self, *operands: Any, bounds: ReverseBounds, **params: Any) -> list[Any]:
        return while_p.execute(*operands, **params)

    def discharge(self, *operands: Any, **params: Any) -> list[Any]:
        return discharge_while(self, operands, params)

    def evaluate(self, *operands: Any, bounds: ReverseBounds, **params: Any) -> list[Any]:
        return while_p.evaluate(*operands, **params)

    def lower(
        self,
        b: Builder,
        outs: Sequence[Any],
        *operands: Value,
        bounds: ReverseBounds,
        **params: Any,
    ) -> list[Value]:
        return while_p.lower(b, outs, *operands, **params)

    def jvp(
        self,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        *,
        bounds: ReverseBounds,
        **params: Any,
    ) -> tuple[list[Any], list[Any]]:
        active = tuple([not is_zero(t) for t in tangents])
        plain = call_program(while_p, [aval_of(x) for x in primals], params)
        fragment = jvp_jaxpr(plain, active)
        given = [t for t in tangents if not is_zero(t)]
        results = apply_jaxpr(_reversible(fragment.jaxpr, bounds), *primals, *given)
        return split_tangents(results, fragment.out_active, plain.out_avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Any]
    ) -> Linearization:
        return _Reversal(avals, active, params).linearization()

    def transpose(self, cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        del params["bounds"]
        return while_p.transpose(cts, *operands, **params)

    def known_part(
        self, unknown: Mask, *, bounds: ReverseBounds, **params: Any
    ) -> KnownPart | None:
        part = while_p.known_part(unknown, **params)
        return part and part._replace(params=part.params | {"bounds": bounds})

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: tuple[int | None, ...],
        *,
        bounds: ReverseBounds,
        **params: Any,
    ) -> tuple[list[Any], Sequence[int | None]]:
        plain = call_program(while_p, _unbatched(operands, dims), params)
        fragment = batch_jaxpr(plain, dims, axes)
        return apply_jaxpr(_reversible(fragment.jaxpr, bounds), *operands), fragment.out_dims

    collect = batch


reversible_while_p = ReversibleWhile()


def _reversible(jaxpr: Jaxpr, bounds: ReverseBounds) -> Jaxpr:
    """The program with its loops made reversible, those inside other programs excepted."""
    eqns = [
        eqn.replace(primitive=reversible_while_p, params=eqn.params | {"bounds": bounds})
        if eqn.primitive is while_p
        else eqn
        for eqn in jaxpr.eqns
    ]
    return jaxpr.replace(eqns=tuple(eqns))


def _unbatched(operands: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    return [
        aval_of(x) if d is None else unbatched_aval(aval_of(x), d)
        for x, d in zip(operands, dims, strict=True)
    ]


@final
class _Reversal:
    """The linearization of one loop.

    Its residuals are all operands, the number of steps, and the carries at the beginning of parts.
    """

    def __init__(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Any]
    ) -> None:
        self.avals = avals
        self.active = active
        self.bounds: ReverseBounds = params["bounds"]
        self.params = {name: value for name, value in params.items() if name != "bounds"}
        self.body: Jaxpr = params["body_jaxpr"]
        self.condition: Jaxpr = params["cond_jaxpr"]
        parts = while_p.parts(active, **self.params)
        self.const_active, self.given = tuple(parts.body_consts), parts.carry
        self.carry_active = active_carry(self.body, self.const_active, tuple(self.given))
        self.carry_avals = while_p.parts(avals, **self.params).carry
        carry_bytes = sum([a.size * a.dtype.itemsize for a in self.carry_avals])
        self.parts = parts_by_level(self.bounds, carry_bytes)

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

    def forward(self, *operands: Any) -> list[Any]:
        """The loop, part by part: last carry, operands, number of steps, first carries of parts."""
        cond_consts, body_consts, carry = while_p.parts(operands, **self.params)
        length, n = prod(self.parts[1:]), len(carry)

        def goes_on(values: Sequence[Any]) -> Any:
            return apply_jaxpr(self.condition, *cond_consts, *values)[0]

        def step(values: Sequence[Any]) -> list[Any]:
            return apply_jaxpr(self.body, *body_consts, *values)

        def one_part(steps: Any, *state: Any) -> list[Any]:
            values, kept = state[:n], state[n:]
            place = div(steps, np.int32(length))
            kept = [
                dynamic_update_index_in_dim(stack, x, place, 0)
                for stack, x in zip(kept, values, strict=True)
            ]
            done, *values = _loop(
                lambda i, *x: bitwise_and(lt(i, np.int32(length)), goes_on(x)),
                lambda i, *x: [add(i, _ONE), *step(x)],
                [np.int32(0), *values],
                length,
            )
            return [add(steps, done), *values, *kept]

        kept = [zeros(a.update(shape=(self.parts[0], *a.shape))) for a in self.carry_avals]
        steps, *state = _loop(
            lambda _, *state: goes_on(state[:n]),
            one_part,
            [np.int32(0), *carry, *kept],
            self.parts[0],
        )
        return [*state[:n], *operands, steps, *state[n:]]

    def push(self, *values: Any) -> list[Any]:
        """The loop again, with tangents."""
        fragment = jvp_jaxpr(call_program(while_p, self.avals, self.params), self.active)
        tangents = values[len(values) - sum(self.active) :]
        jaxpr = _reversible(fragment.jaxpr, self.bounds)
        return apply_jaxpr(jaxpr, *values[: len(self.avals)], *tangents)[len(self.carry_avals) :]

    def pull(self, *values: Any) -> list[Any]:
        """Cotangents of the active operands, from those of the active results."""
        operands, (steps, *rest) = values[: len(self.avals)], values[len(self.avals) :]
        kept, cts = rest[: len(self.carry_avals)], rest[len(self.carry_avals) :]
        _, consts, _ = while_p.parts(operands, **self.params)
        step_limit_p.bind(steps, max_steps=self.bounds.max_steps)
        length = prod(self.parts[1:])
        unwinding = Unwinding(self.body, self.const_active, self.carry_active, consts, steps)
        sums = [
            zeros(aval_of(x).to_tangent_aval())
            for x, on in zip(consts, self.const_active, strict=True)
            if on
        ]

        def one_part(part: Any, *state: Any) -> list[Any]:
            part = sub(part, _ONE)
            carry = [dynamic_index_in_dim(x, part, 0, keepdims=False) for x in kept]
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
        asked = [ct for ct, on in zip(carry, self.given, strict=True) if on]
        # The condition has no derivative.
        return [*self.of_condition(), *state[: len(sums)], *asked]

    def of_condition(self) -> list[Any]:
        """Zeros for the constants of the condition that have a tangent."""
        n = self.params["cond_nconsts"]
        pairs = zip(self.avals[:n], self.active[:n], strict=True)
        return [zeros(a.to_tangent_aval()) for a, on in pairs if on]


def _loop(
    condition: Callable[..., Any], body: Callable[..., Any], carry: Sequence[Any], steps: int
) -> list[Any]:
    """A reversible `while` of at most so many steps."""
    avals = [aval_of(x) for x in carry]
    cond_jaxpr, cond_consts = stage_with_operands(lambda *x: [condition(*x)], avals)
    body_jaxpr, body_consts = stage_with_operands(body, avals)
    return reversible_while_p.bind(  # type: ignore[no-any-return]
        *cond_consts,
        *body_consts,
        *carry,
        cond_jaxpr=cond_jaxpr,
        cond_nconsts=len(cond_consts),
        body_jaxpr=body_jaxpr,
        body_nconsts=len(body_consts),
        bounds=ReverseBounds(steps),
    )
