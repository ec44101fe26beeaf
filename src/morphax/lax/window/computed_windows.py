"""Window reductions by any associative computation, and the public function for all of them.

Sums, maxima and minima have primitives of their own (`windows`).  Any other computation is the
primitive ``reduce_window``, which XLA runs; its meaning, and its derivative, come from slices of
whole arrays that are combined element by element.  XLA leaves gaps out, so every engine does:
what a window starts from is not combined once more for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...core import AxisFlow, Jaxpr, Primitive, aval_of, frames_hidden, same_axes
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..elementwise import selection
from ..elementwise.arithmetic import add
from ..elementwise.bitwise import bitwise_and, bitwise_or
from ..ground.monoids import ADD, MAX, MIN, Monoid
from ..reduction.computed_reductions import (
    Combine,
    ComputedReduction,
    combining_region,
    from_start,
    halves,
    starting_array,
)
from ..reduction.scalar_programs import reduction_of_pairs, single_operation
from ..shape.slicing import pad, slice_in_dim
from .window_geometry import AxisWindow, Window, canonical_window
from .window_reductions import (
    params_of,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    window_attributes,
    with_known_padding,
)
from .window_slices import combined_windows


@final
class ReduceWindow(ComputedReduction):
    """The initial value and the elements of each window, combined by `jaxpr`."""

    name = "reduce_window"
    narrow_in_loops = "rounded"

    def result_shape(self, x: Any, *, consts: Any, **params: Any) -> tuple[int, ...]:
        return Window(**params).out_shape(x.shape)

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        return same_axes(*avals, results=len(avals) // 2)

    def lower(
        self, b: Builder, outs: Any, *values: Value, jaxpr: Jaxpr, consts: Any, **params: Any
    ) -> list[Value]:
        body = combining_region(b, jaxpr, values)
        arrays, starts = halves(values)
        arrays, window = with_known_padding(b, arrays, starts, Window(**params))
        attributes: dict[str, Any] = window_attributes(window)
        return b.ops(
            "stablehlo.reduce_window", outs, *arrays, *starts, regions=[body], **attributes
        )

    def to_loops(
        self,
        b: loops.Builder,
        outs: Any,
        *values: loops.Value,
        jaxpr: Jaxpr,
        consts: Any,
        **params: Any,
    ) -> list[loops.Value]:
        arrays, starts = halves(values)
        if 0 in outs[0].shape:
            return [
                b.uniform(out.shape, b.fusion.scalar(x))
                for out, x in zip(outs, starts, strict=True)
            ]
        along = Window(**params).along(arrays[0].shape)
        axes = [w.sliding() for w in along]
        views = [
            loops.windows.windows_of(b, x, b.fusion.scalar(start), axes)
            for x, start in zip(arrays, starts, strict=True)
        ]
        present = None
        if any([w.has_gaps for w in along]):
            no, yes = [b.writer.number(flag, np.dtype(bool)) for flag in (False, True)]
            elements = b.uniform(arrays[0].shape, yes)
            present = loops.windows.windows_of(b, elements, no, axes)
        places = range(len(axes), 2 * len(axes))
        combine = loops.windows.by_program(b, jaxpr)
        return loops.windows.computed_reduction(b, outs, views, starts, places, combine, present)

    def combined(
        self,
        combine: Combine,
        operands: Sequence[Any],
        starts: Sequence[Any],
        *,
        consts: Any,
        **params: Any,
    ) -> list[Any]:
        if any([aval_of(x).ndim for x in starts]):
            raise TypeError(
                message(
                    "lax.reduce_window, argument init_value",
                    given="a value that vmap maps",
                    expected="one value for the whole batch",
                    fix="Give the identity of the computation, which is a constant.",
                )
            )
        window, shape = Window(**params), aval_of(operands[0]).shape
        firsts = [starting_array(x, window.out_shape(shape)) for x in starts]
        if 0 in window.out_shape(shape):
            return firsts
        arrays, fillers, moving = list(operands), list(starts), window.moving(shape)
        if any([w.has_gaps for w in moving]):
            combine = _of_elements(combine)
            arrays.append(starting_array(np.True_, shape))
            fillers.append(np.False_)
            firsts.append(starting_array(np.True_, window.out_shape(shape)))
        for w in moving:
            arrays = combined_windows(_padded(arrays, fillers, w), w, _sliced, combine)
        return combine(firsts, arrays)[: len(operands)]

    def batched_params(self, *, consts: Any, **params: Any) -> dict[str, Any]:
        return {"consts": consts, **params_of(Window(**params).inserted(0))}


reduce_window_p = ReduceWindow()


def _of_elements(combine: Combine) -> Combine:
    """`combine` of lists that end with what is an element: a gap gives way to the other side."""

    def combined(left: list[Any], right: list[Any]) -> list[Any]:
        (*xs, is_x), (*ys, is_y) = left, right
        is_pair = bitwise_and(is_x, is_y)
        found = [
            selection.select(is_pair, both, selection.select(is_x, x, y))
            for both, x, y in zip(combine(xs, ys), xs, ys, strict=True)
        ]
        return [*found, bitwise_or(is_x, is_y)]

    return combined


def _padded(arrays: Sequence[Any], values: Sequence[Any], w: AxisWindow) -> list[Any]:
    return [
        pad(x, value, w.padding_config(aval_of(x).ndim))
        for x, value in zip(arrays, values, strict=True)
    ]


def _sliced(arrays: list[Any], axis: int, start: int, stop: int, step: int) -> list[Any]:
    return [slice_in_dim(x, start, stop, step, axis) for x in arrays]


_KNOWN: dict[str, tuple[Monoid, Primitive, Callable[..., Any]]] = {
    "add": (ADD, reduce_window_sum_p, add),
    "max": (MAX, reduce_window_max_p, selection.max),
    "min": (MIN, reduce_window_min_p, selection.min),
}
"""Monoids by the name of the binary primitive, with their primitives and binary operations."""


@frames_hidden
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements of windows that slide along the axes.

    Args:
        operand: array, or tree of arrays of one shape.
        init_value: a scalar for each, which every window starts from; gaps are left out.
        computation: associative; takes two scalars (two trees of them), returns one.
        window_dimensions: size of a window along each axis.
        window_strides: by how much windows move, 1 if `None`.
        padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"``, or a pair (low, high) per axis.
        base_dilation: distance of neighbouring elements, 1 if `None`: the others are gaps.
        window_dilation: distance of neighbouring places in a window, 1 if `None`.

    Returns:
        A tree like `operand`, with one element per window.

    Raises:
        TypeError: if shapes or dtypes do not fit, or sizes are not positive.
        ValueError: if structures do not fit, or `padding` is an unknown name.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.reduce_window(jnp.arange(6.0), -jnp.inf, jax.lax.max, (2,), (2,))
        Array([1., 3., 5.], dtype=float32)
    """
    leaves, starts, jaxpr, structure = reduction_of_pairs(
        "lax.reduce_window", ("operand", "init_value"), operand, init_value, computation
    )
    window = canonical_window(
        "lax.reduce_window",
        aval_of(leaves[0]).shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    known = _KNOWN.get(single_operation(jaxpr) or "")
    if known is not None:
        monoid, primitive, binary = known
        out = primitive.bind(leaves[0], **params_of(window))
        return structure.unflatten([from_start(starts[0], out, monoid, binary)])
    outs = reduce_window_p.bind(*leaves, *starts, jaxpr=jaxpr, consts=(), **params_of(window))
    return structure.unflatten(outs)
