"""Temporaries that are never alive together have the same memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from morphax.engines.loops.memory import Life, slots_of
from morphax.engines.loops.program import Buffer, Kind


def _lives(rng: np.random.Generator, count: int) -> list[Life]:
    dtypes = [np.dtype(np.float32), np.dtype(np.int32)]
    starts = np.sort(rng.integers(0, 60, count))
    return [
        Life(
            Buffer(f"b{i}", dtypes[rng.integers(2)], (int(rng.integers(65, 70)),), Kind.TEMPORARY),
            int(start),
            int(start + rng.integers(0, 20)),
        )
        for i, start in enumerate(starts)
    ]


def _by_search(lives: list[Life]) -> list[list[Buffer]]:
    """The same by asking every slot."""
    slots: list[tuple[list[Buffer], int]] = []
    for life in lives:
        own = life.buffer
        free = [
            (abs(members[0].size - own.size), number)
            for number, (members, end) in enumerate(slots)
            if end < life.start and members[0].dtype == own.dtype
        ]
        if free:
            number = min(free)[1]
            slots[number] = [*slots[number][0], own], life.end
        else:
            slots.append(([own], life.end))
    return [members for members, _ in slots]


@pytest.mark.parametrize("seed", range(20))
def test_a_slot_is_the_nearest_in_size_that_is_free(seed: int) -> None:
    lives = _lives(np.random.default_rng(seed), 60)
    found = slots_of(lives)
    assert found == _by_search(lives)
    spans = {life.buffer: (life.start, life.end) for life in lives}
    for members in found:
        for one, other in pairwise(members):
            assert spans[one][1] < spans[other][0]
