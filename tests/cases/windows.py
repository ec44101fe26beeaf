"""Gather and scatter, compared with loops over windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from morphax import lax
from morphax.lax.indexing.index_bounds import default_fill_value
from morphax.lax.indexing.index_take import index_take

from .op_case import ALL, COMPLEXES, FLOATS, INTEGERS, OpCase, Operand

MOVED = (*FLOATS, *COMPLEXES, "int32", "bool")
Mode = lax.GatherScatterMode
WRAPPING = Operand((5,), -9, 9, dtype="int32", differentiable=False)


def windows(
    shape: Sequence[int], indices: Any, numbers: Any, sizes: Sequence[int], *, clip: bool
) -> Iterator[tuple[tuple[Any, ...], tuple[slice, ...] | None]]:
    """For each window: where it is in the result or in the updates, and in the operand.

    The latter is `None` if the window leaves the operand and is not moved inside.
    """
    window_axes, _, index_map, batching, indices_batching = numbers
    for b in np.ndindex(*indices.shape[:-1]):
        start = [0] * len(shape)
        for component, axis in zip(indices[b], index_map, strict=True):
            start[axis] = int(component)
        for axis, indices_axis in zip(batching, indices_batching, strict=True):
            start[axis] = b[indices_axis]
        highest = [n - size for n, size in zip(shape, sizes, strict=True)]
        nearest = [min(max(s, 0), h) for s, h in zip(start, highest, strict=True)]
        batch = iter(b)
        ndim = len(b) + len(window_axes)
        place = tuple([slice(None) if i in window_axes else next(batch) for i in range(ndim)])
        block = tuple([slice(s, s + size) for s, size in zip(nearest, sizes, strict=True)])
        yield place, block if clip or nearest == start else None


def gathered(x: Any, indices: Any, numbers: Any, sizes: Any, mode: Any) -> Any:
    """`gather`, window by window."""
    window_axes, collapsed, _, batching, _ = numbers
    kept = [n for i, n in enumerate(sizes) if i not in collapsed + batching]
    window, batch = iter(kept), iter(indices.shape[:-1])
    ndim = indices.ndim - 1 + len(kept)
    shape = [next(window) if i in window_axes else next(batch) for i in range(ndim)]
    out = np.full(shape, default_fill_value(x.dtype), x.dtype)
    for place, block in windows(
        x.shape, indices, numbers, sizes, clip=mode is not Mode.FILL_OR_DROP
    ):
        if block is not None:
            out[place] = x[block].reshape(kept)
    return out


def scattered(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A scatter, window by window."""

    def reference(x: Any, indices: Any, updates: Any, numbers: Any, mode: Any) -> Any:
        out = x.copy()
        window_axes, inserted, _, batching, _ = numbers
        kept = [i for i in range(x.ndim) if i not in inserted + batching]
        sizes = [1] * x.ndim
        for axis, d in zip(kept, window_axes, strict=True):
            sizes[axis] = updates.shape[d]
        for place, block in windows(x.shape, indices, numbers, sizes, clip=mode is Mode.CLIP):
            if block is not None:
                out[block] = combine(out[block], updates[place].reshape(sizes))
        return out

    return reference


@final
@dataclass(frozen=True)
class Pattern:
    """Shapes and dimension numbers of one way of indexing.

    Args:
        label: what it is in terms of indexing.
        shape: of the operand.
        indices: shape of the indices.
        numbers: the five fields of dimension numbers.
        sizes: of a window, along each axis of the operand.
        updates: the shape of the gathered windows.
    """

    label: str
    shape: tuple[int, ...]
    indices: tuple[int, ...]
    numbers: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    updates: tuple[int, ...]


