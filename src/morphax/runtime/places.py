"""Where a program runs: the places of its operands and results, and its devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final
from weakref import WeakValueDictionary

from ..core.layout import Layout
from ..core.partition_spec import PartitionSpec
from .device import Device
from .gspmd_sharding import repeated_on
from .laid_out import Order, laid_out
from .mesh import Mesh
from .named_sharding import NamedSharding
from .sharding import Sharding

_Key = tuple[
    tuple[Sharding, ...],
    tuple[Sharding | None, ...],
    tuple[Device, ...],
    Mesh | None,
    tuple[Order, ...],
]


@final
class Places:
    """Where a program runs; equal ones are one object, and compared as such.

    Args:
        operands: the place of each.
        results: likewise; `None` of one whose place the compiler chooses.
        devices: the device assignment, in the order in which the program numbers them.
        mesh: of which places speak that the compiler chooses; that of operands or results if
            they have one.
        orders: how the elements of each result are to lie in memory, where not all lie row by row.
    """

    __slots__ = ("__weakref__", "devices", "mesh", "operands", "orders", "results")

    operands: tuple[Sharding, ...]
    results: tuple[Sharding | None, ...]
    devices: tuple[Device, ...]
    mesh: Mesh | None
    orders: tuple[Order, ...]

    def __new__(
        cls,
        operands: tuple[Sharding, ...],
        results: tuple[Sharding | None, ...],
        devices: tuple[Device, ...],
        mesh: Mesh | None = None,
        orders: tuple[Order, ...] = (),
    ) -> Places:
        key = operands, results, devices, _mesh_of((*operands, *results)) or mesh, orders
        known = _interned.get(key)
        if known is not None:
            return known
        places = super().__new__(cls)
        places.operands, places.results, places.devices, places.mesh, places.orders = key
        return _interned.setdefault(key, places)

    @classmethod
    def all_at(cls, place: Sharding, operands: int, results: int) -> Places:
        """One place for as many operands and results."""
        return cls((place,) * operands, (place,) * results, place.device_assignment)

    @classmethod
    def on_devices_of(
        cls,
        place: Sharding,
        operands: Sequence[Sharding | None],
        results: Sequence[Sharding | None],
    ) -> Places:
        """Operands at places of the devices of `place`, or else whole on each of them.

        Args:
            place: whose devices run the program.
            operands: the places of those that have one.
            results: likewise; the compiler chooses the others.
        """
        devices = place.device_assignment
        mesh = _mesh_of((place, *operands, *results))
        whole = _whole_on(devices, mesh)
        taken = tuple([whole if where is None else where for where in operands])
        return cls(taken, tuple(results), devices, mesh)

    def with_results(self, results: Sequence[Sharding | None]) -> Places:
        """The same with other places of results."""
        return Places(self.operands, tuple(results), self.devices, self.mesh, self.orders)

    def in_order(self, operands: Sequence[Order], results: Sequence[Order]) -> Places:
        """The same for elements in these orders; those of `None` lie as they do here."""
        each = zip(self.operands, operands, strict=True)
        taken = tuple([laid_out(place, order) if order else place for place, order in each])
        given = tuple([self.order_of(i) or order for i, order in enumerate(results)])
        if any([isinstance(order, Layout) for order in given]):
            # Where XLA chooses the order of one result, it overrides what it is told of others.
            given = tuple([order if isinstance(order, Layout) else None for order in given])
        return Places(taken, self.results, self.devices, self.mesh, given)

    def order_of(self, result: int) -> Order:
        """How the elements of a result are to lie in memory."""
        return self.orders[result] if self.orders else None

    def chosen_results(self) -> tuple[Sharding, ...]:
        """The places of results, once the compiler has chosen them."""
        return tuple([place for place in self.results if place is not None])

    def forwarded_from(self, operand: int | None) -> Sharding:
        """The place of a result that is an operand, or, if `None`, a constant."""
        return self.whole if operand is None else self.operands[operand].plain

    @property
    def whole(self) -> Sharding:
        """The place of what each of the devices holds whole."""
        return _whole_on(self.devices, self.mesh)

    @property
    def platform(self) -> str:
        """The platform of the devices."""
        return str(self.devices[0].platform)

    def __repr__(self) -> str:
        return f"Places({self.operands}, {self.results}, devices={self.devices})"


def whole_on_devices_of(place: Sharding) -> Sharding:
    """The place of what each of the devices of `place` holds whole."""
    return _whole_on(place.device_assignment, _mesh_of((place,)))


def _whole_on(devices: tuple[Device, ...], mesh: Mesh | None) -> Sharding:
    return repeated_on(devices) if mesh is None else NamedSharding(mesh, PartitionSpec())


def _mesh_of(places: Iterable[Sharding | None]) -> Mesh | None:
    for place in places:
        plain = None if place is None else place.plain
        if isinstance(plain, NamedSharding) and isinstance(plain.mesh, Mesh):
            return plain.mesh
    return None


_interned: WeakValueDictionary[_Key, Places] = WeakValueDictionary()
