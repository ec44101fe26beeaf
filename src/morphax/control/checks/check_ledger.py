"""The account of checks that an interpreter keeps while it writes a checked program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import Operand, held_for_a_while
from ...lax.elementwise.arithmetic import add
from ...lax.elementwise.bitwise import bitwise_or
from ...lax.elementwise.selection import select
from .check_sites import CheckState, Layout, Site, layout_of, no_failure


def first_failure(earlier: CheckState, later: CheckState) -> CheckState:
    """The state of two programs with one table of sites, that run one after the other."""
    failed = earlier.pred
    values = dict(later.values)
    for signature, old in earlier.values.items():
        new = later.values.get(signature)
        values[signature] = old if new is None else _selected(failed, old, new)
    return CheckState(
        bitwise_or(failed, later.pred), select(failed, earlier.code, later.code), values
    )


def _selected(pred: Operand, on_true: Sequence[Any], on_false: Sequence[Any]) -> list[Any]:
    return [select(pred, x, y) for x, y in zip(on_true, on_false, strict=True)]


def renumbered(state: CheckState, offset: int) -> CheckState:
    """The state with `offset` added to the number of its site."""
    if offset == 0:
        return state
    known = isinstance(state.code, np.integer)
    shift = np.int32(offset)
    return state._replace(code=np.int32(state.code + shift) if known else add(state.code, shift))


@held_for_a_while
@final
class Ledger:
    """The sites met so far, and the state of the first failure among them."""

    def __init__(self) -> None:
        self._sites: list[Site] = []
        self._state: CheckState | None = None

    def record(self, failed: Operand, site: Site, values: Sequence[Any] = ()) -> None:
        """Enter one check: whether it failed, and what its text needs to know."""
        given = {site.signature: values} if site.signature else {}
        self.add(CheckState(failed, np.int32(0), given), (site,))

    def add(self, state: CheckState, sites: Sequence[Site]) -> None:
        """Enter a program that ran: its state, and the sites that this numbers."""
        later = renumbered(state, len(self._sites))
        self._sites.extend(sites)
        self._state = later if self._state is None else first_failure(self._state, later)

    def take(self, results: Sequence[Any], sites: tuple[Site, ...], layout: Layout) -> list[Any]:
        """Enter the state at the head of a program's results, and give back the others."""
        state, outs = CheckState.unpack(results, layout)
        self.add(state, sites)
        return outs

    @property
    def sites(self) -> tuple[Site, ...]:
        return tuple(self._sites)

    def packed(self) -> list[Any]:
        """The state in the layout of the sites."""
        state = no_failure if self._state is None else self._state
        return state.pack(layout_of(self.sites))