PATTERNS = (
    Pattern("rows", (4, 3), (5, 1), ((1,), (0,), (0,), (), ()), (1, 3), (5, 3)),
    Pattern("one_row", (4, 3), (1,), ((0,), (0,), (0,), (), ()), (1, 3), (3,)),
    Pattern("columns", (4, 3), (5, 1), ((0,), (1,), (1,), (), ()), (4, 1), (4, 5)),
    Pattern("elements", (4, 3), (5, 2), ((), (0, 1), (0, 1), (), ()), (1, 1), (5,)),
    Pattern("swapped", (4, 3), (5, 2), ((), (0, 1), (1, 0), (), ()), (1, 1), (5,)),
    Pattern("vector", (6,), (2, 3, 1), ((), (0,), (0,), (), ()), (1,), (2, 3)),
    Pattern("kept", (6,), (4, 1), ((1,), (), (0,), (), ()), (1,), (4, 1)),
    Pattern("blocks", (5, 4), (3, 2), ((1, 2), (), (0, 1), (), ()), (2, 3), (3, 2, 3)),
    Pattern("inner", (2, 4, 3), (5, 1), ((0, 2), (1,), (1,), (), ()), (2, 1, 3), (2, 5, 3)),
    Pattern("corner", (4, 4), (3, 1), ((1,), (0,), (0,), (), ()), (1, 2), (3, 2)),
    Pattern("window_first", (4, 3), (5, 1), ((0,), (0,), (0,), (), ()), (1, 3), (3, 5)),
    Pattern("along_axis", (3, 4), (3, 2, 1), ((), (1,), (1,), (0,), (0,)), (1, 1), (3, 2)),
    Pattern(
        "batched", (2, 3, 4), (3, 2, 1), ((2,), (), (2,), (0, 1), (1, 0)), (1, 1, 2), (3, 2, 2)
    ),
    Pattern("thin_batch", (3, 1), (2, 1, 1), ((), (0,), (0,), (1,), (1,)), (1, 1), (2, 1)),
    Pattern("no_index", (3, 2), (4, 0), ((1, 2), (), (), (), ()), (2, 2), (4, 2, 2)),
    Pattern("rank_0", (), (3, 0), ((), (), (), (), ()), (), (3,)),
    Pattern("no_window", (4, 3), (0, 1), ((1,), (0,), (0,), (), ()), (1, 3), (0, 3)),
    Pattern("thin", (4, 0), (2, 1), ((1,), (0,), (0,), (), ()), (1, 0), (2, 0)),
)
UNIQUE = (
    Pattern("rows", (4, 3), (3, 1), ((1,), (0,), (0,), (), ()), (1, 3), (3, 3)),
    Pattern("vector", (6,), (2, 3, 1), ((), (0,), (0,), (), ()), (1,), (2, 3)),
    Pattern("kept", (6,), (4, 1), ((1,), (), (0,), (), ()), (1,), (4, 1)),
)
MODES = {"clip": Mode.CLIP, "fill": Mode.FILL_OR_DROP, "promise": Mode.PROMISE_IN_BOUNDS}


def places(pattern: Pattern, *, inside: bool) -> Operand:
    """Indices that reach beyond the ends, unless they must lie inside."""
    low, high = (0, 2) if inside else (-2, 7)
    return Operand(pattern.indices, low, high, dtype="int32", differentiable=False)


def gather_case(pattern: Pattern, mode: str, dtypes: Any = ("float64",)) -> OpCase:
    numbers, sizes = lax.GatherDimensionNumbers(*pattern.numbers), pattern.sizes
    return OpCase(
        f"gather/{pattern.label}/{mode}",
        lambda x, i: lax.gather(x, i, numbers, sizes, mode=MODES[mode]),
        lambda x, i: gathered(x, i, numbers, sizes, MODES[mode]),
        (Operand(pattern.shape), places(pattern, inside=mode == "promise")),
        dtypes,
        # NaN has no differences.
        derivatives=0 if mode == "fill" else 2,
    )


def scatter_case(
    function: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    pattern: Pattern,
    mode: str,
    dtypes: Any = ("float64",),
    **case: Any,
) -> OpCase:
    numbers = lax.ScatterDimensionNumbers(*pattern.numbers)
    reference = scattered(combine)
    return OpCase(
        f"{function.__name__}/{pattern.label}/{mode}",
        lambda x, i, u: function(x, i, u, numbers, mode=MODES[mode]),
        lambda x, i, u: reference(x, i, u, numbers, MODES[mode]),
        (
            Operand(pattern.shape),
            places(pattern, inside=mode == "promise"),
            Operand(pattern.updates),
        ),
        dtypes,
        **case,
    )


