"""Wiring: which operands of an operation feed which of its programs, and where results come from.

The operands of an operation with bodies have *roles*: constants, a carry, arrays that are scanned.
Each body is a parameter that holds a program, or several of which one is chosen.  It *takes* the
operands of some roles, one role after the other, and *gives* the results of some; or it *decides*:
its one result says whether to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, final

from ...core import (
    AbstractRef,
    Effects,
    Jaxpr,
    ShapedArray,
    moved_effects,
    no_effects,
)
from ...util.messages import message
from ...util.records import dataclass


@final
class Parts(dict[str, list[Any]]):
    """Operands or results, or what belongs to them, by role and in the order of the roles."""

    __slots__ = ()

    @property
    def flat(self) -> list[Any]:
        return [x for role in self.values() for x in role]

    def map(self, function: Callable[[Any], Any]) -> Parts:
        """The function of each member."""
        return Parts({name: list(map(function, role)) for name, role in self.items()})

    def replaced(self, **roles: Sequence[Any]) -> Parts:
        """With other members in these roles."""
        return Parts(self | {name: list(role) for name, role in roles.items()})

    def where(self, mask: Parts) -> Parts:
        """The members at which `mask` is true."""
        return Parts(
            {
                name: [x for x, on in zip(role, mask[name], strict=True) if on]
                for name, role in self.items()
            }
        )

    def beside(self, other: Parts) -> Parts:
        """In each role, these and then those of `other`."""
        return Parts({name: role + other[name] for name, role in self.items()})

    def cut(self, values: Sequence[Any]) -> Parts:
        """Split `values` into roles as long as these."""
        given = iter(values)
        return Parts({name: list(islice(given, len(role))) for name, role in self.items()})


class Role(NamedTuple):
    """What some operands, one behind the other, are to the bodies.

    Args:
        name: of the role.
        size: how many operands have it: a number, the name of the parameter that tells it, or
            `None` for those that remain.
    """

    name: str
    size: str | int | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """One program of an operation, or several of which one is chosen.

    Args:
        param: the parameter that holds it; a tuple if it is several.
        takes: the roles of its operands.  What it closes over becomes an operand of the first.
        gives: the roles of its results; nothing if its one result decides whether to go on.
    """

    param: str
    takes: tuple[str, ...]
    gives: tuple[str, ...] = ()

    def programs(self, params: Mapping[str, Any]) -> tuple[Jaxpr, ...]:
        """The program, or all that may be chosen."""
        held = params[self.param]
        return held if type(held) is tuple else (held,)

    def holding(self, programs: Sequence[Jaxpr], params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameter with other programs."""
        return {self.param: tuple(programs) if type(params[self.param]) is tuple else programs[0]}

    def taken(self, operands: Parts) -> tuple[Any, ...]:
        """What belongs to the operands of the program, of what belongs to all."""
        return tuple([x for name in self.takes for x in operands[name]])


