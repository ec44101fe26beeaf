"""Discharge of the operations with a body: references become part of what the body passes on.

A reference that a loop changes is carried, one that a branch changes is a result of all branches,
and one that is only looked up is a constant.  What the programs become is remembered, for programs
are compiled once per identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from ..core import (
    AbstractRef,
    Cell,
    Jaxpr,
    Primitive,
    apply_jaxpr,
    discharge,
    stage_closed,
    values_of,
)
from ..util.memo import memoize


def handed_back(
    results: Sequence[Any], operands: Sequence[Any], changed: Sequence[int]
) -> list[Any]:
    """The results proper, after the last ones have become the values of changed references."""
    count = len(results) - len(changed)
    for i, value in zip(changed, results[count:], strict=True):
        operands[i].value = value
    return list(results[:count])


def _program(
    function: Callable[..., Sequence[Any]], avals: Sequence[Any], original: Jaxpr
) -> Jaxpr:
    return stage_closed(function, avals, original.debug_info.of_derived())


def _value_avals(jaxpr: Jaxpr) -> list[Any]:
    return [a.inner_aval if type(a) is AbstractRef else a for a in jaxpr.in_avals]


def discharge_scan(scan: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Changed constants move behind the carry; the rows of changed xs are stacked."""
    n, m = params["num_consts"], params["num_carry"]
    body, changed, moved = _scan_body(params["jaxpr"], n, m)
    values = values_of(operands)
    consts, carry, xs = values[:n], values[n : n + m], values[n + m :]
    kept = [x for i, x in enumerate(consts) if i not in moved]
    results = scan.bind(
        *kept,
        *carry,
        *[consts[i] for i in moved],
        *xs,
        **params | {"jaxpr": body, "num_consts": len(kept), "num_carry": m + len(moved)},
    )
    carried, moved_values, ys = results[:m], results[m : m + len(moved)], results[m + len(moved) :]
    count = len(ys) - (len(changed) - len(moved))
    ordered = [*carried, *ys[:count], *moved_values, *ys[count:]]
    return handed_back(ordered, operands, changed)


@memoize
def _scan_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int
) -> tuple[Jaxpr, tuple[int, ...], tuple[int, ...]]:
    """The body on values, the changed operands, and those of them that are constants."""
    pure, changed = discharge(jaxpr)
    moved = tuple([i for i in changed if i < num_consts])
    kept = [i for i in range(num_consts) if i not in moved]
    rest = range(num_consts, len(jaxpr.invars))
    # The operands of the original body, in the order of those of the new one.
    order = [*kept, *rest[:num_carry], *moved, *rest[num_carry:]]

    def function(*operands: Any) -> list[Any]:
        given = dict(zip(order, operands, strict=True))
        outs = apply_jaxpr(pure, *[given[i] for i in range(len(order))])
        own, values = outs[: len(jaxpr.outvars)], outs[len(jaxpr.outvars) :]
        carry, ys = own[:num_carry], own[num_carry:]
        return [*carry, *values[: len(moved)], *ys, *values[len(moved) :]]

    avals = _value_avals(jaxpr)
    return _program(function, [avals[i] for i in order], jaxpr), changed, moved


def discharge_cond(
    cond: Primitive, index: Any, operands: Sequence[Any], branches: tuple[Jaxpr, ...]
) -> list[Any]:
    """Every branch returns the values of the references that any of them changes."""
    pure, changed = _branches(branches)
    return handed_back(cond.bind(index, *values_of(operands), branches=pure), operands, changed)


@memoize
def _branches(branches: tuple[Jaxpr, ...]) -> tuple[tuple[Jaxpr, ...], tuple[int, ...]]:
    alone = [discharge(branch) for branch in branches]
    changed = tuple(sorted({i for branch in alone for i in branch.changed}))

    def returning_all(original: Jaxpr, pure: Jaxpr, own: Sequence[int]) -> Jaxpr:
        def function(*values: Any) -> list[Any]:
            outs = apply_jaxpr(pure, *values)
            count = len(original.outvars)
            now = dict(zip(own, outs[count:], strict=True))
            return [*outs[:count], *[now.get(i, values[i]) for i in changed]]

        return _program(function, _value_avals(original), original)

    pairs = zip(branches, alone, strict=True)
    return tuple([returning_all(b, pure, own) for b, (pure, own) in pairs]), changed


@final
@dataclass(frozen=True, slots=True)
class _Loop:
    """A `while` on values: its state is the carry and then the values of all references.

    A condition that changes references becomes part of the body, and its result the first part of
    the state; `start` makes that state.
    """

    start: Jaxpr | None
    condition: Jaxpr
    body: Jaxpr
    changed: tuple[int, ...]


