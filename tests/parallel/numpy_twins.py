"""What each collective means: the operands of all members, as one NumPy array, to all results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from morphax import lax

Twin = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Collective:
    """One collective with its arguments.

    Args:
        function: (operand of a member, axis name, further keyword arguments) → result.
        twin: operands of all n members, along axis 0 → results.
        shape: n → shape of a member's operand.
        linear: whether the result is linear in the operand.
        grouped: whether there are groups of members.
    """

    function: Callable[..., Any]
    twin: Twin
    shape: Callable[[int], tuple[int, ...]]
    linear: bool = True
    grouped: bool = True

    def operands(self, count: int, parts: int | None = None) -> np.ndarray[Any, Any]:
        """Operands of `count` members, of which `parts` communicate."""
        shape = (count, *self.shape(count if parts is None else parts))
        return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def repeated(combined: Any, count: int) -> np.ndarray[Any, Any]:
    return np.stack([combined] * count)


def scattered(xs: Any, axis: int, tiled: bool) -> Any:
    total = xs.sum(0)
    parts = np.split(total, len(xs), axis)
    return np.stack([p if tiled else p.squeeze(axis) for p in parts])


def exchanged(xs: Any, split: int, concat: int, tiled: bool) -> Any:
    sent = [np.split(x, len(xs), split) for x in xs]
    received = [[parts[j] for parts in sent] for j in range(len(xs))]
    if tiled:
        return np.stack([np.concatenate(parts, concat) for parts in received])
    return np.stack([np.stack([p.squeeze(split) for p in parts], concat) for parts in received])


def passed(xs: Any, pairs: Sequence[tuple[int, int]]) -> Any:
    results = np.zeros_like(xs)
    for source, destination in pairs:
        results[destination] = xs[source]
    return results


def by_groups(twin: Twin, groups: Sequence[Sequence[int]]) -> Twin:
    """The meaning of a collective that stays within groups."""

    def grouped(xs: Any) -> Any:
        results: dict[int, Any] = {}
        for group in groups:
            results.update(zip(group, twin(xs[list(group)]), strict=True))
        return np.stack([results[i] for i in range(len(xs))])

    return grouped


def ragged(x: Any, axis_name: Any, **groups: Any) -> Any:
    """Slices of one row or two, which overlap in the operand, to each member."""
    n = len(groups["axis_index_groups"][0]) if groups else lax.axis_size(axis_name)

    def exchanged(sent: Any) -> Any:
        return lax.all_to_all(sent, axis_name, 0, 0, tiled=True, **groups)

    sizes = 1 + np.arange(n) % 2
    places = 2 * exchanged(np.arange(n))
    output = np.zeros((2 * n, *x.shape[1:]), np.float32)
    slices = (np.arange(n) % 4, sizes, places, exchanged(sizes))
    return lax.ragged_all_to_all(x, output, *slices, axis_name=axis_name, **groups)


def ragged_twin(xs: Any) -> Any:
    n = len(xs)
    results = np.zeros((n, 2 * n, *xs.shape[2:]), xs.dtype)
    for source in range(n):
        for to in range(n):
            part = xs[source, to % 4 : to % 4 + 1 + to % 2]
            results[to, 2 * source : 2 * source + len(part)] = part
    return results


RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
SOME = [(3, 0), (1, 2)]


COLLECTIVES = {
    "psum": Collective(lax.psum, lambda xs: repeated(xs.sum(0), len(xs)), lambda n: (2,)),
    "pmean": Collective(lax.pmean, lambda xs: repeated(xs.mean(0), len(xs)), lambda n: (2,)),
    "pmax": Collective(
        lax.pmax, lambda xs: repeated(xs.max(0), len(xs)), lambda n: (2,), linear=False
    ),
    "pmin": Collective(
        lax.pmin, lambda xs: repeated(xs.min(0), len(xs)), lambda n: (2, 3), linear=False
    ),
    "all_gather": Collective(lax.all_gather, lambda xs: repeated(xs, len(xs)), lambda n: (2, 3)),
    "all_gather scalars": Collective(
        lax.all_gather, lambda xs: repeated(xs, len(xs)), lambda n: ()
    ),
    "all_gather along the last axis": Collective(
        lambda x, i, **k: lax.all_gather(x, i, axis=-1, **k),
        lambda xs: repeated(np.moveaxis(xs, 0, -1), len(xs)),
        lambda n: (2, 3),
    ),
    "all_gather tiled": Collective(
        lambda x, i, **k: lax.all_gather(x, i, axis=1, tiled=True, **k),
        lambda xs: repeated(np.concatenate(xs, 1), len(xs)),
        lambda n: (2, 3),
    ),
    "psum_scatter": Collective(
        lax.psum_scatter, lambda xs: scattered(xs, 0, False), lambda n: (n, 2)
    ),
    "psum_scatter tiled": Collective(
        lambda x, i, **k: lax.psum_scatter(x, i, scatter_dimension=-1, tiled=True, **k),
        lambda xs: scattered(xs, 1, True),
        lambda n: (2, 2 * n),
    ),
    "all_to_all": Collective(
        lambda x, i, **k: lax.all_to_all(x, i, 0, 1, **k),
        lambda xs: exchanged(xs, 0, 1, False),
        lambda n: (n, 3),
    ),
    "all_to_all backwards": Collective(
        lambda x, i, **k: lax.all_to_all(x, i, 2, 0, **k),
        lambda xs: exchanged(xs, 2, 0, False),
        lambda n: (2, 3, n),
    ),
    "all_to_all in place": Collective(
        lambda x, i, **k: lax.all_to_all(x, i, 1, 1, **k),
        lambda xs: exchanged(xs, 1, 1, False),
        lambda n: (2, n),
    ),
    "all_to_all tiled": Collective(
        lambda x, i, **k: lax.all_to_all(x, i, 0, -1, tiled=True, **k),
        lambda xs: exchanged(xs, 0, 1, True),
        lambda n: (2 * n, 3),
    ),
    "all_to_all tiled in place": Collective(
        lambda x, i, **k: lax.all_to_all(x, i, 1, 1, tiled=True, **k),
        lambda xs: exchanged(xs, 1, 1, True),
        lambda n: (3, 2 * n),
    ),
    "ragged_all_to_all": Collective(ragged, ragged_twin, lambda n: (5, 2)),
    "pswapaxes": Collective(
        lambda x, i, **k: lax.pswapaxes(x, i, 1, **k),
        lambda xs: np.swapaxes(xs, 0, 2),
        lambda n: (3, n),
    ),
    "ppermute round a ring": Collective(
        lambda x, i: lax.ppermute(x, i, RING),
        lambda xs: passed(xs, RING),
        lambda n: (3,),
        grouped=False,
    ),
    "ppermute of some": Collective(
        lambda x, i: lax.ppermute(x, i, SOME),
        lambda xs: passed(xs, SOME),
        lambda n: (),
        grouped=False,
    ),
    "pshuffle": Collective(
        lambda x, i: lax.pshuffle(x, i, [2, 0, 1, 3]),
        lambda xs: xs[[2, 0, 1, 3]],
        lambda n: (2, 2),
        grouped=False,
    ),
    "pbroadcast": Collective(
        lambda x, i: lax.pbroadcast(x, i, 2),
        lambda xs: repeated(xs[2], len(xs)),
        lambda n: (3,),
        grouped=False,
    ),
    "pcast": Collective(
        lambda x, i: lax.pcast(x, i, to="varying"), lambda xs: xs, lambda n: (3,), grouped=False
    ),
    "axis_index": Collective(
        lambda x, i: x * lax.axis_index(i),
        lambda xs: xs * np.arange(len(xs), dtype=xs.dtype).reshape(-1, 1),
        lambda n: (2,),
        grouped=False,
    ),
}
"""Each is for four members."""
