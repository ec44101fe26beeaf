"""Gathering whose result has a type that is the same for all members of a mesh."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, final

from ..core import AxisFlow, NoRule, ShapedArray, like, same_axes
from ..core.varying import varying_over
from ..engines.xla.stablehlo import Builder, Value
from ..lax.indexing.dynamic_slicing import dynamic_slice_in_dim
from ..lax.shape.shape_operations import squeeze
from .between_devices import gathered_by_devices, gathered_shape
from .collective import NO_MEMBERS, AlongAxes
from .positions import axis_index


@final
class AllGatherInvariant(AlongAxes):
    """The operands of all members along mesh axes, together: the same for all of them.

    Each member reads the cotangent of its own part, for the cotangent is the same for all too.

    Params:
        axis_name: names of the axes.
        axis_size: how many members there are along them.
        tiled: whether the parts lie along an axis that the operand has.
        all_gather_dimension: the axis along which they lie.
    """

    name = "all_gather_invariant"
    axis_params = ("all_gather_dimension",)
    collect = NoRule("collect", NO_MEMBERS)

    def abstract_eval(
        self, x: Any, *, all_gather_dimension: int, axis_size: int, tiled: bool, **_: Any
    ) -> ShapedArray:
        return like(x, shape=gathered_shape(x.shape, all_gather_dimension, axis_size, tiled))

    def varies_over(
        self, names: frozenset[Hashable], *, axis_name: tuple[Any, ...], **_: Any
    ) -> frozenset[Hashable]:
        return names - frozenset(axis_name)

    def transpose(
        self,
        ct: Any,
        x: Any,
        *,
        axis_name: tuple[Any, ...],
        all_gather_dimension: int,
        tiled: bool,
        **_: Any,
    ) -> list[Any]:
        size = x.aval.shape[all_gather_dimension] if tiled else 1
        start = axis_index(axis_name) * size
        part = dynamic_slice_in_dim(varying_over(ct, axis_name), start, size, all_gather_dimension)
        return [part if tiled else squeeze(part, (all_gather_dimension,))]

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


all_gather_invariant_p = AllGatherInvariant()
