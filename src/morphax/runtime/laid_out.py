"""Places of arrays whose elements do not lie row by row in the memory of their devices.

Such a place is another object than that of arrays which do, and everything that reads the memory of
an array compares places first.  So who has not heard of layouts gets the numbers row by row, in
memory of their own: `own_memory` of such a place is the plain one, as of a place in another memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final
from weakref import WeakValueDictionary

from ..core.abstract_sharding import AbstractSharding
from ..core.layout import AutoLayout, Layout
from .device import Device
from .sharding import Index, Sharding

Order = Layout | AutoLayout | None
"""How elements lie in memory: `None` is row by row, `Layout.AUTO` as the compiler chooses."""


@final
class LaidOut(Sharding):
    """A sharding with an order of elements in memory; equal ones are one object, by `laid_out`."""

    __slots__ = ("__weakref__", "element_order", "plain")

    plain: Sharding
    element_order: Layout | AutoLayout

    @property
    def device_set(self) -> set[Device]:
        return self.plain.device_set

    @property
    def device_assignment(self) -> tuple[Device, ...]:
        return self.plain.device_assignment

    @property
    def num_devices(self) -> int:
        return self.plain.num_devices

    @property
    def memory_kind(self) -> str | None:
        return self.plain.memory_kind

    @property
    def is_fully_replicated(self) -> bool:
        return self.plain.is_fully_replicated

    @property
    def own_memory(self) -> Sharding:
        return self.plain.own_memory

    @property
    def brief(self) -> Any:
        return self.plain.brief

    def with_memory_kind(self, kind: str) -> Sharding:
        return self.plain.with_memory_kind(kind)

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        return self.plain.devices_indices_map(global_shape)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        if isinstance(self.element_order, Layout):
            self.element_order.check_rank(len(global_shape), "Format, argument layout")
        return self.plain.shard_shape(global_shape)

    def abstract(self, ndim: int) -> AbstractSharding | None:
        return self.plain.abstract(ndim)

    def __repr__(self) -> str:
        return f"Format(layout={self.element_order!r}, sharding={self.plain!r})"


_interned: WeakValueDictionary[tuple[Sharding, Layout | AutoLayout], LaidOut] = (
    WeakValueDictionary()
)


def laid_out(place: Sharding, order: Order) -> Sharding:
    """The place of arrays at `place` whose elements lie in another order."""
    plain = place.plain
    if order is None or (isinstance(order, Layout) and order.is_row_major):
        return plain
    found = _interned.get((plain, order))
    if found is None:
        made = object.__new__(LaidOut)
        made.plain, made.element_order = plain, order
        found = _interned.setdefault((plain, order), made)
    return found
