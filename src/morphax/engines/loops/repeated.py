"""Steps that were found again in a program: the operations that stand for them.

`engines.loops.repeats` writes programs with these, which nothing but a builder of loops sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ...core import (
    Jaxpr,
    Primitive,
    ShapedArray,
    like,
    not_batchable,
    not_differentiable,
    not_linear,
)
from ...core.missing_rules import NoRule
from .builder import Builder
from .control import repeated
from .joining import block_of, is_at, limited_starts
from .program import Index, Operand
from .values import Indices, Value

_LATE = "it arises when a program is written as loops, after all transformations"


class _OfLoops(Primitive):
    """An operation of programs that are on their way to loops."""

    narrow_in_loops = "kept"
    evaluate = NoRule("evaluate", _LATE)
    lower = NoRule("lower", _LATE)
    jvp = not_differentiable(_LATE)
    transpose = not_linear(_LATE)
    batch = not_batchable(_LATE)


@final
class RepeatedSteps(_OfLoops):
    """Steps one after the other: what a `scan` does.

    Params:
        jaxpr: a step: constants, what is carried, slices of xs → what is carried, slices of ys.
        length: number of steps.
        num_consts, num_carry: how many operands are constants, and are carried; the others are xs.
        at_once: so many steps are written one after the other.
    """

    name = "repeated_steps"
    multiple_results = True
    repeats_programs = True

    def abstract_eval(
        self,
        *operands: Any,
        jaxpr: Jaxpr,
        length: int,
        num_consts: int,
        num_carry: int,
        at_once: int,
    ) -> list[Any]:
        carried, slices = jaxpr.out_avals[:num_carry], jaxpr.out_avals[num_carry:]
        return [*carried, *[aval.with_axis(0, length) for aval in slices]]

    def to_loops(
        self,
        b: Builder,
        outs: Sequence[Any],
        *operands: Value,
        num_consts: int,
        num_carry: int,
        at_once: int,
        **params: Any,
    ) -> list[Value]:
        first = num_consts + num_carry
        consts, initial, xs = operands[:num_consts], operands[num_consts:first], operands[first:]
        scan = params | {"reverse": False}
        return repeated(b, scan, consts, initial, xs, outs[num_carry:], at_once)


@final
class StridedView(_OfLoops):
    """Elements of an array in other places.

    Params:
        shape: of the result.
        axes: for each axis of the operand, where index i of the result reads it: a start, and axes
            of the result with factors: ``start + Σ factor · i[axis]``.
    """

    name = "strided_view"

    def abstract_eval(self, x: Any, *, shape: tuple[int, ...], axes: Any) -> ShapedArray:
        return like(x, shape=shape)

    def to_loops(
        self, b: Builder, out: Any, x: Value, *, shape: tuple[int, ...], axes: Any
    ) -> Value:
        return b.view(b.settled(x), shape, axes)


@final
class MovingWindow(_OfLoops):
    """The elements of an array from a place on, which a number for each axis says.

    Params:
        slice_sizes: how many there are along each axis.
    """

    name = "moving_window"
    window_in_loops = "read"

    def abstract_eval(self, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> ShapedArray:
        return like(x, shape=slice_sizes)

    def to_loops(
        self, b: Builder, out: Any, x: Value, *starts: Value, slice_sizes: tuple[int, ...]
    ) -> Value:
        return block_of(b, b.settled(x), limited_starts(b, starts, x.shape, slice_sizes), out.shape)


@final
class MovingRow(_OfLoops):
    """A row, or an element, among others of one number, at a place that numbers say.

    Params:
        shape: of the result.
        axes: along which there are others, of size 1 in the operand: a number for each.
    """

    name = "moving_row"

    def abstract_eval(
        self, x: Any, filler: Any, *places: Any, shape: tuple[int, ...], axes: tuple[int, ...]
    ) -> ShapedArray:
        return like(x, shape=shape)

    def to_loops(
        self,
        b: Builder,
        out: Any,
        x: Value,
        filler: Value,
        *places: Value,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
    ) -> Value:
        w, read = b.writer, b.fusion.read
        numbers = dict(zip(axes, map(b.fusion.scalar, places), strict=True))

        def element(indices: Indices) -> Operand:
            is_here = [is_at(b, indices[axis], place) for axis, place in numbers.items()]
            row = tuple([Index() if axis in numbers else i for axis, i in enumerate(indices)])
            return w.select(w.all_of(is_here), read(x, row), read(filler, ()))

        return b.fusion.pending(shape, x.dtype, element, [x, filler], cost=3)


moving_row_p = MovingRow()
moving_window_p = MovingWindow()
repeated_steps_p = RepeatedSteps()
strided_view_p = StridedView()
