"""What the two ways to gather share: one whose result varies, and one that is the same for all."""

from __future__ import annotations

from typing import Any

from ..core import AxisFlow, ShapedArray, like, same_axes
from ..engines.xla.stablehlo import Builder, Value
from .between_devices import gathered_by_devices, gathered_shape
from .collective import AlongAxes


class AllGathering(AlongAxes):
    """The operands of all members, stacked or concatenated.

    Params:
        axis_name: names of the axes.
        axis_size: how many members communicate.
        tiled: whether the parts lie along an axis that the operand has, one after another, or
            along an axis of their own.
        all_gather_dimension: that axis.
    """

    axis_params = ("all_gather_dimension",)

    def abstract_eval(
        self, x: Any, *, all_gather_dimension: int, axis_size: int, tiled: bool, **_: Any
    ) -> ShapedArray:
        return like(x, shape=gathered_shape(x.shape, all_gather_dimension, axis_size, tiled))

    def axis_flow(
        self, x: ShapedArray, *, all_gather_dimension: int, tiled: bool, **_: Any
    ) -> AxisFlow:
        if tiled:
            return same_axes(x, whole=(all_gather_dimension,))
        labels = list(range(x.ndim))
        out = (*labels[:all_gather_dimension], None, *labels[all_gather_dimension:])
        return AxisFlow((tuple(labels),), (out,))

    def over_devices(
        self,
        b: Builder,
        out: Any,
        x: Value,
        groups: list[list[int]],
        *,
        all_gather_dimension: int,
        tiled: bool,
        **_: Any,
    ) -> Value:
        return gathered_by_devices(b, x, groups, all_gather_dimension, tiled=tiled)
