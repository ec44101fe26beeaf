"""Repeating arrays whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import AxisFlow, BatchAxes, Primitive, ShapedArray, aval_of, like, same_axes
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..ground.axes import canonical_shape, integers
from ..ground.linear_structure import reduce_sum
from .shape_operations import reshape


@final
class Tile(Primitive):
    """An array repeated whole, `reps` times along each axis."""

    name = "tile"
    moves = True
    linear = True
    reads = "elsewhere"

    def abstract_eval(self, x: Any, *, reps: Any) -> ShapedArray:
        if any([n < 0 for n in reps]):
            raise ShapeError(
                message(
                    "lax.tile, argument reps",
                    given=f"{reps}",
                    expected="numbers of repetitions, none negative",
                    fix="Pass 0 for an empty result, 1 for no repetition.",
                )
            )
        sizes = [n * r for n, r in zip(x.shape, reps, strict=True)]
        shape = canonical_shape("lax.tile, shape of the result", sizes)
        return like(x, shape=shape)

    def axis_flow(self, x: Any, *, reps: Any) -> AxisFlow:
        return same_axes(x, whole=[i for i, count in enumerate(reps) if count != 1])

    def evaluate(self, x: Any, *, reps: Any) -> Any:
        return np.tile(x, reps)

    def lower(self, b: Builder, out: Any, x: Value, *, reps: Any) -> Value:
        repeated = out.update(shape=_interleaved(reps, x.aval.shape))
        places = [2 * i + 1 for i in range(len(reps))]
        return b.reshape(b.broadcast(x, repeated, places), out)

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value, *, reps: Any) -> loops.Value:
        return loops.joining.tiled(b, out, x, reps)

    def transpose(self, ct: Any, x: Any, *, reps: Any) -> list[Any]:
        parts = reshape(ct, _interleaved(reps, x.aval.shape))
        return [reduce_sum(parts, tuple(range(0, 2 * len(reps), 2)))]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, reps: Any
    ) -> tuple[Any, int]:
        dim = dims[0]
        return self.bind(operands[0], reps=(*reps[:dim], 1, *reps[dim:])), dim


def _interleaved(reps: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    return tuple([n for pair in zip(reps, shape, strict=True) for n in pair])


tile_p = Tile()


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """`operand` repeated whole, ``reps[i]`` times along axis i.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.tile(jnp.array([1, 2]), (2,))
        Array([1, 2, 1, 2], dtype=int32)
    """
    ndim = aval_of(operand).ndim
    return tile_p.bind(operand, reps=integers("lax.tile, argument reps", reps, ndim))
