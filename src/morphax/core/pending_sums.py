"""Which sums over axes of a mesh are still to be taken of results: see `core.abstract_sharding`.

An array x that is unreduced stands for Σₖ xₖ, where xₖ is what the devices at place k have.  They
apply an operation f to what they have, which is right if f(Σₖ xₖ) = Σₖ f(xₖ): if it is linear in
the operands that are unreduced, together.  All others must be the same along the axis; so that no
derivative communicates without being asked to, they are reduced, or numbers that no mesh has.  A
result of reduced operands is reduced, whatever the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from .. import dtypes
from ..util.messages import message
from .abstract_sharding import Names

Groups = Sequence[Collection[int]]
"""Sets of operands in which together an operation is linear while the others stay as they are."""


@final
class PendingSums(NamedTuple):
    """One application of a primitive to operands of which sums are still to be taken.

    Args:
        name: of the primitive.
        avals: of the operands.
        groups: in which operands it is linear.
        contracts: whether operands may differ in what is reduced.
    """

    name: str
    avals: Sequence[Any]
    groups: Callable[[], Groups]
    contracts: bool

    def of_results(self, results: Sequence[Any]) -> tuple[Any, ...]:
        """Results with the sums that are still to be taken of them.

        Raises:
            TypeError: if the operation would have to communicate.
        """
        unreduced = frozenset([n for n in self._names("unreduced") if self._stays_unreduced(n)])
        others = self._names("reduced") - unreduced
        reduced = frozenset([n for n in others if self._stays_reduced(n)])
        return tuple([self._of(r, unreduced, reduced, others) for r in results])

    def _of(self, result: Any, unreduced: Names, reduced: Names, others: Names) -> Any:
        """A result with sums as operands have them, where these do not say it with its own."""
        own = result.split
        # What is repeated for parts that a rule has split is reduced no more.
        reduced = reduced.difference(*own.spec)
        split = replace(
            own,
            unreduced=(own.unreduced - reduced) | unreduced,
            reduced=(own.reduced - unreduced - others) | reduced,
        )
        return result.update(sharding=split)

    def _names(self, kind: str) -> Names:
        splits = [s for a in self.avals if (s := getattr(a, "split", None)) is not None]
        return frozenset().union(*[getattr(split, kind) for split in splits])

    def _stays_unreduced(self, name: Hashable) -> bool:
        summed = [_is(a, "unreduced", name) for a in self.avals]
        linear = [group for group in self.groups() if _is_group(group, summed)]
        if not linear:
            self._refuse(
                name,
                "an operation that is linear in the operands that are still to be summed, together",
                "Take the sum first: jax.sharding.reshard(x, jax.P(...)).",
            )
        for aval, on in zip(self.avals, summed, strict=True):
            if not on and not _is_same_along(aval, name):
                self._refuse(
                    name,
                    f"other operands that are reduced along {name!r}",
                    f"Make them so, by jax.sharding.reshard(x, jax.P(..., reduced={{{name!r}}})), "
                    "or take the sum first.",
                )
        return True

    def _stays_reduced(self, name: Hashable) -> bool:
        if self.contracts:
            return False
        for aval in self.avals:
            if getattr(aval, "split", None) is not None and not _is(aval, "reduced", name):
                self._refuse(
                    name,
                    f"operands that are all reduced along {name!r}",
                    "Use jax.sharding.reshard for the others, or for those that are reduced.",
                )
        return True

    def _refuse(self, name: Hashable, expected: str, fix: str) -> NoReturn:
        raise TypeError(
            message(
                f"{self.name}, operands with sums over {name!r} that are still to be taken",
                given=" and ".join([a.str_short(short_dtypes=False) for a in self.avals]),
                expected=expected,
                fix=fix,
            )
        )


def have_sums(avals: Sequence[Any]) -> bool:
    """Whether sums are still to be taken of one of these, or of its cotangent."""
    return any([s is not None and s.has_sums for a in avals for s in (getattr(a, "split", None),)])


def _is(aval: Any, kind: str, name: Hashable) -> bool:
    split = getattr(aval, "split", None)
    return split is not None and name in getattr(split, kind)


def _is_group(group: Collection[int], chosen: Sequence[bool]) -> bool:
    return [i in group for i in range(len(chosen))] == list(chosen)


def _is_same_along(aval: Any, name: Hashable) -> bool:
    """Whether an operand is the same along an axis, and its derivative, if it has one, a sum."""
    split = getattr(aval, "split", None)
    if split is None or name in split.reduced:
        return True
    has_derivative = dtypes.issubdtype(aval.dtype, np.inexact)
    return not has_derivative and not any([name in names for names in split.spec])
