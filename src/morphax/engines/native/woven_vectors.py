"""Vectors whose elements take turns in memory: how they are put together, and taken apart.

Two are woven by the instructions for halves of vectors, and four as two pairs of two; only three
need vectors of elements from everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..loops.program import Buffer, Index, Load, Statement
from .vector_loops import STRIDES, VectorLoop

Shuffle = Callable[[str, str, Sequence[int]], str]
"""Writes a vector of elements of two others, given their numbers, and gives its name."""


def woven(vectors: Sequence[str], width: int, shuffle: Shuffle) -> list[str]:
    """The elements of as many vectors, one of each in turn."""
    count = len(vectors)
    if count == 1:
        return list(vectors)
    if count % 2:
        return [_of_turns(vectors, i * width, width, shuffle) for i in range(count)]
    halves = woven(vectors[::2], width, shuffle), woven(vectors[1::2], width, shuffle)
    order = [i // 2 + width * (i % 2) for i in range(2 * width)]
    return [
        shuffle(first, second, part)
        for first, second in zip(*halves, strict=True)
        for part in (order[:width], order[width:])
    ]


def _of_turns(vectors: Sequence[str], start: int, width: int, shuffle: Shuffle) -> str:
    """One of the vectors that are woven."""
    value, steps = "poison", [divmod(start + i, len(vectors)) for i in range(width)]
    for turn, vector in enumerate(vectors):
        places = [width + n if k == turn else i for i, (n, k) in enumerate(steps)]
        value = shuffle(value, vector, places)
    return value


def unwoven(vectors: Sequence[str], width: int, shuffle: Shuffle) -> list[str]:
    """The vectors of which others are woven."""
    count = len(vectors)
    if count == 1:
        return list(vectors)
    if count % 2:
        return [_every(vectors, turn, width, shuffle) for turn in range(count)]
    pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
    parts: list[list[str]] = []
    for turn in range(2):
        halves = [shuffle(x, y, range(turn, 2 * width, 2)) for x, y in pairs]
        parts.append(unwoven(halves, width, shuffle))
    return [vector for pair in zip(*parts, strict=True) for vector in pair]


def _every(vectors: Sequence[str], turn: int, width: int, shuffle: Shuffle) -> str:
    """The elements whose turn it is."""
    value, steps = "poison", [divmod(turn + i * len(vectors), width) for i in range(width)]
    for number, vector in enumerate(vectors):
        places = [width + n if k == number else i for i, (k, n) in enumerate(steps)]
        value = shuffle(value, vector, places)
    return value


def loaded_together(
    plan: VectorLoop, body: Iterable[Statement]
) -> dict[tuple[Buffer, Index], tuple[Index, ...]]:
    """The elements that are loaded with all that lie between them and those of the next step.

    Those of buffers in which nothing is stored: it is the same when they are loaded.
    """
    found: dict[tuple[Buffer, Index], tuple[Index, ...]] = {}
    loads = {(x.buffer, x.index): None for x in body if type(x) is Load}
    for buffer, index in loads:
        stride = plan.factor(index)
        if stride not in STRIDES or (buffer, index) in found:
            continue
        row = tuple([index.plus(i) for i in range(stride)])
        if all([(buffer, x) in loads and (buffer, x) not in found for x in row]):
            found |= {(buffer, x): row for x in row}
    return found
