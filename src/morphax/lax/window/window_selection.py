"""Maxima over windows as selections: gathering from, and scattering to, the elements that win.

``select_and_gather_add`` takes from each window of one array the element that stands where another
array has its extreme; it is linear in the first array.  ``select_and_scatter_add``, its transpose,
adds each number to the place that won.  They are the derivative of the window maximum and the
transpose of that.  Of equal elements the first in row-major order wins; NaN wins over numbers.

Both go along one axis after the other, last axis first, with a slice and a selection for each place
in the window.  XLA's own operation is slower on the CPU, often by an order of magnitude.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Zero,
    is_undefined_primal,
    is_zero,
    like,
    same_axes,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.comparison import ge_p
from ..ground.axes import dilated
from ..ground.families import compare
from ..ground.kinds import NUMBER, ORDERED
from ..ground.linear_structure import batched_first
from ..ground.monoids import highest, lowest
from .window_geometry import AxisWindow, Window
from .window_slices import padded_array, padded_value, slice_of_array, slicer


class _Operations(Protocol):
    """What selection needs, on NumPy arrays or on values of a program."""

    def pad(self, x: Any, value: Any, w: AxisWindow) -> Any:
        """`x` with its gaps filled."""

    def take(self, x: Any, axis: int, start: int, stop: int, step: int) -> Any:
        """A slice."""

    def wins(self, candidate: Any, best: Any) -> Any:
        """Where `candidate` is better than `best`, which came earlier."""

    def where(self, chosen: Any, x: Any, y: Any) -> Any:
        """`x` where `chosen`, `y` elsewhere; `None` is zero."""

    def add(self, x: Any, y: Any) -> Any:
        """The sum of x and y."""


@final
class _OnArrays:
    """Operations on NumPy arrays."""

    def __init__(self, select_prim: Primitive) -> None:
        self._is_max = select_prim is ge_p

    pad = staticmethod(padded_array)
    take = staticmethod(slice_of_array)
    add = staticmethod(np.add)

    def wins(self, candidate: Any, best: Any) -> Any:
        stays = best >= candidate if self._is_max else best <= candidate
        return ~stays & (best == best)

    def where(self, chosen: Any, x: Any, y: Any) -> Any:
        zero = np.zeros((), (y if x is None else x).dtype)
        return np.where(chosen, zero if x is None else x, zero if y is None else y)


@final
class _InProgram:
    """Operations on values of the program that a builder writes."""

    def __init__(self, b: Builder, select_prim: Primitive) -> None:
        self._b = b
        self._direction = "GE" if select_prim is ge_p else "LE"
        self.take = slicer(b)

    def pad(self, x: Value, value: Any, w: AxisWindow) -> Value:
        return padded_value(self._b, x, value, w)

    def wins(self, candidate: Value, best: Value) -> Value:
        b, flags = self._b, best.aval.update(dtype=np.dtype(bool), weak_type=False)
        stays = compare(b, flags, self._direction, best, candidate)
        is_number = compare(b, flags, "EQ", best, best)
        return b.elementwise(
            "stablehlo.and", flags, b.elementwise("stablehlo.not", flags, stays), is_number
        )

    def where(self, chosen: Value, x: Value | None, y: Value | None) -> Value:
        aval = (x or y).aval  # type: ignore[union-attr]
        x, y = x or self._b.full(0, aval), y or self._b.full(0, aval)
        return self._b.op("stablehlo.select", aval, chosen, x, y)

    def add(self, x: Value, y: Value) -> Value:
        return self._b.elementwise("stablehlo.add", x.aval, x, y)


def _gathered(
    ops: _Operations, t: Any, x: Any, windows: Sequence[AxisWindow], worst: Any, zero: Any
) -> Any:
    """What `t` has where `x` wins, for each window."""
    for w in windows:
        x, t = ops.pad(x, worst, w), ops.pad(t, zero, w)
        best, chosen = (ops.take(v, w.axis, *w.places(0)) for v in (x, t))
        for position in range(1, w.size):
            place = w.places(position)
            candidate = ops.take(x, w.axis, *place)
            wins = ops.wins(candidate, best)
            best = ops.where(wins, candidate, best)
            chosen = ops.where(wins, ops.take(t, w.axis, *place), chosen)
        x, t = best, chosen
    return t


def _scattered(
    ops: _Operations, ct: Any, x: Any, windows: Sequence[AxisWindow], worst: Any, zero: Any
) -> Any:
    """`ct` added where `x` wins: `_gathered` run backwards."""
    decisions: list[list[Any]] = []
    for w in windows:
        x = ops.pad(x, worst, w)
        best, wins = ops.take(x, w.axis, *w.places(0)), []
        for position in range(1, w.size):
            candidate = ops.take(x, w.axis, *w.places(position))
            wins.append(ops.wins(candidate, best))
            best = ops.where(wins[-1], candidate, best)
        decisions.append(wins)
        x = best
    for w, wins in zip(reversed(windows), reversed(decisions), strict=True):
        total = None
        for position in range(w.size - 1, -1, -1):
            part = ops.where(wins[position - 1], ct, None) if position else ct
            ct = ops.where(wins[position - 1], None, ct) if position else ct
            spread = ops.pad(part, zero, _spreading(w, position))
            total = spread if total is None else ops.add(total, spread)
        length = dilated(w.length, w.base_dilation)
        ct = ops.take(total, w.axis, 0, length, w.base_dilation)
    return ct


def _spreading(w: AxisWindow, position: int) -> AxisWindow:
    """The padding that brings place number `position` of all windows back to where it was taken."""
    start, stop, step = w.places(position)
    low = start - w.low
    high = dilated(w.length, w.base_dilation) - (stop - w.low)
    return AxisWindow(w.axis, w.count, 1, 1, low, high, step, 1)


def _worst(select_prim: Primitive, dtype: Any) -> Any:
    return lowest(dtype) if select_prim is ge_p else highest(dtype)


class WindowSelection(Primitive):
    """What gathering and scattering share: both are linear in the first operand."""

    def axis_flow(self, source: Any, x: Any, **params: Any) -> AxisFlow:
        return same_axes(source, x)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (source, x), (t, _) = primals, tangents
        out = self.bind(source, x, **params)
        # The selection is piecewise constant in x.
        return out, Zero(out.aval) if is_zero(t) else self.bind(t, x, **params)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        select_prim: Primitive,
        **params: Any,
    ) -> tuple[Any, int]:
        source, x = (batched_first(axes, v, d) for v, d in zip(operands, dims, strict=True))
        inserted = _window(**params).inserted(0)
        named = {name: getattr(inserted, name) for name in params}
        return self.bind(source, x, select_prim=select_prim, **named), 0


def _window(
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Window:
    ones = (1,) * len(window_dimensions)
    return Window(
        window_dimensions, window_strides, padding, base_dilation or ones, window_dilation or ones
    )


def _sliding(
    b: loops.Builder, x: loops.Value, *, select_prim: Primitive, **params: Any
) -> tuple[list[loops.windows.Sliding], loops.Operand, str]:
    """The windows, what loses against all elements, and what is better, in loop programs."""
    worst = b.writer.number(_worst(select_prim, x.dtype)[()], x.dtype)
    axes = [w.sliding() for w in _window(**params).along(x.shape)]
    return axes, worst, "gt" if select_prim is ge_p else "lt"


def _check_selection(name: str, source: Any, x: Any, expected: tuple[int, ...]) -> None:
    NUMBER.check(name, 0, source)
    ORDERED.check(name, 1, x)
    if source.shape != expected:
        raise ShapeError(
            message(
                f"lax.{name}",
                given=f"{source.str_short(short_dtypes=False)} for windows over "
                f"{x.str_short(short_dtypes=False)}",
                expected=f"a first operand of shape {expected}",
                fix="Give one number per window to scatter, one per element to gather.",
            )
        )


@final
class SelectAndGatherAdd(WindowSelection):
    """The element of `t` that stands where `x` has its extreme, for each window."""

    name = "select_and_gather_add"

    def abstract_eval(
        self, t: Any, x: Any, *, select_prim: Primitive, **params: Any
    ) -> ShapedArray:
        _check_selection(self.name, t, x, x.shape)
        return like(t, shape=_window(**params).out_shape(x.shape))

    def evaluate(self, t: Any, x: Any, *, select_prim: Primitive, **params: Any) -> Any:
        window = _window(**params)
        shape = window.out_shape(x.shape)
        if 0 in shape:
            return np.zeros(shape, t.dtype)
        worst, zero = _worst(select_prim, x.dtype), np.zeros((), t.dtype)
        out = _gathered(_OnArrays(select_prim), t, x, window.moving(x.shape), worst, zero)
        return np.array(out, order="C")

    def lower(
        self, b: Builder, out: Any, t: Value, x: Value, *, select_prim: Primitive, **params: Any
    ) -> Value:
        if out.size == 0:
            return b.full(0, out)
        windows = _window(**params).moving(x.aval.shape)
        worst = _worst(select_prim, x.aval.dtype)
        found: Value = _gathered(_InProgram(b, select_prim), t, x, windows, worst, 0)
        return found

    def to_loops(
        self, b: loops.Builder, out: Any, source: loops.Value, x: loops.Value, **params: Any
    ) -> loops.Value:
        how = _sliding(b, x, **params)
        return loops.window_selection.gathered_winners(b, out, source, x, *how)

    def transpose(self, ct: Any, t: Any, x: Any, **params: Any) -> list[Any]:
        assert is_undefined_primal(t), "the operation is linear in its first operand"
        trivial = (1,) * x.aval.ndim
        named = {
            name: value
            for name, value in params.items()
            if not (name.endswith("dilation") and value == trivial)
        }
        return [select_and_scatter_add_p.bind(ct, x, **named), None]


@final
class SelectAndScatterAdd(WindowSelection):
    """Zeros like `x`, with each number of `source` added where `x` has the extreme of its window.

    The dilations are parameters only where they are not 1.
    """

    name = "select_and_scatter_add"
    narrow_in_loops = "rounded"

    def abstract_eval(
        self, source: Any, x: Any, *, select_prim: Primitive, **params: Any
    ) -> ShapedArray:
        _check_selection(self.name, source, x, _window(**params).out_shape(x.shape))
        return like(source, shape=x.shape)

    def evaluate(self, source: Any, x: Any, *, select_prim: Primitive, **params: Any) -> Any:
        if source.size == 0:
            return np.zeros(x.shape, source.dtype)
        windows = _window(**params).moving(x.shape)
        worst, zero = _worst(select_prim, x.dtype), np.zeros((), source.dtype)
        return np.array(
            _scattered(_OnArrays(select_prim), source, x, windows, worst, zero), order="C"
        )

    def lower(
        self,
        b: Builder,
        out: Any,
        source: Value,
        x: Value,
        *,
        select_prim: Primitive,
        **params: Any,
    ) -> Value:
        if source.aval.size == 0:
            return b.full(0, out)
        windows = _window(**params).moving(x.aval.shape)
        worst = _worst(select_prim, x.aval.dtype)
        found: Value = _scattered(_InProgram(b, select_prim), source, x, windows, worst, 0)
        return found

    def to_loops(
        self, b: loops.Builder, out: Any, source: loops.Value, x: loops.Value, **params: Any
    ) -> loops.Value:
        how = _sliding(b, x, **params)
        return loops.window_selection.scattered_winners(b, out, source, x, *how)

    def transpose(self, ct: Any, source: Any, x: Any, **params: Any) -> list[Any]:
        assert is_undefined_primal(source), "the operation is linear in its first operand"
        ones = (1,) * x.aval.ndim
        named = {"base_dilation": ones, "window_dilation": ones} | params
        return [select_and_gather_add_p.bind(ct, x, **named), None]


select_and_gather_add_p = SelectAndGatherAdd()
select_and_scatter_add_p = SelectAndScatterAdd()
