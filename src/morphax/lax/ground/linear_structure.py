"""What is linear and moves axes: broadcast, sum over axes, transpose, and the sum of tangents.

The rules of all other operations (their derivatives, transposes and batching) are written with
these, so they come first.  `broadcast_in_dim` and `reduce_sum` are each other's transpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from ...array import Array
from ...core import (
    AbstractSharding,
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Tracer,
    aval_of,
    is_undefined_primal,
    is_zero,
    like,
    number_of,
    same_axes,
    without_axes,
)
from ...core.varying import varying_over
from ...dtypes import ExtendedDType
from ...engines import loops
from ...engines.reference.fusion import dtype_name
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.host_memory import repeated_row, repeated_view, transposed
from ...util.messages import message
from .kinds import NUMBER
from .row_sums import accumulator, summation
from .sums import lower_sum


def moved_axis(x: Any, source: int, destination: int) -> Any:
    """`x` with one axis moved to another place."""
    if source == destination:
        return x
    order = [i for i in range(aval_of(x).ndim) if i != source]
    order.insert(destination, source)
    return transpose_p.bind(x, permutation=tuple(order))


def behind_batch(axes: Sequence[int]) -> tuple[int, ...]:
    """The numbers that axes have once there is a batch axis in front of them."""
    return tuple([axis + 1 for axis in axes])


def batched_first(axes: BatchAxes, x: Any, dim: int | None) -> Any:
    """`x` with its batch axis in front; an operand that is not mapped is repeated."""
    if dim is not None:
        return moved_axis(x, dim, 0)
    aval = aval_of(x)
    batch = broadcast_in_dim_p.bind(
        x,
        shape=(axes.size, *aval.shape),
        broadcast_dimensions=tuple(range(1, aval.ndim + 1)),
        sharding=aval.with_axis(0, axes.size, axes.sharding).split,
    )
    return varying_over(batch, axes.varies) if axes.varies else batch


@final
class BroadcastInDim(Primitive):
    """Repeat an array along new axes; operand axis i becomes axis ``broadcast_dimensions[i]``."""

    name = "broadcast_in_dim"
    moves = True
    linear = True
    reads = "elsewhere"

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The shape is that of the result."""
        shown = {name: params[name] for name in ("broadcast_dimensions", "sharding")}
        return {name: value for name, value in shown.items() if value}

    def abstract_eval(
        self, x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any
    ) -> ShapedArray:
        dims = broadcast_dimensions
        valid = len(dims) == x.ndim and all(
            0 <= d < len(shape) and x.shape[i] in (1, shape[d]) for i, d in enumerate(dims)
        )
        if not valid or any(a >= b for a, b in pairwise(dims)):
            raise ShapeError(
                message(
                    "lax.broadcast_in_dim",
                    given=f"{x.str_short()} with shape={shape}, broadcast_dimensions={dims}",
                    expected="one increasing result axis per operand axis, of size 1 or equal",
                    fix="Give broadcast_dimensions[i], the result axis of operand axis i.",
                )
            )
        return like(x, shape=shape, sharding=sharding)

    def axis_flow(
        self, x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any
    ) -> AxisFlow:
        pairs = zip(x.shape, broadcast_dimensions, strict=True)
        kept = [d if n == shape[d] else None for n, d in pairs]
        return AxisFlow((tuple(kept),), (tuple(range(len(shape))),))

    def fused(self, x: Any, **params: Any) -> str | None:
        return None if x.ndim else f"repeat_{dtype_name(x.dtype)}"

    def evaluate(self, x: Any, **params: Any) -> Any:
        return self.kernel(x, **params)(x)

    def kernel(
        self, x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any
    ) -> Callable[..., Any]:
        aligned = _aligned_shape(x.shape, shape, broadcast_dimensions)
        if math.prod(shape) == x.size:
            return lambda v: v.reshape(shape)

        times = math.prod(shape) // max(x.size, 1)
        kept = [d + 1 for n, d in zip(x.shape, broadcast_dimensions, strict=True) if n != 1]
        if times in _FEW_TIMES and math.prod(shape[: max(kept, default=0)]) == x.size:
            return lambda v: v.repeat(times).reshape(shape)
        is_row = math.prod(shape[min(kept, default=1) - 1 :]) == x.size
        if is_row and x.size <= _SHORT_ROW < times:
            return lambda v: repeated_row(v, times).reshape(shape)

        def repeat(v: Any) -> Any:
            out = np.empty(shape, v.dtype)
            out[...] = v if v.shape == aligned else v.reshape(aligned)
            return out

        return repeat

    def view(self, x: Any, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
        aligned = _aligned_shape(x.shape, shape, broadcast_dimensions)
        # Chains read single numbers.
        return repeated_view(aligned, shape, x.dtype) if x.ndim else None

    def lower(
        self, b: Builder, out: Any, x: Value, *, broadcast_dimensions: Any, **_: Any
    ) -> Value:
        return b.broadcast(x, out, broadcast_dimensions)

    def to_loops(
        self,
        b: loops.Builder,
        out: Any,
        x: loops.Value,
        *,
        shape: Any,
        broadcast_dimensions: Any,
        sharding: Any,
    ) -> loops.Value:
        pairs = zip(x.shape, broadcast_dimensions, strict=True)
        return b.view(x, shape, [(0, [] if n == 1 else [(axis, 1)]) for n, axis in pairs])

    def transpose(
        self, ct: Any, x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any
    ) -> list[Any]:
        new_axes = tuple(i for i in range(len(shape)) if i not in broadcast_dimensions)
        summed = reduce_sum(ct, new_axes)
        stretched = tuple(
            i for i, d in enumerate(broadcast_dimensions) if x.aval.shape[i] != shape[d]
        )
        if not stretched:
            return [summed]
        kept = tuple(i for i in range(x.aval.ndim) if i not in stretched)
        summed = reduce_sum(summed, stretched)
        return [
            broadcast_in_dim_p.bind(
                summed, shape=x.aval.shape, broadcast_dimensions=kept, sharding=None
            )
        ]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        shape, targets = params["shape"], params["broadcast_dimensions"]
        sharding = params["sharding"]
        out = self.bind(
            moved_axis(operands[0], dims[0], 0),
            shape=(axes.size, *shape),
            broadcast_dimensions=(0, *behind_batch(targets)),
            sharding=sharding and sharding.with_axis(0, axes.sharding),
        )
        return out, 0


# So many copies that lie side by side NumPy writes faster than it spreads rows.
_FEW_TIMES = range(2, 17)
# Shorter rows, if there are more of them than this, it writes quickly as one of many.
_SHORT_ROW = 64


def _aligned_shape(
    operand_shape: Sequence[int], shape: Sequence[int], dims: Sequence[int]
) -> tuple[int, ...]:
    aligned = [1] * len(shape)
    for size, d in zip(operand_shape, dims, strict=True):
        aligned[d] = size
    return tuple(aligned)


@final
class ReduceSum(Primitive):
    """Sum over `axes`."""

    name = "reduce_sum"
    linear = True

    def abstract_eval(self, x: Any, *, axes: Any, out_sharding: Any) -> ShapedArray:
        NUMBER.check(self.name, 0, x)
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        return like(x, shape=shape, sharding=out_sharding)

    def axis_flow(self, x: Any, *, axes: Any, **_: Any) -> AxisFlow:
        return without_axes(x, axes=axes)

    def evaluate(self, x: Any, *, axes: Any, out_sharding: Any) -> Any:
        return summation(x, axes)(x)

    def kernel(self, x: Any, *, axes: Any, out_sharding: Any) -> Callable[..., Any] | None:
        return summation(x, axes) if accumulator(x.dtype) == x.dtype else None

    def folds(self, x: Any, *, axes: Any, **_: Any) -> tuple[str, str, Sequence[int]]:
        return "fold", "add", axes

    def lower(self, b: Builder, out: Any, x: Value, *, axes: Any, out_sharding: Any) -> Value:
        return lower_sum(b, out, x, axes)

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *, axes: Any, out_sharding: Any
    ) -> loops.Value:
        return loops.reduced(b, out, x, axes, "add", b.writer.number(0, x.dtype))

    def transpose(self, ct: Any, x: Any, *, axes: Any, out_sharding: Any) -> list[Any]:
        kept = tuple(i for i in range(x.aval.ndim) if i not in axes)
        return [
            broadcast_in_dim_p.bind(
                ct,
                shape=x.aval.shape,
                broadcast_dimensions=kept,
                sharding=x.aval.to_ct_aval().split,
            )
        ]

    def batch(
        self, _: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        return batch_reduction(self, operands[0], dims[0], **params)


def batch_reduction(
    primitive: Primitive, x: Any, dim: int, *, axes: Any, **params: Any
) -> tuple[Any, int]:
    """Batching of a reduction: the same axes, counted around the batch axis."""
    shifted = tuple([a + (a >= dim) for a in axes])
    out = primitive.bind(x, axes=shifted, **params)
    return out, dim - sum(a < dim for a in shifted)


@final
class Transpose(Primitive):
    """Permute axes: axis i of the result is axis ``permutation[i]`` of the operand."""

    name = "transpose"
    moves = True
    linear = True
    reads = "elsewhere"

    def abstract_eval(self, x: Any, *, permutation: Any) -> ShapedArray:
        if sorted(permutation) != list(range(x.ndim)):
            raise ShapeError(
                message(
                    "lax.transpose, argument permutation",
                    given=f"{permutation} for {x.str_short()}",
                    expected=f"each of the axes 0 … {x.ndim - 1} once",
                    fix="List every axis of the operand exactly once.",
                )
            )
        return like(x, shape=[x.shape[i] for i in permutation])

    def axis_flow(self, x: Any, *, permutation: Any) -> AxisFlow:
        return AxisFlow((tuple(range(x.ndim)),), (permutation,))

    def evaluate(self, x: Any, *, permutation: Any) -> Any:
        return np.array(np.transpose(x, permutation), order="C")

    def kernel(self, x: Any, *, permutation: Any) -> Callable[..., Any]:
        return lambda v: transposed(v, permutation)

    def lower(self, b: Builder, out: Any, x: Value, *, permutation: Any) -> Value:
        return b.transpose(x, out, permutation)

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *, permutation: Any
    ) -> loops.Value:
        places = {axis: place for place, axis in enumerate(permutation)}
        return b.view(x, out.shape, [(0, [(places[axis], 1)]) for axis in range(x.ndim)])

    def transpose(self, ct: Any, x: Any, *, permutation: Any) -> list[Any]:
        return [self.bind(ct, permutation=tuple(np.argsort(permutation).tolist()))]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, permutation: Any
    ) -> tuple[Any, int]:
        dim = dims[0]
        order = (dim, *[p + (p >= dim) for p in permutation])
        return self.bind(operands[0], permutation=order), 0


