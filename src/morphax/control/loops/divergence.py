"""Loops whose members, under `vmap`, end at different times.

Such a loop runs until all members have ended; those that have keep their carry.  So one member that
takes 10,000 steps costs 10,000 steps of all.  For one CPU it is compiled as a loop over blocks of
members, each of which ends when its own have (`in_blocks`).  See docs/design/divergence.md.

The jaxpr is the same either way.  What is needed for a block, the programs of one member, is known
here by the program that steps all members, as long as that lives: a transformation that changes
this one makes a loop of which nothing is known, and which is written as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, final
from weakref import WeakKeyDictionary

import numpy as np

from ...config import current as current_config
from ...core import BatchAxes, Jaxpr, Operand, ShapedArray, apply_jaxpr, stage_closed
from ...core.jaxpr import jaxprs_in_params
from ...engines.xla.stablehlo import Module
from ...lax.elementwise.arithmetic import add, mul
from ...lax.elementwise.comparison import lt
from ...lax.elementwise.selection import min as smaller
from ...lax.elementwise.selection import select_n
from ...lax.ground.linear_structure import broadcast_in_dim_p
from ...lax.indexing.dynamic_slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from ...lax.reduction.reductions import reduce_or
from ...transforms.batching import batch_jaxpr, batched_aval
from ..bodies.body_primitive import HasBodies
from ..bodies.wiring import Parts

_LEAST_ELEMENTS: Final = 1024
"""Of a carry with fewer elements a step of all members is as quick as one of a block."""

_ELEMENTS_OF_BLOCK: Final = 256
"""Of the largest array of the carry at least so many are in a block."""

_MOST_BLOCKS: Final = 64


@final
class Members(NamedTuple):
    """The loop of one member.

    Args:
        condition, body: constants and carry → a boolean, or the carry.
        condition_mask, body_mask: which constants differ between members; the whole carry does.
        size: how many members there are.
    """

    condition: Jaxpr
    body: Jaxpr
    condition_mask: tuple[bool, ...]
    body_mask: tuple[bool, ...]
    size: int

    def programs(self, size: int) -> tuple[Jaxpr, Jaxpr]:
        """Condition and body for so many members, which do not know yet that some have ended."""
        axes, carry = BatchAxes(size), (True,) * len(self.body.outvars)
        condition = batch_jaxpr(
            self.condition, _in_front(self.condition_mask + carry), axes, (True,)
        )
        body = batch_jaxpr(self.body, _in_front(self.body_mask + carry), axes, carry)
        return condition.jaxpr, body.jaxpr

    def block(self) -> int:
        """How many members are in a block, all of them if there is no use in blocks."""
        elements = max([a.size for a in self.body.out_avals], default=0)
        if self.size * elements < _LEAST_ELEMENTS:
            return self.size
        least = max(-(-_ELEMENTS_OF_BLOCK // elements), -(-self.size // _MOST_BLOCKS))
        return least if 2 * least <= self.size else self.size


_known: WeakKeyDictionary[Jaxpr, Members] = WeakKeyDictionary()


def note_members(body: Jaxpr, axes: BatchAxes, members: Members) -> None:
    """Remember what the members do of a loop with this body, if that may be of use.

    Args:
        body: steps all members that have not ended.
        axes: along which they are mapped.
        members: their programs.
    """
    programs = (members.condition, members.body)
    if axes.sharding is not None or axes.spmd_names or any([p.effects for p in programs]):
        return
    avals: list[Any] = [a for p in programs for a in (*p.in_avals, *p.out_avals)]
    if type(axes.size) is int and all([type(a) is ShapedArray and a.is_static for a in avals]):
        _known[body] = members


def members_of(module: Module, body: Jaxpr) -> Members | None:
    """The members of a loop that is to be written in blocks."""
    if not (module.is_for_one_cpu and module.splits_loops):
        return None
    members = _known.get(body)
    if members is None or members.block() == members.size:
        return None
    return members if _are_exact((members.condition, members.body)) else None


def members_apart(body: Jaxpr) -> list[Members]:
    """The members of a loop that is to be written as a loop of each, and of members their own.

    None, if nothing is known of them.
    """
    found: list[Members] = []
    while current_config().split_divergent_loops and body in _known:
        found.append(_known[body])
        body = found[-1].body
    return found if all([members.size for members in found]) else []


def _are_exact(programs: Sequence[Jaxpr]) -> bool:
    """Whether results are the same to the bit however many members are computed together.

    They are if each element is made of certain elements by the same operations.  Sums and products
    of matrices are taken in another order for another number of members.
    """
    for eqn in (eqn for program in programs for eqn in program.eqns):
        inner = list(jaxprs_in_params(eqn.params))
        if inner and (eqn.primitive.wiring is not None or eqn.primitive.plain_program):
            if not _are_exact(inner):
                return False
        elif eqn.primitive.reads is None and any([_is_rounded(v.aval) for v in eqn.outvars]):
            return False
    return True


def _is_rounded(aval: Any) -> bool:
    return isinstance(aval.dtype, np.dtype) and aval.dtype.kind not in "biu"


def any_member(condition: Jaxpr) -> Jaxpr:
    """Whether any member goes on, from the program that says which do."""
    return stage_closed(
        lambda *x: [reduce_or(apply_jaxpr(condition, *x)[0], (0,))], condition.in_avals
    )


def stopping_members(condition: Jaxpr, body: Jaxpr, cond_n: int, body_n: int) -> Jaxpr:
    """The body for members that end at different times: those that have keep their carry."""

    def function(*operands: Operand) -> list[Any]:
        cond_consts, rest = operands[:cond_n], operands[cond_n:]
        body_consts, carry = rest[:body_n], rest[body_n:]
        goes_on = apply_jaxpr(condition, *cond_consts, *carry)[0]
        changed = apply_jaxpr(body, *body_consts, *carry)
        return [_keep(goes_on, old, new) for old, new in zip(carry, changed, strict=True)]

    in_avals = [*condition.in_avals[:cond_n], *body.in_avals]
    return stage_closed(function, in_avals)


def _keep(goes_on: Operand, old: Operand, new: Operand) -> Any:
    which = broadcast_in_dim_p.bind(
        goes_on, shape=new.aval.shape, broadcast_dimensions=(0,), sharding=None
    )
    return select_n(which, old, new)


def in_blocks(loop: HasBodies, members: Members) -> Jaxpr:
    """The loop of all members as a loop over blocks, each of which ends when its members have.

    Args:
        loop: the primitive.
        members: what they do.

    Returns:
        Constants of the condition, constants of the body, carry → the last carry.
    """
    size, masks = members.block(), (members.condition_mask, members.body_mask)
    num_cond, num_body = map(len, masks)
    condition, body = members.programs(size)
    goes_on = any_member(condition)
    step = stopping_members(condition, body, num_cond, num_body)
    number = np.int32(-(-members.size // size))

    def whole_loop(*operands: Operand) -> list[Any]:
        given = iter(operands)
        constants = list(islice(given, num_cond)), list(islice(given, num_body))

        def block(i: Operand, *carry: Operand) -> list[Any]:
            # The last block may begin in another; members that have ended stay as they are.
            start = smaller(mul(i, np.int32(size)), np.int32(members.size - size))

            def part(x: Operand, differs: bool) -> Any:
                if not differs:
                    return x
                return dynamic_slice_in_dim(x, start, size, 0, allow_negative_indices=False)

            cond_consts, body_consts = (
                list(map(part, role, mask)) for role, mask in zip(constants, masks, strict=True)
            )
            own = repeat(
                lambda *x: apply_jaxpr(goes_on, *cond_consts, *x),
                lambda *x: apply_jaxpr(step, *cond_consts, *body_consts, *x),
                [part(x, True) for x in carry],
            )
            blocks = zip(carry, own, strict=True)
            later = [
                dynamic_update_slice_in_dim(x, new, start, 0, allow_negative_indices=False)
                for x, new in blocks
            ]
            return [add(i, np.int32(1)), *later]

        return repeat(lambda i, *_: [lt(i, number)], block, [np.int32(0), *given])[1:]

    def repeat(
        condition: Callable[..., Any], body: Callable[..., Any], carry: list[Any]
    ) -> list[Any]:
        programs = {"cond_jaxpr": condition, "body_jaxpr": body}
        return loop.staged(programs, Parts(cond_consts=[], body_consts=[], carry=carry))

    axes = BatchAxes(members.size)
    flags = (*masks[0], *masks[1], *[True] * len(members.body.outvars))
    avals = [*members.condition.in_avals[:num_cond], *members.body.in_avals]
    in_avals = [batched_aval(a, 0, axes) if on else a for a, on in zip(avals, flags, strict=True)]
    return stage_closed(whole_loop, in_avals)


def _in_front(mask: Sequence[bool]) -> tuple[int | None, ...]:
    return tuple([0 if on else None for on in mask])
