"""How an array is split over a mesh, said anew; and the types that derivatives are to have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ...core import (
    AbstractSharding,
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    aval_of,
    like,
    same_axes,
)
from ...engines.xla.stablehlo import Builder, Value
from ..elementwise.convert import as_weak_as


@final
class Reshard(Primitive):
    """The same array, split over the mesh as `dst_sharding` says."""

    name = "reshard"
    linear = True

    def abstract_eval(self, x: Any, *, dst_sharding: AbstractSharding) -> ShapedArray:
        return like(x, sharding=dst_sharding)

    def axis_flow(self, x: Any, **_: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return x

    def lower(self, b: Builder, out: Any, x: Value, **_: Any) -> Value:
        return x

    def transpose(self, ct: Any, x: Any, **_: Any) -> list[Any]:
        """The cotangent is split as `x` once it is tied to it."""
        return [ct]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        dst_sharding: AbstractSharding,
    ) -> tuple[Any, int]:
        dim = dims[0]
        return self.bind(operands[0], dst_sharding=dst_sharding.with_axis(dim, axes.sharding)), dim


reshard_p = Reshard()


def tied(x: Any, aval: Any) -> Any:
    """A derivative with the type of what it belongs to: its weak type, and how it is split.

    The rules of derivatives need not care for either; tangents and cotangents come through here.
    """
    x = as_weak_as(x, aval)
    sharding = aval.sharding if aval.is_on_mesh else None
    if sharding is None or aval_of(x).sharding == sharding:
        return x
    return reshard_p.bind(x, dst_sharding=sharding)
