"""Patterns of control flow: loops step by step if they are short, as a whole otherwise.

As a whole: a step maps the carry to the carry by a relation between their elements.  Elements that
it connects, in either direction and by any number of steps, are taken to depend on all that any of
them depends on.  The groups of connected elements (Tarjan's components of a graph, for which SciPy
has a linear algorithm) do not depend on how many steps there are.  Only components of the carry
that depend on inputs take part: a counter, or the point at which a derivative is taken, would
connect everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ...core import Equation, Jaxpr, jaxprs_in_params
from .flow import Flow, Known, active_patterns, filled, size_of, sizes_of_results
from .patterns import (
    Pattern,
    chosen_rows,
    components,
    composed,
    everything,
    identity,
    nothing,
    related,
    repeated,
    stacked,
    union,
)

# Of a loop: constants, the carry at first, and the arrays whose slices are taken.
Parts = tuple[Sequence[Flow], Sequence[Flow], Sequence[Flow]]

# How many equations are read at most for the steps of one loop.
_MOST_EQUATIONS = 5_000


class ProgramReader(Protocol):
    """What rules with programs need: see `programs.Reader`."""

    inputs: int

    def with_inputs(self, inputs: int) -> ProgramReader: ...

    def read(self, jaxpr: Jaxpr, operands: Sequence[Flow]) -> list[Flow]: ...


def read_cond(reader: ProgramReader, eqn: Equation, operands: Sequence[Flow]) -> list[Flow]:
    """What any branch may depend on, or the one that is taken."""
    index, *rest = operands
    branches = eqn.params["branches"]
    if index.pattern is not None:
        return all_results(eqn, operands)
    if index.known is not None:
        taken_one = min(max(int(index.known.read()), 0), len(branches) - 1)
        return reader.read(branches[taken_one], rest)
    taken = [reader.read(branch, rest) for branch in branches]
    rows = [active_patterns(column) for column in zip(*taken, strict=True)]
    return [Flow(pattern=union(row)) if row else Flow() for row in rows]


def read_scan(reader: ProgramReader, eqn: Equation, operands: Sequence[Flow]) -> list[Flow]:
    """A loop over slices."""
    params = eqn.params
    consts, start = params["num_consts"], params["num_consts"] + params["num_carry"]
    parts = operands[:consts], operands[consts:start], operands[start:]
    step, length = params["jaxpr"], params["length"]
    if length * _weight(step) <= _MOST_EQUATIONS:
        return _by_steps(reader, step, parts, length, reverse=params["reverse"])
    return _as_a_whole(reader, step, parts, length)


def read_while(reader: ProgramReader, eqn: Equation, operands: Sequence[Flow]) -> list[Flow]:
    """A loop of unknown length; if its end depends on inputs, all does."""
    params = eqn.params
    tested, start = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    parts = operands[tested:start], operands[start:], ()
    carry = _as_a_whole(reader, params["body_jaxpr"], parts, 0)
    (decision,) = reader.read(params["cond_jaxpr"], [*operands[:tested], *carry])
    return carry if decision.pattern is None else all_results(eqn, operands)


def all_results(eqn: Equation, operands: Sequence[Flow]) -> list[Flow]:
    """Each element of the results on each of the operands."""
    active = active_patterns(operands)
    return [Flow(pattern=everything(size, active)) for size in sizes_of_results(eqn)]


def _weight(jaxpr: Jaxpr) -> int:
    """How many equations one run of a program takes."""
    return 1 + sum(
        [
            1 + eqn.params.get("length", 1) * sum(map(_weight, jaxprs_in_params(eqn.params)))
            for eqn in jaxpr.eqns
        ]
    )


def _by_steps(
    reader: ProgramReader, step: Jaxpr, parts: Parts, length: int, *, reverse: bool
) -> list[Flow]:
    consts, carry, xs = parts
    slices = [size_of(v) for v in step.invars[len(consts) + len(carry) :]]
    rows: list[Sequence[Flow]] = []
    count = len(carry)
    for i in reversed(range(length)) if reverse else range(length):
        given = [_slice(x, i, size) for x, size in zip(xs, slices, strict=True)]
        results = reader.read(step, [*consts, *carry, *given])
        carry = results[:count]
        rows.append(results[count:])
    if reverse:
        rows.reverse()
    sizes = [size_of(v) for v in step.outvars[count:]]
    columns = zip(*rows, strict=True) if rows else [()] * len(sizes)
    ys = [_stack(c, size, reader.inputs) for c, size in zip(columns, sizes, strict=True)]
    return [*carry, *ys]


def _slice(x: Flow, i: int, size: int) -> Flow:
    if x.pattern is not None:
        return Flow(pattern=x.pattern[i * size : (i + 1) * size])
    return Flow(x.known and Known.computed(lambda value: [value[i]], [x.known])[0])


def _stack(column: Sequence[Flow], size: int, inputs: int) -> Flow:
    if active_patterns(column):
        return Flow(pattern=stacked([filled(flow, size, inputs) for flow in column]))
    known = [flow.known for flow in column if flow.known is not None]
    if not known or len(known) < len(column):
        return Flow()
    return Flow(*Known.computed(lambda *values: [np.stack(values)], known))


def _as_a_whole(reader: ProgramReader, step: Jaxpr, parts: Parts, length: int) -> list[Flow]:
    """The carry after any number of steps, and stacks of `length` further results."""
    consts, carry, xs = parts
    local = _read_one_step(reader, step, parts)
    sources = [f.pattern for f in consts if f.pattern is not None]
    initial = [
        filled(f, size_of(v), reader.inputs)
        for f, v, on in zip(carry, step.invars[len(consts) :], local.active, strict=False)
        if on
    ]
    slices = [
        (x.pattern, x.pattern.shape[0] // max(length, 1)) for x in xs if x.pattern is not None
    ]
    joined = [composed(_members(length, size), pattern) for pattern, size in slices]
    begins = np.cumsum([sum([p.shape[0] for p in group]) for group in (sources, initial)])
    connected = _connected(local.carry, (int(begins[0]), int(begins[1])), sources, initial, joined)
    given = stacked([*sources, connected]) if sources or initial else None
    ys = []
    for pattern in local.ys:
        if pattern is None:
            ys.append(Flow())
            continue
        size, found = pattern.shape[0], []
        if given is not None:
            once = composed(pattern[:, : begins[1]], given)
            found.append(chosen_rows(once, np.tile(np.arange(1, size + 1), length)))
        start = int(begins[1])
        for of_xs, width in slices:
            own = repeated(pattern[:, start : start + width], length)
            found.append(composed(own, of_xs))
            start += width
        ys.append(Flow(pattern=union(found)))
    ends = iter(np.split(np.arange(connected.shape[0]), np.cumsum([p.shape[0] for p in initial])))
    carried = [Flow(pattern=connected[next(ends)]) if on else Flow() for on in local.active]
    return [*carried, *ys]


class _Step(NamedTuple):
    """The relations of one step, to its active operands: consts, carry, slices.

    Args:
        active: components of the carry that depend on inputs in some step.
        carry: the relation of all of these together.
        ys: the relation of each further result.
    """

    active: list[bool]
    carry: Pattern
    ys: list[Pattern | None]


def _read_one_step(reader: ProgramReader, step: Jaxpr, parts: Parts) -> _Step:
    """The carry is active where it is at first, or where a step makes it so."""
    consts, carry, xs = parts
    active = [flow.pattern is not None for flow in carry]
    while True:
        on = [
            *[f.pattern is not None for f in consts],
            *active,
            *[f.pattern is not None for f in xs],
        ]
        sizes = [size_of(v) if a else 0 for v, a in zip(step.invars, on, strict=True)]
        starts = np.cumsum([0, *sizes])
        inputs = int(starts[-1])
        operands = [
            Flow(pattern=identity(size, int(start), inputs)) if a else Flow()
            for size, start, a in zip(sizes, starts, on, strict=False)
        ]
        # Constants of the loop are as well known in each step as outside of it.
        operands[: len(consts)] = [
            operand if flow.known is None else flow
            for operand, flow in zip(operands, consts, strict=False)
        ]
        results = reader.with_inputs(inputs).read(step, operands)
        after = [a or flow.pattern is not None for a, flow in zip(active, results, strict=False)]
        if after == active:
            break
        active = after
    rows = [
        filled(flow, size_of(v), inputs)
        for flow, v, a in zip(results, step.outvars, active, strict=False)
        if a
    ]
    ys = [flow.pattern for flow in results[len(carry) :]]
    return _Step(active, stacked(rows) if rows else nothing(0, inputs), ys)


def _connected(
    step: Pattern,
    begins: tuple[int, int],
    sources: Sequence[Pattern],
    initial: Sequence[Pattern],
    joined: Sequence[Pattern],
) -> Pattern:
    """What the elements of the carry depend on after any number of steps."""
    if not initial:
        return step
    first, last = begins
    reached = [stacked(initial)]
    if sources:
        reached.append(composed(step[:, :first], stacked(sources)))
    if joined:
        reached.append(composed(step[:, last:], stacked(joined)))
    groups = components(step[:, first:last])
    members = related(groups, np.arange(groups.size), (groups.size, groups.size))
    return chosen_rows(composed(members, union(reached)), groups + 1)


def _members(length: int, size: int) -> Pattern:
    """The elements of a stack that stand at each place of its slices."""
    return related(
        np.tile(np.arange(size), length), np.arange(length * size), (size, length * size)
    )
