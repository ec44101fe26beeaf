"""Texts of operations between devices that several collectives write."""

from __future__ import annotations

from typing import Any

from ..engines.xla.members import communicate, groups_of
from ..engines.xla.stablehlo import Builder, Value
from ..lax.ground.monoids import Monoid


def combining(b: Builder, monoid: Monoid, aval: Any) -> str:
    """The region that combines two elements of arrays like `aval`."""
    element = aval.update(shape=())
    return b.region(
        (element, element), lambda inner, x, y: [inner.op(monoid.stablehlo, element, x, y)]
    )


def reduced_by_devices(
    b: Builder, monoid: Monoid, out: Any, x: Value, groups: list[list[int]]
) -> Value:
    """The values of all devices of a group, combined."""
    regions = [combining(b, monoid, out)]
    return communicate(b, "stablehlo.all_reduce", out, x, regions=regions, **groups_of(groups))


def gathered_by_devices(
    b: Builder, x: Value, groups: list[list[int]], dimension: int, *, tiled: bool = False
) -> Value:
    """The values of all devices of a group along an axis, a new one unless tiled."""
    shape = x.aval.shape
    if not tiled:
        shape = (*shape[:dimension], 1, *shape[dimension:])
        x = b.op("stablehlo.reshape", x.aval.update(shape=shape), x)
    together = gathered_shape(shape, dimension, len(groups[0]), tiled=True)
    return communicate(
        b,
        "stablehlo.all_gather",
        x.aval.update(shape=together),
        x,
        all_gather_dim=f"{dimension} : i64",
        **groups_of(groups),
    )


def gathered_shape(
    shape: tuple[int, ...], dimension: int, size: int, tiled: bool
) -> tuple[int, ...]:
    """The shape of what as many members hold together, along an axis that is new unless tiled."""
    before, after = shape[:dimension], shape[dimension:]
    return (*before, size * after[0], *after[1:]) if tiled else (*before, size, *after)