@final
class AddAny(Primitive):
    """The sum of two tangents of one aval."""

    name = "add_any"
    linear = True
    reads = "alike"

    def abstract_eval(self, x: Any, y: Any) -> Any:
        assert (x.shape, x.dtype) == (y.shape, y.dtype), f"tangents differ: {x} and {y}"
        return like(x, y)

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        return same_axes(*avals)

    def evaluate(self, x: Any, y: Any) -> Any:
        return np.add(x, y)

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        return b.elementwise("stablehlo.add", out, x, y)

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value, y: loops.Value) -> loops.Value:
        return b.elementwise(out, lambda x, y: b.writer.op("add", x, y), x, y)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [ct if is_undefined_primal(operand) else None for operand in (x, y)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[Any, int]:
        return self.bind(*map(batched_first, [axes] * 2, operands, dims)), 0


broadcast_in_dim_p = BroadcastInDim()
reduce_sum_p = ReduceSum()
transpose_p = Transpose()
add_any_p = AddAny()


def reduce_sum(x: Any, axes: Sequence[int]) -> Any:
    """Sum of `x` over `axes`; `x` itself if there are none."""
    return reduce_sum_p.bind(x, axes=tuple(axes), out_sharding=None) if axes else x


def broadcast_to(x: Any, shape: Sequence[int], sharding: AbstractSharding | None = None) -> Any:
    """`x`, of rank 0 or of this shape already, repeated to `shape`."""
    aval = aval_of(x)
    if aval.shape == tuple(shape) and isinstance(x, Tracer):
        return x
    first = len(shape) - aval.ndim
    return broadcast_in_dim_p.bind(
        x,
        shape=tuple(shape),
        broadcast_dimensions=tuple(range(first, len(shape))),
        sharding=sharding,
    )


def add_tangents(x: Any, y: Any) -> Any:
    """``x + y`` for two tangents."""
    aval = aval_of(x)
    if aval.is_high:
        return aval.vspace_add(x, y)
    if isinstance(aval.dtype, ExtendedDType) and (add := aval.dtype.rule("add")) is not None:
        return add(aval.dtype, x, y)
    return add_any_p.bind(x, y)


def zeros(aval: Any) -> Any:
    """Zeros of an aval."""
    if aval.is_high:
        return aval.vspace_zero()
    if isinstance(aval.dtype, ExtendedDType):
        return Array(aval, np.zeros(aval.shape, aval.dtype.physical_dtype))
    scalar = number_of(0, aval)
    has_sums = aval.split is not None and aval.split.has_sums
    zero = broadcast_to(scalar, aval.shape, aval.split) if aval.shape or has_sums else scalar
    return varying_over(zero, aval.vma) if aval.vma else zero


def instantiate(tangent: Any) -> Any:
    """A tangent as a value: zeros for `Zero`."""
    return zeros(tangent.aval) if is_zero(tangent) else tangent