@final
@dataclass(frozen=True, eq=False)
class Wiring:
    """How an operation is put together of its programs.

    Args:
        roles: of the operands, in their order.
        bodies: the programs; one of them gives the results.
        carried: the role of operands that are results too: each step gives those of the next.
        stacked: roles of operands, and those of all results but the carry, of which a step sees one
            slice.
        length: the parameter that tells how many slices there are.
        chooses: the role of the operand that says which of several programs is applied.
    """

    roles: tuple[Role, ...]
    bodies: tuple[Body, ...]
    carried: str | None = None
    stacked: tuple[str, ...] = ()
    length: str = ""
    chooses: str | None = None

    def __post_init__(self) -> None:
        names = [role.name for role in self.roles]
        uncounted = [role.name for role in self.roles if role.size is None]
        named = {name for body in self.bodies for name in body.takes}
        named |= {name for name in (self.carried, self.chooses) if name is not None}
        if unknown := named.difference(names):
            raise _misdeclared(f"the roles {sorted(unknown)}", f"roles of operands: {names}")
        if uncounted not in ([], names[-1:]):
            raise _misdeclared(f"{uncounted} without a count", "a count for all roles but the last")
        if len([body for body in self.bodies if body.gives]) != 1:
            raise _misdeclared(f"{[b.param for b in self.bodies]}", "one body that gives results")
        if self.carried is not None and self.giving.gives[0] != self.carried:
            given = f"{self.giving.param}, which gives {list(self.giving.gives)}"
            raise _misdeclared(given, f"{self.carried!r} in front, for it is carried")

    @cached_property
    def giving(self) -> Body:
        """The body that gives the results."""
        return next(body for body in self.bodies if body.gives)

    @cached_property
    def deciding(self) -> list[Body]:
        """The bodies that say whether to go on."""
        return [body for body in self.bodies if not body.gives]

    @cached_property
    def passive(self) -> list[str]:
        """The roles that results depend on by decisions and choices alone."""
        return [role.name for role in self.roles if role.name not in self.giving.takes]

    def counts(self, operands: Parts) -> dict[str, int]:
        """The parameters that tell roles apart."""
        return {size: len(operands[name]) for name, size in self.roles if isinstance(size, str)}

    def parts(self, values: Sequence[Any], params: Mapping[str, Any]) -> Parts:
        """What belongs to the operands, by role."""
        parts, start = Parts(), 0
        for name, size in self.roles:
            count = params[size] if isinstance(size, str) else size
            end = len(values) if count is None else start + count
            parts[name] = list(values[start:end])
            start = end
        return parts

    def result_parts(self, values: Sequence[Any], carried: int) -> Parts:
        """What belongs to the results, `carried` of which are the carry, by role."""
        given = iter(values)
        return Parts(
            {
                name: list(islice(given, carried if name == self.carried else None))
                for name in self.giving.gives
            }
        )

    def result_avals(self, params: Mapping[str, Any]) -> list[Any]:
        """Avals of the results."""
        avals = self.giving.programs(params)[0].out_avals
        if not self.stacked:
            return list(avals)
        counts = [
            params[n] for name, n in self.roles if name == self.carried and isinstance(n, str)
        ]
        count = sum(counts)
        return [*avals[:count], *[stacked_aval(a, params[self.length]) for a in avals[count:]]]

    def effects(self, params: Mapping[str, Any]) -> Effects:
        """The effects of all programs, with references numbered as operands of the operation."""
        if not any([jaxpr.effects for body in self.bodies for jaxpr in body.programs(params)]):
            return no_effects
        effects, start, starts = no_effects, 0, {}
        for name, size in self.roles:
            starts[name] = start
            start += params[size] if isinstance(size, str) else size or 0
        for body in self.bodies:
            for jaxpr in body.programs(params):
                effects |= moved_effects(jaxpr.effects, starts[body.takes[0]])
        return effects


def stacked_aval(aval: Any, length: int) -> Any:
    """The aval of a stack of values."""
    if aval.is_high:
        return aval.inc_rank(length, aval.leading_axis_spec())
    return aval.with_axis(0, length)


def slice_aval(aval: Any, length: int) -> Any:
    """The aval of one slice of a stack of this length."""
    if type(aval) is AbstractRef:
        return aval.update(_slice_of_array(aval.inner_aval))
    if aval.is_high:
        return aval.dec_rank(length, aval.leading_axis_spec())
    return _slice_of_array(aval)


def _slice_of_array(aval: ShapedArray) -> ShapedArray:
    if aval.split is not None and aval.split.spec[0]:
        raise ValueError(
            message(
                "lax.scan, argument xs",
                given=f"{aval}",
                expected="xs whole along their first axis, whose slices are taken in turn",
                fix="Split another axis over the mesh, or map over this one with jax.vmap.",
            )
        )
    return aval.without_axis(0)


def _misdeclared(given: str, expected: str) -> ValueError:
    return ValueError(
        message(
            "wiring of an operation with bodies",
            given=given,
            expected=expected,
            fix="Mend the declaration `wiring` in the class of the operation.",
        )
    )