def discharge_while(loop: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """All references are carried, also those that the condition closes over."""
    n = params["cond_nconsts"]
    m = n + params["body_nconsts"]
    consts = operands[:m]
    cells = list(dict.fromkeys([x for x in consts if type(x) is Cell]))
    places = tuple([cells.index(x) if type(x) is Cell else None for x in consts])
    pure = _loop(params["cond_jaxpr"], params["body_jaxpr"], places[:n], places[n:])
    cond_consts = [x for x in consts[:n] if type(x) is not Cell]
    body_consts = [x for x in consts[n:] if type(x) is not Cell]
    state = [*operands[m:], *values_of(cells)]
    if pure.start is not None:
        state = apply_jaxpr(pure.start, *cond_consts, *state)
        cond_consts, body_consts = [], [*cond_consts, *body_consts]
    state = loop.bind(
        *cond_consts,
        *body_consts,
        *state,
        **params
        | {
            "cond_jaxpr": pure.condition,
            "cond_nconsts": len(cond_consts),
            "body_jaxpr": pure.body,
            "body_nconsts": len(body_consts),
        },
    )
    values = state[len(state) - len(cells) :]
    for i in pure.changed:
        cells[i].value = values[i]
    return list(state[pure.start is not None : len(state) - len(cells)])


@memoize
def _loop(
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_places: tuple[int | None, ...],
    body_places: tuple[int | None, ...],
) -> _Loop:
    """The loop on values; places tell which reference a constant is, `None` for other constants."""
    test, step = _on_values(cond_jaxpr, cond_places), _on_values(body_jaxpr, body_places)
    avals = _value_avals(body_jaxpr)
    cells = _cell_avals(cond_jaxpr, cond_places) | _cell_avals(body_jaxpr, body_places)
    state = [*avals[len(body_places) :], *[cells[i] for i in range(len(cells))]]
    cond_consts = _plain(_value_avals(cond_jaxpr), cond_places)
    body_consts = _plain(avals, body_places)
    changed = tuple(sorted({*test.changed, *step.changed}))
    c, b = len(cond_consts), len(body_consts)
    if not test.changed:
        condition = _program(
            lambda *x: test.run(x[:c], x[c:])[:1], [*cond_consts, *state], cond_jaxpr
        )
        body = _program(lambda *x: step.run(x[:b], x[b:]), [*body_consts, *state], body_jaxpr)
        return _Loop(None, condition, body, changed)

    def tested(consts: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        goes_on, *cell_values = test.run(consts, values)
        return [goes_on, *values[: len(values) - len(cells)], *cell_values]

    def step_and_test(*x: Any) -> list[Any]:
        return tested(x[:c], step.run(x[c : c + b], x[c + b + 1 :]))

    start = _program(lambda *x: tested(x[:c], x[c:]), [*cond_consts, *state], cond_jaxpr)
    whole = start.out_avals
    condition = _program(lambda goes_on, *_: [goes_on], whole, cond_jaxpr)
    body = _program(step_and_test, [*cond_consts, *body_consts, *whole], body_jaxpr)
    return _Loop(start, condition, body, changed)


class _OnValues(NamedTuple):
    """One of the programs of a loop: constants, state → results, values of all references."""

    run: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    changed: tuple[int, ...]


def _on_values(jaxpr: Jaxpr, places: Sequence[int | None]) -> _OnValues:
    pure, changed_operands = discharge(jaxpr)
    changed = [places[i] for i in changed_operands]
    num_carry = len(jaxpr.invars) - len(places)

    def run(consts: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        given = iter(consts)
        carry, cells = state[:num_carry], list(state[num_carry:])
        own = [next(given) if place is None else cells[place] for place in places]
        outs = apply_jaxpr(pure, *own, *carry)
        for place, value in zip(changed, outs[len(jaxpr.outvars) :], strict=True):
            cells[place] = value  # type: ignore[index]
        return [*outs[: len(jaxpr.outvars)], *cells]

    return _OnValues(run, tuple([i for i in changed if i is not None]))


def _cell_avals(jaxpr: Jaxpr, places: Sequence[int | None]) -> dict[int | None, Any]:
    avals = zip(places, _value_avals(jaxpr), strict=False)
    return {place: aval for place, aval in avals if place is not None}


def _plain(avals: Sequence[Any], places: Sequence[int | None]) -> list[Any]:
    return [aval for place, aval in zip(places, avals, strict=False) if place is None]