def mul_case(pattern: Pattern, mode: str) -> OpCase:
    """A product at places that all differ, else it has no derivative in the updates."""
    size, count = pattern.shape[0], int(np.prod(pattern.indices))
    first = size - count + 1 if mode == "fill" else 0
    indices = np.arange(first, first + count, dtype=np.int32).reshape(pattern.indices)
    numbers = lax.ScatterDimensionNumbers(*pattern.numbers)
    return OpCase(
        f"scatter_mul/unique/{pattern.label}/{mode}",
        lambda x, u: lax.scatter_mul(
            x, indices, u, numbers, mode=Mode.from_any(mode), unique_indices=True
        ),
        lambda x, u: scattered(np.multiply)(x, indices, u, numbers, MODES[mode]),
        (Operand(pattern.shape), Operand(pattern.updates)),
        FLOATS,
    )


def filled_case() -> OpCase:
    """Derivatives of a gather whose outside is filled with a number."""
    rows = PATTERNS[0]
    numbers = lax.GatherDimensionNumbers(*rows.numbers)
    return OpCase(
        "gather/fill_value",
        lambda x, i: lax.gather(x, i, numbers, rows.sizes, mode="fill", fill_value=7),
        lambda x, i: np.nan_to_num(gathered(x, i, numbers, rows.sizes, Mode.FILL_OR_DROP), nan=7),
        (Operand(rows.shape), places(rows, inside=False)),
        FLOATS,
    )


def applied_case() -> OpCase:
    rows = PATTERNS[0]
    numbers = lax.ScatterDimensionNumbers(*rows.numbers)
    return OpCase(
        "scatter_apply",
        lambda x, i: lax.scatter_apply(
            x, i, lambda v: lax.mul(v, v), numbers, update_shape=rows.updates
        ),
        lambda x, i: scattered(lambda old, _: old * old)(
            x, i, np.zeros(rows.updates), numbers, Mode.FILL_OR_DROP
        ),
        (Operand(rows.shape), places(rows, inside=False)),
        FLOATS,
        derivatives=0,
    )


ARITHMETIC = (*FLOATS, *COMPLEXES, *INTEGERS)
CASES = (
    *[gather_case(p, mode) for p in PATTERNS for mode in MODES],
    gather_case(PATTERNS[0], "clip", ALL),
    gather_case(PATTERNS[0], "fill", ("int8", "uint8", "bool", *COMPLEXES)),
    filled_case(),
    *[scatter_case(lax.scatter, lambda old, new: new, p, mode) for p in PATTERNS for mode in MODES],
    *[scatter_case(lax.scatter_add, np.add, p, mode) for p in PATTERNS for mode in MODES],
    *[scatter_case(lax.scatter_max, np.maximum, p, "clip") for p in PATTERNS],
    *[scatter_case(lax.scatter_min, np.minimum, p, "fill") for p in PATTERNS],
    *[scatter_case(lax.scatter_sub, np.subtract, p, "clip") for p in PATTERNS[:8]],
    *[scatter_case(lax.scatter_mul, np.multiply, p, "fill", derivatives=0) for p in PATTERNS[:8]],
    *[mul_case(p, mode) for p in UNIQUE for mode in ("clip", "fill")],
    scatter_case(lax.scatter, lambda old, new: new, PATTERNS[0], "fill", ALL),
    applied_case(),
    OpCase(
        "index_take",
        lambda x, i, j: index_take(x, (i, j), (2, 0)),
        lambda x, i, j: x[j % 4, :, i % 3],
        (Operand((4, 2, 3)), WRAPPING, WRAPPING),
        MOVED,
    ),
    OpCase(
        "index_take/narrow_indices",
        lambda x, i: index_take(x, (i,), (0,)),
        lambda x, i: x[i.astype(int) % 300],
        (Operand((300,)), Operand((4,), -100, 100, dtype="int8", differentiable=False)),
    ),
)
