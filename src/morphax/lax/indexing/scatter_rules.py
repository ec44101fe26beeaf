"""What all scatters share: shape rule, NumPy meaning, lowering and batching.

A scatter puts windows of `updates` into a copy of the operand, where an index says each one starts,
and combines what comes together at one place.  Windows come in the order of the indices: of those
that overwrite each other the last one stays (elsewhere than on the CPU, any).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core import AxisFlow, BatchAxes, Jaxpr, Primitive, ShapedArray, aval_of, like, stage_closed
from ...engines import loops
from ...engines.reference.windows import STARTS, Windows
from ...engines.xla.moved_bits import moved, moved_value
from ...engines.xla.stablehlo import Builder, Value
from ...util.compiled import part
from ...util.memo import memoize
from ...util.messages import message
from ..ground.axis_flows import scattered_axes
from ..ground.dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    as_tuples,
    check_indices,
    check_update_window,
    check_windows,
    interleaved,
    slice_sizes_of_updates,
    window_shape,
)
from ..ground.kinds import ANY, DtypeKind
from ..ground.linear_structure import batched_first, behind_batch, moved_axis
from ..ground.narrow import widened
from .element_places import as_integers, element_windows, scatter_plan
from .index_bounds import clamped_indices, dimensions_text

Write = Callable[[Any, Any, Any], None]

_native: Any = part("kernels")
# What native code does where numbers say, one after the other.
_CHANGES = ("", "add")


class Scattering(Primitive):
    """Operations that put windows of updates into an array.

    A subclass says what it does where an update meets an element: in NumPy, by `write`, which
    takes the operand as a matrix, row numbers, and one row of updates for each; in StableHLO, by
    the program `update_jaxpr` of two scalars, or the second of them if that is `None`.
    """

    accepts: ClassVar[DtypeKind] = ANY
    # By which operation updates are combined with elements, one after the other; "" replaces them.
    combines: ClassVar[str | None] = None
    of_one_dtype = True
    narrow_in_loops = "kept"
    window_in_loops = "changed"

    def write(self, target: Any, rows: Any, updates: Any) -> None:
        raise AssertionError(f"{self.name} defines write")

    def abstract_eval(
        self, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, **_: Any
    ) -> ShapedArray:
        where = f"lax.{self.name.replace('-', '_')}"
        self.accepts.check(self.name.replace("-", "_"), 0, x)
        check_indices(f"{where}, argument scatter_indices", indices)
        check_update_window(where, x, updates, dimension_numbers)
        sizes = slice_sizes_of_updates(x.shape, updates.shape, dimension_numbers)
        check_windows(where, x, indices, dimension_numbers, sizes)
        window = window_shape(dimension_numbers, sizes)
        expected = interleaved(dimension_numbers[0], window, indices.shape[:-1])
        if updates.dtype != x.dtype or updates.shape != expected:
            error = ValueError if updates.dtype == x.dtype else TypeError
            raise error(
                message(
                    f"{where}, argument updates",
                    given=updates.str_short(short_dtypes=False),
                    expected=ShapedArray(expected, x.dtype).str_short(short_dtypes=False),
                    fix="Convert or broadcast the updates; x.at[...] does it for you.",
                )
            )
        return like(x)

    def axis_flow(
        self, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, **_: Any
    ) -> AxisFlow:
        sizes = slice_sizes_of_updates(x.shape, updates.shape, dimension_numbers)
        return scattered_axes(x, indices, dimension_numbers, sizes)

    def evaluate(
        self,
        x: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: Any,
        mode: Any,
        **_: Any,
    ) -> Any:
        places = indices, dimension_numbers, mode
        return scattered(x, places, updates, self.write, self.combines)

    def windows(
        self,
        x: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: Any,
        mode: Any,
        **_: Any,
    ) -> Windows | None:
        if self.combines is None or indices.dtype not in STARTS:
            return None
        return element_windows(
            x,
            indices.shape,
            dimension_numbers,
            slice_sizes_of_updates(x.shape, updates.shape, dimension_numbers),
            updates=2,
            combine=self.combines or None,
            moves=mode is GatherScatterMode.CLIP,
        )

    def lower(
        self,
        b: Builder,
        out: Any,
        x: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Any,
        update_jaxpr: Any,
        update_consts: Any,
    ) -> Value:
        if mode is GatherScatterMode.CLIP:
            sizes = slice_sizes_of_updates(x.aval.shape, updates.aval.shape, dimension_numbers)
            indices = clamped_indices(b, x.aval, indices, dimension_numbers, sizes)
        if not dimension_numbers.scatter_dims_to_operand_dims:
            x, indices, dimension_numbers = _with_index(b, x, indices, dimension_numbers)
        scalar = out.update(shape=())

        def combine(inner: Builder, old: Value, new: Value) -> Sequence[Value]:
            if update_jaxpr is None:
                return [new]
            return inner.inline(update_jaxpr, *[moved_value(inner, v, scalar) for v in (old, new)])

        names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
                 "input_batching_dims", "scatter_indices_batching_dims")  # fmt: skip

        def write(aval: Any, x: Value, updates: Value) -> Value:
            element = aval.update(shape=())
            region = b.region(
                [element, element],
                lambda inner, *pair: [
                    moved_value(inner, v, element) for v in combine(inner, *pair)
                ],
            )
            return b.op(
                "stablehlo.scatter",
                aval,
                x,
                indices,
                updates,
                regions=[region],
                scatter_dimension_numbers=dimensions_text(
                    "scatter", names, dimension_numbers, indices
                ),
                indices_are_sorted=str(indices_are_sorted).lower(),
                unique_indices=str(unique_indices).lower(),
            )

        result = moved(b, x.aval, write, x, updates)
        return result if x.aval.shape == out.shape else b.reshape(result, out)

    def to_loops(
        self,
        b: loops.Builder,
        out: Any,
        x: loops.Value,
        indices: loops.Value,
        updates: loops.Value,
        *,
        dimension_numbers: Any,
        mode: Any,
        update_jaxpr: Any,
        **_: Any,
    ) -> loops.Value:
        sizes = slice_sizes_of_updates(x.shape, updates.shape, dimension_numbers)
        windows = loops.indexing.Windows.of(dimension_numbers, sizes)
        combine = loops.indexing.combination(b, update_jaxpr)
        drops = mode is not GatherScatterMode.CLIP
        return loops.indexing.scattered(b, x, indices, updates, windows, combine, drops=drops)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple[Any, int]:
        x, indices, updates = operands
        window, inserted, index_map, batching, indices_batching = dimension_numbers
        x, updates = batched_first(axes, x, dims[0]), batched_first(axes, updates, dims[2])
        window = behind_batch(window)
        batching = behind_batch(batching)
        if dims[1] is None:
            window = (0, *window)
        else:
            indices = moved_axis(indices, dims[1], 0)
            batching = (0, *batching)
            indices_batching = (0, *behind_batch(indices_batching))
        numbers = ScatterDimensionNumbers(
            update_window_dims=window,
            inserted_window_dims=behind_batch(inserted),
            scatter_dims_to_operand_dims=behind_batch(index_map),
            operand_batching_dims=batching,
            scatter_indices_batching_dims=indices_batching,
        )
        return self.bind(x, indices, updates, dimension_numbers=numbers, **params), 0


def scattered(x: Any, places: Any, updates: Any, write: Write, combines: str | None) -> Any:
    """A copy of `x` with `updates` written into it, in NumPy.

    Args:
        x: the array.
        places: indices, dimension numbers and what becomes of windows outside.
        updates: for the windows.
        write: as that of a scatter.
        combines: what `write` does, by its name; `None` has none.
    """
    indices, numbers, mode = places
    out = x.copy()
    if 0 in (x.size, updates.size):
        return out
    plan = scatter_plan(x.shape, indices.shape, updates.shape, numbers)
    drops = mode is not GatherScatterMode.CLIP
    target = out.reshape(plan.rows, plan.row_size)
    if combines in _CHANGES and plan.is_of_rows and _native is not None:
        at = indices if indices.dtype == np.int32 else as_integers(indices)
        if _native.changed(target, at, updates, combines == "add", drops):
            return out
    rows = plan.row_numbers(indices, marks=drops).astype(np.intp, copy=False)
    if plan.order is not None:
        updates = updates.transpose(plan.order)
    ordered = updates.reshape(*rows.shape, plan.row_size)
    if drops and not (inside := rows >= 0).all():
        rows, ordered = rows[inside], ordered[inside]
    write(target, rows.reshape(-1), ordered.reshape(-1, plan.row_size))
    return out


def elements(target: Any, rows: Any) -> Any:
    """The numbers of the elements in the given rows of a matrix, row by row."""
    size = target.shape[1]
    if size == 1:
        return rows
    return (rows[:, None] * size + np.arange(size)).reshape(-1)


def accumulate(ufunc: np.ufunc, target: Any, rows: Any, updates: Any) -> None:
    """Combine each update with what is in its place, one after the other, by `ufunc`."""
    places = elements(target, rows)
    wide = widened(target)
    ufunc.at(wide.reshape(-1), places, widened(updates).reshape(-1))
    if wide is not target:
        target[...] = wide


def _with_index(
    b: Builder, x: Value, indices: Value, numbers: ScatterDimensionNumbers
) -> tuple[Value, Value, ScatterDimensionNumbers]:
    """The same scatter with one component of indices, zero, along a new axis of size 1.

    Of several windows that go to one place for want of indices, XLA sees the last only; into an
    operand of rank 0 it cannot scatter.
    """
    axis = len(x.aval.shape)
    x = b.reshape(x, x.aval.update(shape=(*x.aval.shape, 1)))
    zeros = b.full(0, indices.aval.update(shape=(*indices.aval.shape[:-1], 1)))
    numbers = numbers._replace(
        inserted_window_dims=(*numbers.inserted_window_dims, axis),
        scatter_dims_to_operand_dims=(axis,),
    )
    return x, zeros, numbers


def in_rounds(combine: Callable[[Any, Any], Any], target: Any, rows: Any, updates: Any) -> None:
    """Combine updates with what is in their places, those of one place one after the other.

    Round number k combines the k-th update of every place that has so many.
    """
    places = elements(target, rows)
    flat, values = target.reshape(-1), updates.reshape(-1)
    order = np.argsort(places, kind="stable")
    in_order = places[order]
    turn = np.arange(len(order)) - np.searchsorted(in_order, in_order)
    by_turn = order[np.argsort(turn, kind="stable")]
    for chosen in np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]):
        where = places[chosen]
        flat[where] = combine(flat[where], values[chosen])


@memoize
def update_program(combine: Callable[[Any, Any], Any], dtype: Any) -> Jaxpr:
    """The program of two scalars that combines an element with an update."""
    scalar = ShapedArray((), dtype)
    return stage_closed(lambda old, new: [combine(old, new)], [scalar, scalar])


def scatter_params(
    combine: Callable[[Any, Any], Any] | None,
    operand: Any,
    dimension_numbers: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
) -> dict[str, Any]:
    """The parameters of a scatter, from the arguments of a public function.

    `combine` says what becomes of an element and its update; `None`: the update replaces it.
    """
    return {
        "dimension_numbers": as_tuples(dimension_numbers, ScatterDimensionNumbers),
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "mode": GatherScatterMode.from_any(mode),
        "update_jaxpr": combine and update_program(combine, aval_of(operand).dtype),
        "update_consts": (),
    }
