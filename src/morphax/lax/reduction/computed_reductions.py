"""Reductions by any associative computation, of one array or several side by side.

A computation that is a known monoid becomes the reduction of that name.  Any other is the primitive
``reduce``, which XLA runs; its meaning, and its derivative, are those of a tree: neighbours are
combined in pairs until one element is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ... import dtypes, tree
from ...array import Array
from ...core import (
    AxisFlow,
    BatchAxes,
    Jaxpr,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    frames_hidden,
    like,
    not_linear,
    without_axes,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value, i64_array
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise import selection
from ..elementwise.arithmetic import add, mul
from ..elementwise.bitwise import bitwise_and, bitwise_or, bitwise_xor
from ..ground.axes import integer_tuple
from ..ground.linear_structure import (
    batched_first,
    behind_batch,
    broadcast_in_dim_p,
    broadcast_to,
    instantiate,
)
from ..ground.monoids import ADD, AND, MAX, MIN, MUL, OR, XOR, Monoid
from ..shape.joining import concatenate
from ..shape.resharding import laid_out
from ..shape.shape_operations import reshape, transpose
from ..shape.slicing import slice_in_dim
from .reductions import (
    check_axes,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from .scalar_programs import on_duals, on_elements, reduction_of_pairs, single_operation

Combine = Callable[[list[Any], list[Any]], list[Any]]


class ComputedReduction(Primitive):
    """Elements combined by `jaxpr`, a program of pairs of scalars.

    Values are the operands, all of one shape, then as many initial values of rank 0.
    """

    multiple_results = True

    transpose = not_linear("the computation is not known to be linear")

    def result_shape(self, x: Any, **params: Any) -> tuple[int, ...]:
        """The shape of the results for operands like `x`."""
        raise AssertionError(f"{self.name} defines result_shape")

    def combined(
        self, combine: Combine, operands: Sequence[Any], starts: Sequence[Any], **params: Any
    ) -> list[Any]:
        """The results, in lax; `combine` acts on lists of arrays element by element."""
        raise AssertionError(f"{self.name} defines combined")

    def batched_params(self, **params: Any) -> dict[str, Any]:
        """The parameters for operands with a batch axis in front."""
        raise AssertionError(f"{self.name} defines batched_params")

    def abstract_eval(self, *avals: Any, jaxpr: Jaxpr, **params: Any) -> list[ShapedArray]:
        operands, _ = halves(avals)
        if any([x.shape != operands[0].shape for x in operands]):
            raise ShapeError(
                message(
                    f"lax.{self.name}, operands",
                    given=", ".join([x.str_short(short_dtypes=False) for x in operands]),
                    expected="arrays of one shape",
                    fix="Broadcast the operands against each other first.",
                )
            )
        shape = self.result_shape(operands[0], **params)
        return [like(x, shape=shape, weak_type=False) for x in operands]

    def evaluate(self, *values: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        results = self.combined(_on_arrays(jaxpr), *halves(values), **params)
        return [x.to_host() if isinstance(x, Array) else x for x in results]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, **params: Any
    ) -> Any:
        outs = self.bind(*primals, jaxpr=jaxpr, **params)
        smooth = [t.aval.dtype != dtypes.float0 for t in tangents[: len(outs)]]
        given = [instantiate(t) for t in tangents if t.aval.dtype != dtypes.float0]
        (xs, starts), (dxs, dstarts) = halves(primals), halves(given)
        combine = _on_arrays_and_tangents(jaxpr, smooth)
        duals = self.combined(combine, [*xs, *dxs], [*starts, *dstarts], **params)
        found = iter(duals[len(outs) :])
        return outs, [
            next(found) if on else Zero(x.aval.to_tangent_aval())
            for x, on in zip(outs, smooth, strict=True)
        ]

    def batch(
        self,
        axes: BatchAxes,
        values: Sequence[Any],
        dims: Sequence[Any],
        *,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple[list[Any], list[int]]:
        (operands, starts), (operand_dims, start_dims) = halves(values), halves(dims)
        moved = [batched_first(axes, x, d) for x, d in zip(operands, operand_dims, strict=True)]
        shifted = self.batched_params(**params)
        if all([d is None for d in start_dims]):
            outs = self.bind(*moved, *starts, jaxpr=jaxpr, **shifted)
        else:
            firsts = [batched_first(axes, x, d) for x, d in zip(starts, start_dims, strict=True)]
            outs = self.combined(_on_arrays(jaxpr), moved, firsts, **shifted)
        return outs, [0] * len(outs)


def halves(values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Operands and initial values."""
    count = len(values) // 2
    return values[:count], values[count:]


def combining_region(b: Builder, jaxpr: Jaxpr, values: Sequence[Value]) -> str:
    """The region of a StableHLO reduction that runs `jaxpr`."""
    elements = [v.aval.update(shape=()) for v in halves(values)[0]]
    return b.region(elements * 2, lambda inner, *pair: inner.inline(jaxpr, *pair))


