"""The operands of a scan by role, and where a mask of them settles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple


class ScanParts(NamedTuple):
    """What belongs to the constants, to the carry, and to the scanned arrays."""

    consts: list[Any]
    carry: list[Any]
    xs: list[Any]

    @classmethod
    def of(cls, values: Sequence[Any], *, num_consts: int, num_carry: int, **_: Any) -> ScanParts:
        """Split what stands in the order of the operands."""
        n, m = num_consts, num_consts + num_carry
        return cls(list(values[:n]), list(values[n:m]), list(values[m:]))

    @property
    def flat(self) -> list[Any]:
        return self.consts + self.carry + self.xs

    def where(self, mask: ScanParts) -> ScanParts:
        """The members at which `mask` is true."""
        return ScanParts(
            *[
                [x for x, on in zip(values, ons, strict=True) if on]
                for values, ons in zip(self, mask, strict=True)
            ]
        )

    def beside(self, other: ScanParts) -> ScanParts:
        """In each role, these and then those of `other`."""
        return ScanParts(*[a + b for a, b in zip(self, other, strict=True)])

    def sizes(self) -> dict[str, int]:
        """The parameters of `scan` that tell the roles apart."""
        return {"num_consts": len(self.consts), "num_carry": len(self.carry)}

    def cut(self, values: Sequence[Any]) -> ScanParts:
        """Split `values` into roles as long as these."""
        given: Iterator[Any] = iter(values)
        return ScanParts(*[[next(given) for _ in role] for role in self])


def settled(carry: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """The least mask of carry components that contains `carry` and that one step maps into itself.

    Args:
        carry: components that have the property (a tangent, a batch axis) at the start.
        step: components that have it at the start of a step → those that have it at its end.
    """
    now = list(carry)
    while True:
        after = [a or b for a, b in zip(now, step(now), strict=True)]
        if after == now:
            return now
        now = after
