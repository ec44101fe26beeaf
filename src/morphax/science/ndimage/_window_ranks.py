"""The operation `window_rank`: of each window of an image, which sample has a rank.

Where native code may be called, it is `native/window_ranks.cpp`, by a set that windows change as
they slide along the last axis.  Elsewhere each window is sorted.  See
`docs/design/window-ranks.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    like,
    not_differentiable,
    not_linear,
)
from ...core.staging import stage_closed
from ...engines.xla.stablehlo import Builder, Value
from ...engines.xla.window_rank_calls import call_window_ranks, may_find_ranks
from ...lax.ground.linear_structure import moved_axis
from ...transforms.vmap import vmap
from ...util.compiled import part
from ._windows import Offsets

_INT32 = np.dtype(np.int32)


@final
class WindowRank(Primitive):
    """The places, in an image, of the samples of a rank in windows; of equal ones the first.

    Operand: integers, the image with what windows see around it.  Result: int32 of the shape
    `shape`, numbers of samples in row-major order.
    """

    name = "window_rank"
    jvp = not_differentiable("its operand and its result are integers")
    transpose = not_linear()

    def abstract_eval(
        self, keys: Any, *, offsets: Offsets, shape: tuple[int, ...], rank: int
    ) -> ShapedArray:
        return like(shape=shape, dtype=_INT32)

    def axis_flow(self, keys: Any, *, offsets: Offsets, **_: Any) -> AxisFlow:
        steps = enumerate(zip(*offsets, strict=True))
        labels = tuple([None if any(along) else axis for axis, along in steps])
        return AxisFlow((labels,), (labels,))

    def evaluate(
        self, keys: Any, *, offsets: Offsets, shape: tuple[int, ...], rank: int
    ) -> np.ndarray[Any, Any]:
        steps, starts = _places(offsets, keys.shape), _starts(shape, keys.shape)
        samples = keys.reshape(-1)[starts[..., None] + steps]
        chosen = np.argsort(samples, -1, kind="stable")[..., rank]
        return np.asarray(starts + steps[chosen], np.int32)

    def kernel(
        self, keys: Any, *, offsets: Offsets, shape: tuple[int, ...], rank: int
    ) -> Callable[..., Any] | None:
        if not may_find_ranks(keys, like(shape=shape, dtype=_INT32)):
            return None
        native: Any = part("window_ranks")
        rows = [np.asarray(v, np.int64) for v in _rows(offsets, keys.shape, shape).values()]

        def find(numbers: Any) -> Any:
            out = np.empty(shape, np.int32)
            native.find(numbers.reshape(-1), *rows, rank, out.reshape(-1))
            return out

        return find

    def lower(
        self,
        b: Builder,
        out: Any,
        keys: Value,
        *,
        offsets: Offsets,
        shape: tuple[int, ...],
        rank: int,
    ) -> Value:
        if b.module.may_call_kernels and may_find_ranks(keys.aval, out):
            return call_window_ranks(b, out, keys, _rows(offsets, keys.aval.shape, shape), rank)

        def program(keys: Any) -> list[Any]:
            return [_by_sorting(keys, offsets, shape, rank)]

        (found,) = b.inline(stage_closed(program, [keys.aval]), keys)
        return found

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        offsets: Offsets,
        shape: tuple[int, ...],
        rank: int,
    ) -> tuple[Any, int]:
        images = moved_axis(operands[0], dims[0], 0)
        further = tuple([(0, *offset) for offset in offsets])
        found = self.bind(images, offsets=further, shape=(axes.size, *shape), rank=rank)
        before = lax.broadcasted_iota(_INT32, found.aval.shape, 0) * prod(images.aval.shape[1:])
        return found - before, 0


window_rank_p = WindowRank()


def _steps(image: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """How many samples further the next one along each axis is."""
    return np.cumprod([1, *image[:0:-1]], dtype=np.int64)[::-1]


def _places(offsets: Offsets, image: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.asarray(offsets, np.int64) @ _steps(image)


def _starts(shape: tuple[int, ...], image: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Where windows begin."""
    return np.tensordot(_steps(image), np.indices(shape), 1)


def _rows(
    offsets: Offsets, image: tuple[int, ...], shape: tuple[int, ...]
) -> dict[str, Sequence[int]]:
    """What native code is told: its windows, which samples change, and sizes."""
    window = set(offsets)

    def without_neighbour(step: int) -> Sequence[int]:
        kept = [o for o in offsets if (*o[:-1], o[-1] + step) not in window]
        return _places(tuple(kept), image).tolist()

    return {
        "samples": _places(offsets, image).tolist(),
        "leaving": without_neighbour(-1),
        "entering": without_neighbour(1),
        "image": image,
        "results": shape,
    }


def _by_sorting(keys: Any, offsets: Offsets, shape: tuple[int, ...], rank: int) -> Any:
    """The program where there is no native code: every window is sorted."""
    window = vmap(lambda start: lax.dynamic_slice(keys, list(start), shape))
    samples = window(jnp.asarray(offsets, np.int32))
    numbers = lax.broadcasted_iota(_INT32, samples.aval.shape, 0)
    chosen = lax.sort((samples, numbers), dimension=0, num_keys=1)[1][rank]
    image = keys.aval.shape
    steps = jnp.asarray(_places(offsets, image).astype(np.int32))
    return steps[chosen] + jnp.asarray(_starts(shape, image).astype(np.int32))
