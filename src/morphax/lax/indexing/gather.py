"""Gather, and scatter-add, which is its transpose.

Gather collects windows of an array from many places; scatter-add adds windows to many places.  A
place named twice by a gather receives, in its transpose, the sum of both cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    is_undefined_primal,
    is_zero,
    like,
    min_dim,
)
from ...engines import loops
from ...engines.reference.windows import Windows
from ...engines.xla.moved_bits import moved
from ...engines.xla.stablehlo import Builder, Value, physical_dtype
from ...util.messages import message
from ..elementwise.arithmetic import add
from ..ground.axes import size_tuple
from ..ground.axis_flows import gathered_axes
from ..ground.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    as_tuples,
    check_indices,
    check_windows,
    interleaved,
    slice_sizes_of_updates,
    window_shape,
)
from ..ground.kinds import NUMBER
from ..ground.linear_structure import behind_batch, instantiate, moved_axis, zeros
from .element_places import as_integers, gather_plan, gathered_windows, taking
from .index_bounds import (
    dimensions_text,
    fill_parameter,
    filler,
    gathered_in_loops,
    is_its_own_sum,
    windows_inside,
)
from .scatter_rules import Scattering, accumulate, scatter_params


@final
class Gather(Primitive):
    """Windows of an array, collected from the places that indices name."""

    name = "gather"
    window_in_loops = "read"
    reads = "elsewhere"

    def additive(self, *_: Any, fill_value: Any, **params: Any) -> Any:
        return [(0,)] if is_its_own_sum(fill_value) else []

    def abstract_eval(
        self,
        x: Any,
        indices: Any,
        *,
        dimension_numbers: Any,
        slice_sizes: Any,
        mode: Any,
        **_: Any,
    ) -> ShapedArray:
        check_indices("lax.gather, argument start_indices", indices)
        check_windows("lax.gather", x, indices, dimension_numbers, slice_sizes)
        if mode is GatherScatterMode.ONE_HOT:
            raise ValueError(
                message(
                    "lax.gather, argument mode",
                    given=f"{mode}",
                    expected="clip, fill or promise_in_bounds",
                    fix="Multiply with jax.nn.one_hot(...) instead of gathering.",
                )
            )
        window = window_shape(dimension_numbers, slice_sizes)
        shape = interleaved(dimension_numbers[0], window, indices.shape[:-1])
        return like(x, shape=shape)

    def axis_flow(
        self, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, **_: Any
    ) -> AxisFlow:
        return gathered_axes(x, indices, dimension_numbers, slice_sizes)

    def evaluate(self, x: Any, indices: Any, **params: Any) -> Any:
        numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
        plan = gather_plan(x.shape, indices.shape, numbers, sizes)
        if 0 in plan.shape:
            return np.empty(plan.shape, x.dtype)
        fills, fill_value = params["mode"] is GatherScatterMode.FILL_OR_DROP, params["fill_value"]
        if plan.along is not None:
            places = as_integers(indices[..., 0])
            out = x.take(places, axis=plan.along, mode="clip")
            outside = (places < 0) | (places >= x.shape[plan.along]) if fills else None
            if outside is None or not outside.any():
                return out
            outside = outside.reshape(outside.shape + (1,) * (x.ndim - plan.along - 1))
            return np.where(outside, filler(fill_value, x.dtype), out)
        rows = plan.row_numbers(indices, marks=fills)
        out = x.reshape(plan.rows, plan.row_size).take(rows, axis=0, mode="clip")
        if fills and (outside := rows < 0).any():
            out[outside] = filler(fill_value, x.dtype)
        return out.reshape(plan.shape)

    def kernel(self, x: Any, indices: Any, **params: Any) -> Callable[..., Any] | None:
        return taking(x, indices, partial(self.evaluate, **params), **params)

    def windows(self, x: Any, indices: Any, **params: Any) -> Windows | None:
        return gathered_windows(x, indices, **params)

    def lower(
        self,
        b: Builder,
        out: Any,
        x: Value,
        indices: Value,
        *,
        dimension_numbers: Any,
        slice_sizes: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Any,
        fill_value: Any,
    ) -> Value:
        names = ("offset_dims", "collapsed_slice_dims", "start_index_map",
                 "operand_batching_dims", "start_indices_batching_dims")  # fmt: skip
        numbers = dimensions_text("gather", names, dimension_numbers, indices)
        is_sorted = str(indices_are_sorted).lower()
        text = {"dimension_numbers": numbers, "indices_are_sorted": is_sorted}
        gathered = moved(b, out, lambda out, x: b.gather(x, out, indices, slice_sizes, **text), x)
        if b.module.platform == "cpu":
            # XLA fuses it with an update of parts of what was gathered, which is made of other
            # parts; written in place, the update reads what it has just written.
            gathered = b.op("stablehlo.optimization_barrier", out, gathered)
        if mode is not GatherScatterMode.FILL_OR_DROP:
            return gathered
        inside = windows_inside(b, x.aval, indices, dimension_numbers, slice_sizes)
        batch_axes = [i for i in range(len(out.shape)) if i not in dimension_numbers[0]]
        mask = b.broadcast(inside, inside.aval.update(shape=out.shape), batch_axes)
        fill = b.full(filler(fill_value, physical_dtype(out.dtype)), out)
        return b.op("stablehlo.select", out, mask, gathered, fill)

    def to_loops(self, b: loops.Builder, out: Any, *operands: loops.Value, **params: Any) -> Any:
        return gathered_in_loops(b, out, *operands, **params)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, fill_value: Any, **params: Any
    ) -> Any:
        out = self.bind(*primals, fill_value=fill_value, **params)
        if is_zero(tangents[0]):
            return out, Zero(out.aval.to_tangent_aval())
        fill = None if fill_value is None else 0
        return out, self.bind(tangents[0], primals[1], fill_value=fill, **params)

    def transpose(
        self,
        ct: Any,
        x: Any,
        indices: Any,
        *,
        dimension_numbers: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Any,
        **_: Any,
    ) -> list[Any]:
        numbers = ScatterDimensionNumbers(*dimension_numbers)
        ct_x = scatter_add(
            zeros(x.aval.to_ct_aval()),
            indices,
            ct,
            numbers,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
        )
        return [ct_x, None]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        dimension_numbers: Any,
        slice_sizes: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        **params: Any,
    ) -> tuple[Any, int]:
        (x, indices), (x_dim, indices_dim) = operands, dims
        offset, collapsed, index_map, batching, indices_batching = dimension_numbers
        offset = behind_batch(offset)
        if x_dim is not None:
            x = moved_axis(x, x_dim, 0)
            collapsed = behind_batch(collapsed)
            index_map = behind_batch(index_map)
            batching = behind_batch(batching)
        if indices_dim is not None:
            indices = moved_axis(indices, indices_dim, 0)
            indices_batching = behind_batch(indices_batching)
        if x_dim is None:
            # Windows of different members may come in any order, and coincide.
            indices_are_sorted = unique_indices = False
        elif indices_dim is None:
            offset, slice_sizes = (0, *offset), (axes.size, *slice_sizes)
        else:
            batching, indices_batching = (0, *batching), (0, *indices_batching)
            slice_sizes = (min_dim(1, axes.size), *slice_sizes)
        out = self.bind(
            x,
            indices,
            dimension_numbers=GatherDimensionNumbers(
                offset, collapsed, index_map, batching, indices_batching
            ),
            slice_sizes=slice_sizes,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            **params,
        )
        return out, 0


class AdditiveScattering(Scattering):
    """Scatters that are linear in operand and updates together."""

    accepts = NUMBER
    linear_sets = ((0, 2),)

    def signed(self, ct: Any) -> Any:
        """`ct` with the sign that updates have in the result."""
        raise AssertionError(f"{self.name} defines signed")

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = self.bind(*primals, **params)
        t_x, _, t_updates = tangents
        if is_zero(t_updates):
            return out, t_x
        return out, self.bind(instantiate(t_x), primals[1], t_updates, **params)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        ct_x = ct if is_undefined_primal(x) else None
        if not is_undefined_primal(updates):
            return [ct_x, None, None]
        return [ct_x, None, self.signed(gathered_like(ct, indices, updates.aval, **params))]


@final
class ScatterAdd(AdditiveScattering):
    """Add windows of updates to an array."""

    name = "scatter-add"
    combines = "add"

    def write(self, target: Any, rows: Any, updates: Any) -> None:
        accumulate(np.add, target, rows, updates)

    def signed(self, ct: Any) -> Any:
        return ct


def gathered_like(
    x: Any,
    indices: Any,
    updates: Any,
    *,
    dimension_numbers: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    **_: Any,
) -> Any:
    """What `x` has where a scatter puts `updates` (an aval); zero where it puts them nowhere."""
    if (aval := aval_of(x)).size == 0:
        return zeros(updates.update(dtype=aval.dtype))
    return gather(
        x,
        indices,
        GatherDimensionNumbers(*dimension_numbers),
        slice_sizes_of_updates(aval.shape, updates.shape, dimension_numbers),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
        fill_value=0,
    )


gather_p = Gather()
scatter_add_p = ScatterAdd()


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Collect windows of `operand` from many places.

    With b an index of the axes of `start_indices` but its last, and o a place in a window,

        result[b, o] = operand[start(b) + o]

    where the axes of o are at `offset_dims` of the result.

    Args:
        operand: array of rank n.
        start_indices: integers (..., k): where windows start along the axes that
            ``dimension_numbers.start_index_map`` lists.
        dimension_numbers: which axis is what.
        slice_sizes: n sizes, of the window along each axis of the operand.
        unique_indices: promise that windows do not overlap, which may save time.
        indices_are_sorted: promise about the indices that may save time.
        mode: what becomes of windows that leave the operand: ``"clip"``, ``"fill"``, or
            ``"promise_in_bounds"``, the default.
        fill_value: number that fills such windows; by default NaN, the least integer of a signed or
            the greatest of an unsigned dtype, `True`.

    Raises:
        TypeError: if the indices are not integers.
        ValueError: if the dimension numbers do not fit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.arange(12).reshape(4, 3)
        >>> rows = jax.lax.GatherDimensionNumbers(
        ...     offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
        ... )
        >>> jax.lax.gather(x, jnp.array([[2], [0]]), rows, slice_sizes=(1, 3))
        Array([[6, 7, 8],
               [0, 1, 2]], dtype=int32)
    """
    promise = GatherScatterMode.PROMISE_IN_BOUNDS
    parsed = promise if mode is None else GatherScatterMode.from_any(mode)
    fill = None
    if parsed is GatherScatterMode.FILL_OR_DROP:
        fill = fill_parameter(fill_value, aval_of(operand).dtype)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=as_tuples(dimension_numbers, GatherDimensionNumbers),
        slice_sizes=size_tuple("lax.gather, argument slice_sizes", slice_sizes),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=parsed,
        fill_value=fill,
    )


def scatter_add(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with windows of `updates` added at many places; see `scatter` for the arguments.

    Updates of the same place are all added.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> elements = jax.lax.ScatterDimensionNumbers(
        ...     update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ... )
        >>> jax.lax.scatter_add(
        ...     jnp.zeros(3), jnp.array([[2], [2]]), jnp.array([1.0, 5.0]), elements
        ... )
        Array([0., 0., 6.], dtype=float32)
    """
    params = scatter_params(
        add, operand, dimension_numbers, indices_are_sorted, unique_indices, mode
    )
    return scatter_add_p.bind(operand, scatter_indices, updates, **params)