@final
class Reduce(ComputedReduction):
    """Elements along `dimensions` combined by `jaxpr`."""

    name = "reduce"
    narrow_in_loops = "rounded"

    def result_shape(self, x: Any, *, dimensions: Any) -> tuple[int, ...]:
        check_axes(self.name, x, dimensions)
        return tuple([n for i, n in enumerate(x.shape) if i not in dimensions])

    def axis_flow(self, *avals: Any, dimensions: Any, **_: Any) -> AxisFlow:
        return without_axes(*avals, axes=dimensions, results=len(avals) // 2)

    def lower(
        self, b: Builder, outs: Any, *values: Value, jaxpr: Jaxpr, dimensions: Any
    ) -> list[Value]:
        body = combining_region(b, jaxpr, values)
        return b.ops(
            "stablehlo.reduce", outs, *values, regions=[body], dimensions=i64_array(dimensions)
        )

    def to_loops(
        self, b: loops.Builder, outs: Any, *values: loops.Value, jaxpr: Jaxpr, dimensions: Any
    ) -> list[loops.Value]:
        combine = loops.windows.by_program(b, jaxpr)
        return loops.windows.computed_reduction(b, outs, *halves(values), dimensions, combine)

    def combined(
        self, combine: Combine, operands: Sequence[Any], starts: Sequence[Any], *, dimensions: Any
    ) -> list[Any]:
        return _reduced(combine, operands, starts, dimensions)

    def batched_params(self, *, dimensions: Any) -> dict[str, Any]:
        return {"dimensions": behind_batch(dimensions)}


reduce_p = Reduce()


def _reduced(
    combine: Combine, operands: Sequence[Any], starts: Sequence[Any], dimensions: Any
) -> list[Any]:
    """Operands combined along `dimensions` by a tree that keeps their order."""
    shape = aval_of(operands[0]).shape
    kept = [i for i in range(len(shape)) if i not in dimensions]
    sizes = tuple([shape[i] for i in kept])
    count = math.prod([shape[i] for i in dimensions])
    firsts = [starting_array(x, sizes) for x in starts]
    if not count:
        return firsts
    rows = [reshape(transpose(x, (*dimensions, *kept)), (count, *sizes)) for x in operands]
    while count > 1:
        even = count - count % 2
        pairs = combine(
            [slice_in_dim(x, 0, even, 2) for x in rows],
            [slice_in_dim(x, 1, even, 2) for x in rows],
        )
        if count % 2:
            last = [slice_in_dim(x, even, count) for x in rows]
            pairs = [concatenate(both, 0) for both in zip(pairs, last, strict=True)]
        rows, count = pairs, (count + 1) // 2
    return combine(firsts, [reshape(x, sizes) for x in rows])


def starting_array(start: Any, shape: tuple[int, ...]) -> Any:
    """An initial value, which may have a batch axis, repeated to the shape of the results."""
    dims = tuple(range(aval_of(start).ndim))
    return broadcast_in_dim_p.bind(start, shape=shape, broadcast_dimensions=dims, sharding=None)


def _on_arrays(jaxpr: Jaxpr) -> Combine:
    return lambda left, right: on_elements(jaxpr, [*left, *right])


def _on_arrays_and_tangents(jaxpr: Jaxpr, smooth: Sequence[bool]) -> Combine:
    """The combination of lists of primals, followed by the tangents of the smooth ones."""
    count = len(smooth)

    def tangents(values: list[Any]) -> list[Any]:
        given = iter(values[count:])
        return [
            next(given) if on else Zero(aval_of(x).to_tangent_aval())
            for x, on in zip(values, smooth, strict=False)
        ]

    def combine(left: list[Any], right: list[Any]) -> list[Any]:
        primals = [*left[:count], *right[:count]]
        outs, found = on_duals(jaxpr, primals, [*tangents(left), *tangents(right)])
        return [*outs, *[instantiate(t) for t, on in zip(found, smooth, strict=True) if on]]

    return combine


_KNOWN: dict[str, tuple[Monoid, Callable[..., Any], Callable[..., Any]]] = {
    "add": (ADD, reduce_sum, add),
    "mul": (MUL, reduce_prod, mul),
    "max": (MAX, reduce_max, selection.max),
    "min": (MIN, reduce_min, selection.min),
    "and": (AND, reduce_and, bitwise_and),
    "or": (OR, reduce_or, bitwise_or),
    "xor": (XOR, reduce_xor, bitwise_xor),
}
"""Monoids by the name of the binary primitive, with their reductions and binary operations."""


@frames_hidden
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Combine elements along axes by any associative computation.

    Args:
        operands: array, or tree of arrays of one shape.
        init_values: a scalar for each, the identity of the computation.
        computation: takes two scalars (two trees of them) and returns their combination.
        dimensions: different axes, counted from the front.
        out_sharding: sharding of the results.

    Returns:
        A tree like `operands`, without the axes `dimensions`.

    Raises:
        TypeError: if shapes or dtypes do not fit.
        ValueError: if structures do not fit, or `dimensions` are not different axes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.reduce(jnp.arange(1, 5), 1, jax.lax.mul, (0,))
        Array(24, dtype=int32)
    """
    if out_sharding is not None:
        made = reduce(operands, init_values, computation, dimensions)
        return tree.map(lambda x: laid_out("lax.reduce", x, out_sharding), made)
    leaves, starts, jaxpr, structure = reduction_of_pairs(
        "lax.reduce", ("operands", "init_values"), operands, init_values, computation
    )
    axes = integer_tuple("lax.reduce, argument dimensions", dimensions)
    known = _KNOWN.get(single_operation(jaxpr) or "")
    if known is not None:
        monoid, reduction, binary = known
        out = reduction(leaves[0], axes)
        return structure.unflatten([from_start(starts[0], out, monoid, binary)])
    return structure.unflatten(reduce_p.bind(*leaves, *starts, jaxpr=jaxpr, dimensions=axes))


def from_start(start: Any, out: Any, monoid: Monoid, binary: Callable[..., Any]) -> Any:
    """The reduction `out` by a monoid, combined with an initial value that is not the identity."""
    if isinstance(start, np.generic) and start == monoid.identity(start.dtype):
        return out
    return binary(broadcast_to(start, out.aval.shape), out)
