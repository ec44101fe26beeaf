"""Window reductions: sums, maxima and minima over windows that slide along the axes.

On the CPU they are lowered to slices (see `window_slices`), which run several times faster there
than XLA's own `reduce_window`.  The tangent of a maximum is the tangent of the element that attains
it: see `window_selection`.  Any other computation is the subject of `computed_windows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    is_zero,
    like,
    not_linear,
    same_axes,
)
from ...core.dims import is_negative, is_static
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value, i64_array, i64_matrix
from ..elementwise.comparison import ge_p, le_p
from ..ground.axes import dilated
from ..ground.families import without_derivative
from ..ground.kinds import NUMBER, ORDERED, DtypeKind
from ..ground.linear_structure import zeros
from ..ground.monoids import ADD, MAX, MIN, Monoid
from ..ground.narrow import COMPUTED_IN
from .window_geometry import Window
from .window_selection import select_and_gather_add_p
from .window_slices import (
    combined_windows,
    padded_array,
    padded_in_memory,
    slice_of_array,
    slicer,
)


class MonoidWindows(Primitive):
    """The elements of each window, combined by `monoid`."""

    monoid: ClassVar[Monoid]
    accepts: ClassVar[DtypeKind]

    transpose = not_linear()
    narrow_in_loops = "rounded"

    def abstract_eval(self, x: Any, **params: Any) -> ShapedArray:
        self.accepts.check(self.name, 0, x)
        return like(x, shape=Window(**params).out_shape(x.shape))

    def axis_flow(self, x: Any, **params: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, **params: Any) -> Any:
        return self.kernel(x, **params)(x)

    def kernel(self, x: Any, **params: Any) -> Callable[..., Any]:
        window = Window(**params)
        shape = window.out_shape(x.shape)
        if 0 in shape:
            return lambda v: np.zeros(shape, v.dtype)
        moving = list(window.moving(x.shape))

        def method(ufunc: np.ufunc, v: Any) -> Any:
            own = ufunc is self.monoid.ufunc
            gap = self.monoid.identity(v.dtype) if own else np.zeros((), v.dtype)
            for w in moving:
                v = combined_windows(padded_array(v, gap, w), w, slice_of_array, ufunc)
            return np.array(v, order="C")

        return lambda v: self.monoid.combine(v, method)

    def lower(self, b: Builder, out: Any, x: Value, **params: Any) -> Value:
        window = Window(**params)
        if out.size == 0:
            return b.full(0, out)
        gap = self.monoid.identity(out.dtype)
        # Slices need a window to start from, and whether there is one may not be known.
        may_be_empty = any([is_negative(n - 1) for n in out.shape])
        if b.module.platform != "cpu" or may_be_empty:
            return _lower_natively(b, self.monoid.stablehlo, gap, out, x, window)

        def combine(left: Value, right: Value) -> Value:
            return b.elementwise(self.monoid.stablehlo, left.aval, left, right)

        # Sums of narrow floats are taken in float32, as those of whole axes are.
        wide = COMPUTED_IN.get(out.dtype, out.dtype) if self.monoid is ADD else out.dtype
        x = b.convert(x, wide)
        for w in window.moving(x.aval.shape):
            x = combined_windows(padded_in_memory(b, x, gap, w), w, slicer(b), combine)
        return b.convert(x, out.dtype)

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value, **params: Any) -> loops.Value:
        operation, identity = self.monoid.for_loops(b.writer, x.dtype)
        axes = [w.sliding() for w in Window(**params).along(x.shape)]
        if 0 in out.shape:
            return b.uniform(out.shape, identity)
        view = loops.windows.windows_of(b, x, identity, axes)
        return loops.reduced(b, out, view, range(x.ndim, 2 * x.ndim), operation, identity)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        (dim,) = dims
        return self.bind(operands[0], **params_of(Window(**params).inserted(dim))), dim


def params_of(window: Window) -> dict[str, Any]:
    """The parameters of a primitive for its windows."""
    return {name: getattr(window, name) for name in Window.__slots__}


def window_attributes(window: Window) -> dict[str, str]:
    """The attributes of StableHLO's window operations."""
    return {
        "window_dimensions": i64_array(window.window_dimensions),
        "window_strides": i64_array(window.window_strides),
        "base_dilations": i64_array(window.base_dilation),
        "window_dilations": i64_array(window.window_dilation),
        "padding": i64_matrix(window.padding),
    }


def _lower_natively(
    b: Builder, operation: str, identity: Any, out: Any, x: Value, window: Window
) -> Value:
    element = out.update(shape=())
    body = b.region(
        (element, element),
        lambda inner, *pair: [inner.elementwise(operation, element, *pair)],
    )
    start = b.constant(identity, element)
    (x,), window = with_known_padding(b, [x], [start], window)
    return b.op(
        "stablehlo.reduce_window", out, x, start, regions=[body], **window_attributes(window)
    )


def with_known_padding(
    b: Builder, values: Sequence[Value], gaps: Sequence[Value], window: Window
) -> tuple[list[Value], Window]:
    """Arrays and windows whose padding is numbers, which it has to be in an attribute.

    Padding by symbolic sizes, and the dilation below it, is made explicit.
    """
    if is_static(chain.from_iterable(window.padding)):
        return list(values), window
    pads = zip(window.padding, window.base_dilation, strict=True)
    config = [(low, high, dilation - 1) for (low, high), dilation in pads]
    sizes = [w.padded_length for w in window.along(values[0].aval.shape)]
    padded = [
        b.pad(x, x.aval.update(shape=sizes), gap, config)
        for x, gap in zip(values, gaps, strict=True)
    ]
    none = len(config)
    return padded, replace(window, padding=((0, 0),) * none, base_dilation=(1,) * none)


@final
class ReduceWindowSum(MonoidWindows):
    """The sum of each window."""

    name = "reduce_window_sum"
    accepts = NUMBER
    monoid = ADD
    linear = True

    def transpose(self, ct: Any, x: Any, **params: Any) -> list[Any]:
        """Sums over windows again: each element is in the windows that reach it.

        Strides and base dilations change places, as do the ends of the padding.
        """
        window, shape = Window(**params), x.aval.shape
        if 0 in (ct.aval.size, x.aval.size):
            return [zeros(x.aval.to_ct_aval())]
        padding = []
        for w in window.along(shape):
            reach = dilated(w.size, w.dilation)
            low = reach - 1 - w.low
            spread = dilated(w.count, w.stride)
            high = dilated(w.length, w.base_dilation) - 1 + reach - spread - low
            padding.append((low, high))
        transposed = Window(
            window.window_dimensions,
            window.base_dilation,
            tuple(padding),
            window.window_strides,
            window.window_dilation,
        )
        return [self.bind(ct, **params_of(transposed))]


class ExtremeWindows(MonoidWindows):
    """The extreme element of each window; the derivative is that of the first one."""

    accepts = ORDERED
    select_prim: ClassVar[Primitive]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        if is_zero(t):
            return without_derivative(self, primals, params)
        out = self.bind(x, **params)
        return out, select_and_gather_add_p.bind(t, x, select_prim=self.select_prim, **params)


@final
class ReduceWindowMax(ExtremeWindows):
    """The largest element of each window."""

    name = "reduce_window_max"
    monoid = MAX
    select_prim = ge_p


@final
class ReduceWindowMin(ExtremeWindows):
    """The smallest element of each window."""

    name = "reduce_window_min"
    monoid = MIN
    select_prim = le_p


reduce_window_sum_p = ReduceWindowSum()
reduce_window_max_p = ReduceWindowMax()
reduce_window_min_p = ReduceWindowMin()
