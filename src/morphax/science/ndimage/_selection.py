"""The sample of a rank in a window around each sample, for all samples at once.

Samples are compared as integers in the order of floats, all NaN as one above all numbers.

Windows of few samples are sorted by a network that does for all of them the same, vector by vector:
Batcher's merge exchange, without the comparisons that the rank does not need.  For the middle of
9, 25 and 81 samples 22, 113 and 661 are left.  Larger windows slide (`_window_ranks.py`).

References: K. E. Batcher, "Sorting networks and their applications", Proceedings of the AFIPS
Spring Joint Computer Conference 32 (1968); D. E. Knuth, The Art of Computer Programming, vol. 3,
2nd ed., Addison-Wesley 1998, 5.2.2, algorithm M.
"""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...control.jit.jit import jit
from ...numpy.order_keys import from_order_keys, order_keys
from ._window_ranks import window_rank_p
from ._windows import Offsets, shifted

# A network for more takes longer to compile than it saves.
_LARGEST_NETWORK = 128


@partial(jit, static_argnames=("offsets", "shape", "rank"), inline=True)
def selected(padded: Any, *, offsets: Offsets, shape: tuple[int, ...], rank: int) -> Any:
    """Of the samples at `offsets` from each that of a rank, counted from 0.

    The derivative is that of this sample, of equal ones of the one that comes first as a sort that
    keeps their order would have it.

    Args:
        padded: real image with what stands around it.
        offsets: where the window of the first sample has its samples; one at least.
        shape: the shape of the image.
        rank: the rank, 0 ≤ rank < len(offsets).
    """
    if len(offsets) <= _LARGEST_NETWORK:
        return _selected(offsets, shape, rank, padded)
    order = _axes_to_slide(offsets, shape)
    turned = lax.transpose(padded, order)
    sizes, steps = [tuple([x[i] for i in order]) for x in (shape, [*zip(*offsets, strict=True)])]
    keys = _wide(_keys(lax.stop_gradient(turned)))
    window = tuple(sorted(zip(*steps, strict=True)))
    places = window_rank_p.bind(keys, offsets=window, shape=sizes, rank=rank)
    return lax.transpose(jnp.ravel(turned)[places], np.argsort(order))


def _axes_to_slide(offsets: Offsets, shape: tuple[int, ...]) -> list[int]:
    """The axes, last the one along which windows change least as they go along all samples."""
    window, size = set(offsets), max(prod(shape), 1)

    def changes(axis: int) -> int:
        leaving = [o for o in offsets if (*o[:axis], o[axis] - 1, *o[axis + 1 :]) not in window]
        return len(leaving) * size + len(offsets) * (size // shape[axis])

    last = min(reversed(range(len(shape))), key=changes)
    return [*[i for i in range(len(shape)) if i != last], last]


@partial(custom_jvp, nondiff_argnums=(0, 1, 2))
def _selected(offsets: Offsets, shape: tuple[int, ...], rank: int, padded: Any) -> Any:
    windows = list(shifted(_keys(padded), offsets, shape))
    for i, j, low, high in _network(len(windows), rank):
        x, y = windows[i], windows[j]
        if low:
            windows[i] = lax.min(x, y)
        if high:
            windows[j] = lax.max(x, y)
    dtype = padded.aval.dtype
    found = windows[rank]
    return from_order_keys(found, dtype) if _is_floating(dtype) else found.astype(dtype)


@_selected.defjvp
def _selected_jvp(
    offsets: Offsets, shape: tuple[int, ...], rank: int, primals: Any, tangents: Any
) -> tuple[Any, Any]:
    (padded,), (moved,) = primals, tangents
    found = _selected(offsets, shape, rank, padded)
    wanted = _keys(found)
    windows = list(shifted(_keys(padded), offsets, shape))
    left: Any = np.int32(rank)
    for window in windows:
        left = left - (window < wanted)
    # Of the equal samples, which come in the order of their offsets, that many come before.
    number: Any = np.int32(0)
    for i, window in enumerate(windows):
        is_equal = window == wanted
        number = jnp.where(is_equal & (left == 0), np.int32(i), number)
        left = left - is_equal
    return found, _read(moved, offsets, number)


def _read(padded: Any, offsets: Offsets, numbers: Any) -> Any:
    """From each sample on, the one at the offset of a number."""
    steps = jnp.asarray(np.asarray(offsets, np.int32).T)
    shape = numbers.aval.shape
    first = [lax.broadcasted_iota(np.int32, shape, axis) for axis in range(len(shape))]
    return padded[tuple(i + step[numbers] for i, step in zip(first, steps, strict=True))]


def _is_floating(dtype: Any) -> bool:
    return dtypes.issubdtype(dtype, np.floating)


def _keys(x: Any) -> Any:
    """Integers in the order of the numbers."""
    if _is_floating(x.aval.dtype):
        return order_keys(jnp.where(jnp.isnan(x), np.nan, x))
    return x.astype(np.uint8) if x.aval.dtype.kind == "b" else x


def _wide(keys: Any) -> Any:
    """The same order in int32 or int64."""
    dtype = keys.aval.dtype
    if dtype.kind == "i":
        return keys if dtype.itemsize >= 4 else keys.astype(np.int32)
    if dtype.itemsize < 4:
        return keys.astype(np.int32)
    signed = np.dtype(f"int{8 * dtype.itemsize}")
    return lax.bitcast_convert_type(keys, signed) ^ signed.type(np.iinfo(signed).min)


@cache
def _network(count: int, rank: int) -> tuple[tuple[int, int, bool, bool], ...]:
    """Pairs of places to bring in order, and whether the smaller and the larger one are needed."""
    needed, kept = {rank}, []
    for i, j in reversed(_merge_exchange(count)):
        if i in needed or j in needed:
            kept.append((i, j, i in needed, j in needed))
            needed |= {i, j}
    return tuple(reversed(kept))


def _merge_exchange(count: int) -> list[tuple[int, int]]:
    """Pairs of places that sort `count` numbers, by Knuth's algorithm M with its names."""
    pairs = []
    top = 1 << max((count - 1).bit_length() - 1, 0)
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            pairs += [(i, i + d) for i in range(count - d) if i & p == r]
            if q == p:
                break
            q, r, d = q >> 1, p, q - p
        p >>= 1
    return pairs
