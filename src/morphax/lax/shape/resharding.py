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
from ...core.varying import varying_over
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
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
    """A derivative with the type of what it belongs to: its weak type, and how it is on a mesh.

    The rules of derivatives need not care; tangents and cotangents come through here.

    Raises:
        ValueError: if it varies over an axis of the mesh along which that is the same for all.
    """
    x = as_weak_as(x, aval)
    own = aval_of(x)
    if not (aval.is_on_mesh or own.is_on_mesh):
        return x
    if not own.vma <= aval.vma:
        raise ValueError(_unsummed(own, aval))
    x = varying_over(x, aval.vma)
    sharding = aval.sharding
    return x if sharding in (None, own.sharding) else reshard_p.bind(x, dst_sharding=sharding)


def _unsummed(own: ShapedArray, aval: ShapedArray) -> str:
    axes = ", ".join(map(repr, own.vma - aval.vma))
    return message(
        "derivative of a value in a program of members",
        given=f"{own}, which varies over the axes {axes} of the mesh, for a value {aval}",
        expected="a derivative that is the same for all members, as the value is",
        fix=f"Sum a cotangent over the members, with lax.psum(ct, {axes}); or have the value "
        f"vary from the start, with lax.pcast(x, {axes}, to='varying').",
    )
