"""Residuals of the branches of a `cond`: those that are operands of the `cond` need no place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import Jaxpr, Var
from ...transforms.linearize import Linearization
from ..closing import closed_programs


def with_common_captures(
    rules: Sequence[Linearization],
) -> tuple[list[Linearization], list[Any]]:
    """The linearizations with all values that their forward programs capture as first operands."""
    joined, extended = closed_programs([_programs(rule)[0] for rule in rules])
    if not joined:
        return list(rules), joined
    return [
        Linearization(forward, rule.linear, rule.out_active, rule.num_residuals)
        for rule, forward in zip(rules, extended, strict=True)
    ], joined


def residual_operands(rule: Linearization) -> list[bool]:
    """Which operands of a linearized branch are among its residuals."""
    forward, _ = _programs(rule)
    residuals = set(forward.outvars[len(rule.out_active) :])
    return [v in residuals for v in forward.invars]


def with_operands_apart(rule: Linearization, given: Sequence[bool]) -> tuple[Jaxpr, Jaxpr]:
    """Forward and linear program of a branch that is `given` some operands as residuals.

    The forward program hands out the other residuals; the linear program takes these, then the
    operands, then tangents.
    """
    forward, linear = _programs(rule)
    count = len(rule.out_active)
    known = dict(zip(forward.outvars[count:], linear.invars, strict=False))
    operands = [v for v, on in zip(forward.invars, given, strict=True) if on]
    apart = set(operands)
    computed = [v for v in known if v not in apart]
    residuals = [known.get(v) or Var(v.aval) for v in operands]
    return (
        forward.replace(outvars=(*forward.outvars[:count], *computed)),
        linear.replace(
            invars=(*[known[v] for v in computed], *residuals, *linear.invars[len(known) :])
        ),
    )


def _programs(rule: Linearization) -> tuple[Jaxpr, Jaxpr]:
    assert rule.forward is not None, "a branch is split, it is not run"
    return rule.forward, rule.linear
