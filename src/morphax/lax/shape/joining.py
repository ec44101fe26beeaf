"""Joining arrays and taking them apart: concatenate and split, stack and unstack.

Each of the first two pairs is one operation and its transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    aval_of,
    carries_aval,
    is_undefined_primal,
    like,
    same_axes,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..ground.axes import canonical_axis, integer, members, size_tuple
from ..ground.linear_structure import batched_first, instantiate, moved_axis


@final
class Concatenate(Primitive):
    """Arrays one after the other along an axis that they have."""

    name = "concatenate"
    moves = True
    linear = True
    of_one_dtype = True
    reads = "elsewhere"
    key_use = "joins"

    def abstract_eval(self, *avals: Any, dimension: Any) -> ShapedArray:
        first = avals[0]
        _check_alike(
            "lax.concatenate",
            avals,
            lambda s: (*s[:dimension], *s[dimension + 1 :]),
            f"arrays of one rank, with equal sizes of all axes but {dimension}",
        )
        if not 0 <= dimension < first.ndim:
            raise ShapeError(
                message(
                    "lax.concatenate, argument dimension",
                    given=f"{dimension} for arrays of rank {first.ndim}",
                    expected=f"an axis in [0, {first.ndim})",
                    fix="Count axes from 0 at the front; use lax.stack to make a new axis.",
                )
            )
        shape = list(first.shape)
        shape[dimension] = sum([a.shape[dimension] for a in avals])
        return like(*avals, shape=shape)

    def axis_flow(self, *avals: Any, dimension: Any) -> AxisFlow:
        return same_axes(*avals, alike=True)

    def evaluate(self, *operands: Any, dimension: Any) -> Any:
        return np.concatenate(operands, axis=dimension)

    def lower(self, b: Builder, out: Any, *operands: Value, dimension: Any) -> Value:
        return _concatenated(b, out, operands, dimension)

    def to_loops(self, b: loops.Builder, out: Any, *xs: loops.Value, dimension: Any) -> loops.Value:
        return loops.joining.concatenated(b, out, xs, dimension)

    def transpose(self, ct: Any, *operands: Any, dimension: Any) -> list[Any]:
        sizes = tuple([aval_of(x).shape[dimension] for x in operands])
        parts = split_p.bind(ct, sizes=sizes, axis=dimension)
        return _linear_parts(parts, operands)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, dimension: Any
    ) -> tuple[Any, int]:
        batched = [batched_first(axes, x, d) for x, d in zip(operands, dims, strict=True)]
        return self.bind(*batched, dimension=dimension + 1), 0


@final
class Split(Primitive):
    """Consecutive parts of an array along an axis."""

    name = "split"
    moves = True
    linear = True
    multiple_results = True
    reads = "elsewhere"

    def abstract_eval(self, x: Any, *, sizes: Any, axis: Any) -> list[ShapedArray]:
        if any([n < 0 for n in sizes]) or sum(sizes) != x.shape[axis]:
            raise ShapeError(
                message(
                    "lax.split, argument sizes",
                    given=f"{sizes} along axis {axis} of {x.str_short(short_dtypes=False)}",
                    expected=f"non-negative sizes whose sum is {x.shape[axis]}",
                    fix="Let the parts cover the axis exactly.",
                )
            )
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        return [like(x, shape=(*before, n, *after)) for n in sizes]

    def axis_flow(self, x: Any, *, sizes: Any, axis: Any) -> AxisFlow:
        return same_axes(x, results=len(sizes))

    def evaluate(self, x: Any, *, sizes: Any, axis: Any) -> list[Any]:
        ends = list(accumulate(sizes))[:-1]
        return [part.copy() for part in np.split(x, ends, axis=axis)] if sizes else []

    def kernel(self, x: Any, *, sizes: Any, axis: Any) -> Callable[..., Any]:
        bounds = pairwise(accumulate(sizes, initial=0))
        before = (slice(None),) * axis
        parts = [(*before, slice(start, stop)) for start, stop in bounds]
        return lambda v: [v[part].copy() for part in parts]

    def lower(
        self, b: Builder, outs: Sequence[Any], x: Value, *, sizes: Any, axis: Any
    ) -> list[Value]:
        bounds = pairwise(accumulate(sizes, initial=0))
        parts = zip(outs, bounds, strict=True)
        return [b.slice_along(x, axis, start, stop, out=out) for out, (start, stop) in parts]

    def to_loops(
        self, b: loops.Builder, outs: Any, x: loops.Value, *, sizes: Any, axis: Any
    ) -> Any:
        starts = accumulate(sizes, initial=0)
        return [b.part(x, axis, i, out.shape) for i, out in zip(starts, outs, strict=False)]

    def transpose(self, cts: Any, x: Any, *, sizes: Any, axis: Any) -> list[Any]:
        return [concatenate(list(map(instantiate, cts)), axis)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        sizes: Any,
        axis: Any,
    ) -> tuple[list[Any], list[int]]:
        outs = self.bind(moved_axis(operands[0], dims[0], 0), sizes=sizes, axis=axis + 1)
        return outs, [0] * len(sizes)


@final
class Stack(Primitive):
    """Arrays of one shape, one after the other along a new axis."""

    name = "stack"
    moves = True
    linear = True
    reads = "elsewhere"
    key_use = "joins"

    def abstract_eval(self, *avals: Any, axis: Any) -> ShapedArray:
        first = avals[0]
        _check_alike("lax.stack", avals, lambda shape: shape)
        shape = (*first.shape[:axis], len(avals), *first.shape[axis:])
        return like(*avals, shape=shape)

    def axis_flow(self, *avals: Any, axis: Any) -> AxisFlow:
        labels = tuple(range(avals[0].ndim))
        out = (*labels[:axis], None, *labels[axis:])
        return AxisFlow((labels,) * len(avals), (out,), alike=True)

    def evaluate(self, *operands: Any, axis: Any) -> Any:
        return np.stack(operands, axis=axis)

    def lower(self, b: Builder, out: Any, *operands: Value, axis: Any) -> Value:
        part = out.update(shape=(*out.shape[:axis], 1, *out.shape[axis + 1 :]))
        return _concatenated(b, out, [b.reshape(x, part) for x in operands], axis)

    def to_loops(self, b: loops.Builder, out: Any, *xs: loops.Value, axis: Any) -> loops.Value:
        return loops.joining.stacked(b, out, xs, axis)

    def transpose(self, ct: Any, *operands: Any, axis: Any) -> list[Any]:
        return _linear_parts(unstack_p.bind(ct, axis=axis), operands)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, axis: Any
    ) -> tuple[Any, int]:
        batched = [batched_first(axes, x, d) for x, d in zip(operands, dims, strict=True)]
        return self.bind(*batched, axis=axis + 1), 0


@final
class Unstack(Primitive):
    """The members of an array along an axis, which they lack."""

    name = "unstack"
    moves = True
    linear = True
    multiple_results = True
    reads = "elsewhere"

    def abstract_eval(self, x: Any, *, axis: Any) -> list[ShapedArray]:
        part = like(x, shape=(*x.shape[:axis], *x.shape[axis + 1 :]))
        return [part] * x.shape[axis]

    def axis_flow(self, x: Any, *, axis: Any) -> AxisFlow:
        before, after = range(axis), range(axis + 1, x.ndim)
        return AxisFlow(((*before, None, *after),), ((*before, *after),) * x.shape[axis])

    def evaluate(self, x: Any, *, axis: Any) -> list[Any]:
        if x.ndim == 1:
            return [x[i, ...].copy() for i in range(x.size)]
        return [part.copy() for part in np.moveaxis(x, axis, 0)]

    def kernel(self, x: Any, *, axis: Any) -> Callable[..., Any]:
        before = (slice(None),) * axis
        members = [(*before, i, ...) for i in range(x.shape[axis])]
        return lambda v: [v[member].copy() for member in members]

    def lower(self, b: Builder, outs: Sequence[Any], x: Value, *, axis: Any) -> list[Value]:
        return [b.reshape(b.slice_along(x, axis, i, i + 1), out) for i, out in enumerate(outs)]

    def to_loops(self, b: loops.Builder, outs: Any, x: loops.Value, *, axis: Any) -> Any:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return [b.reshape(b.part(x, axis, i, shape), out.shape) for i, out in enumerate(outs)]

    def transpose(self, cts: Any, x: Any, *, axis: Any) -> list[Any]:
        return [stack(list(map(instantiate, cts)), axis)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, axis: Any
    ) -> tuple[list[Any], list[int]]:
        outs = self.bind(moved_axis(operands[0], dims[0], 0), axis=axis + 1)
        return outs, [0] * len(outs)


def _concatenated(b: Builder, out: Any, operands: Sequence[Value], dimension: int) -> Value:
    return b.op("stablehlo.concatenate", out, *operands, dimension=f"{dimension} : i64")


def _linear_parts(parts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    return [
        part if is_undefined_primal(x) else None for part, x in zip(parts, operands, strict=True)
    ]


def _check_alike(
    where: str, avals: Sequence[Any], common: Any, shapes: str = "arrays of one shape"
) -> None:
    """Raise unless dtypes agree, and ranks, and what `common` takes of the shapes."""
    first = avals[0]
    error: type[Exception]
    if any([a.dtype != first.dtype for a in avals]):
        error, what = TypeError, "arrays of one dtype"
    elif any([a.ndim != first.ndim or common(a.shape) != common(first.shape) for a in avals]):
        error, what = ShapeError, shapes
    else:
        return
    raise error(
        message(
            where,
            given=" and ".join([a.str_short(short_dtypes=False) for a in avals]),
            expected=what,
            fix="Convert or broadcast the operands; the jnp function of that name promotes.",
        )
    )


def _checked_operands(where: str, operands: Any) -> list[Any]:
    values = list(unstack(operands)) if carries_aval(operands) else members(where, operands)
    if not values:
        raise ValueError(
            message(
                where,
                given="no operands",
                expected="at least one array",
                fix="Make an empty result with lax.full.",
            )
        )
    return values


concatenate_p = Concatenate()
split_p = Split()
stack_p = Stack()
unstack_p = Unstack()


def concatenate(operands: Any, dimension: int) -> Any:
    """Arrays one after the other along the axis `dimension`, which they have.

    Args:
        operands: arrays of one dtype, whose shapes differ at most in `dimension`.
        dimension: the axis, counted from the front.

    Raises:
        TypeError: if the dtypes differ.
        ValueError: if the shapes do not fit, or there are no operands.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0)
        Array([1, 2, 3], dtype=int32)
    """
    values = _checked_operands("lax.concatenate", operands)
    place = integer("lax.concatenate, argument dimension", dimension)
    if len(values) == 1 and carries_aval(values[0]):
        return values[0]
    return concatenate_p.bind(*values, dimension=place)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> Sequence[Any]:
    """Consecutive parts of `operand` along an axis, of the given sizes.

    Raises:
        ValueError: unless the sizes add up to that of the axis.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.split(jnp.arange(3), (1, 2))
        [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    axis = canonical_axis("lax.split, argument axis", axis, aval_of(operand).ndim)
    parts = size_tuple("lax.split, argument sizes", sizes)
    return list(split_p.bind(operand, sizes=parts, axis=axis))


def stack(operands: Any, axis: int = 0) -> Any:
    """Arrays of one shape and dtype, one after the other along a new axis of the result.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    values = _checked_operands("lax.stack", operands)
    axis = canonical_axis("lax.stack, argument axis", axis, aval_of(values[0]).ndim + 1)
    return stack_p.bind(*values, axis=axis)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The members of `x` along an axis, which they lack.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.unstack(jnp.array([[1, 2], [3, 4]]))
        (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    axis = canonical_axis("lax.unstack, argument axis", axis, aval_of(x).ndim)
    return tuple(unstack_p.bind(x, axis=axis))
