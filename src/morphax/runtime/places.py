"""Where a program runs: the places of its operands and results, and its devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final
from weakref import WeakValueDictionary

from ..core.layout import Layout
from ..core.partition_spec import PartitionSpec
from .device import Device, program_platform
from .gspmd_sharding import repeated_on
from .laid_out import Order, laid_out
from .mesh import Mesh
from .named_sharding import NamedSharding
from .sharding import Sharding, SingleDeviceSharding

_Key = tuple[
    tuple[Sharding, ...],
    tuple[Sharding | None, ...],
    Sharding | tuple[Device, ...],
    Mesh | None,
    tuple[Order, ...],
]


@final
class Places:
    """Where a program runs; equal ones are one object, and compared as such.

    Args:
        operands: the place of each.
        results: likewise; `None` of one whose place the compiler chooses.
        devices: the device assignment, in the order in which the program numbers them; of one
            device, also the place of arrays there.
        mesh: of which places speak that the compiler chooses; that of operands or results if
            they have one.
        orders: how the elements of each result are to lie in memory, where not all lie row by row.
    """

    __slots__ = ("__weakref__", "_on", "mesh", "operands", "orders", "results")

    # One device is kept as a place: to know the home device takes jaxlib, which a program of
    # another engine may never need.
    _on: Sharding | tuple[Device, ...]

    operands: tuple[Sharding, ...]
    results: tuple[Sharding | None, ...]
    mesh: Mesh | None
    orders: tuple[Order, ...]

    def __new__(
        cls,
        operands: tuple[Sharding, ...],
        results: tuple[Sharding | None, ...],
        devices: Sharding | tuple[Device, ...],
        mesh: Mesh | None = None,
        orders: tuple[Order, ...] = (),
    ) -> Places:
        if isinstance(devices, Sharding):
            on: Sharding | tuple[Device, ...] = devices.own_memory
        else:
            on = repeated_on(devices) if len(devices) == 1 else devices
        key = operands, results, on, _mesh_of((*operands, *results)) or mesh, orders
        known = _interned.get(key)
        if known is not None:
            return known
        places = super().__new__(cls)
        places.operands, places.results, places._on, places.mesh, places.orders = key
        return _interned.setdefault(key, places)

    @classmethod
    def all_at(cls, place: Sharding, operands: int, results: int) -> Places:
        """One place for as many operands and results."""
        on = place if type(place) is SingleDeviceSharding else place.device_assignment
        return cls((place,) * operands, (place,) * results, on)

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
        return Places(self.operands, tuple(results), self._on, self.mesh, self.orders)

    def at(self, operands: Sequence[Sharding], results: Sequence[Sharding]) -> Places:
        """The same devices with these places, which say how elements lie in memory."""
        return Places(tuple(operands), tuple(results), self._on, self.mesh)

    def in_order(self, operands: Sequence[Order], results: Sequence[Order]) -> Places:
        """The same for elements in these orders; those of `None` lie as they do here."""
        each = zip(self.operands, operands, strict=True)
        taken = tuple([laid_out(place, order) if order else place for place, order in each])
        given = tuple([self.order_of(i) or order for i, order in enumerate(results)])
        if any([isinstance(order, Layout) for order in given]):
            # Where XLA chooses the order of one result, it overrides what it is told of others.
            given = tuple([order if isinstance(order, Layout) else None for order in given])
        return Places(taken, self.results, self._on, self.mesh, given)

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
    def devices(self) -> tuple[Device, ...]:
        """The device assignment, in the order in which the program numbers them."""
        return self._on.device_assignment if isinstance(self._on, Sharding) else self._on

    @property
    def whole(self) -> Sharding:
        """The place of what each of the devices holds whole."""
        if self.mesh is None and isinstance(self._on, Sharding):
            return self._on
        return _whole_on(self.devices, self.mesh)

    @property
    def platform(self) -> str:
        """The platform of the devices."""
        return self._on.platform if isinstance(self._on, Sharding) else str(self._on[0].platform)

    @property
    def program_platform(self) -> str:
        """The platform that programs are written for: for GPUs ``"cuda"`` or ``"rocm"``."""
        on = self._on
        return on.program_platform if isinstance(on, Sharding) else program_platform(on[0])

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
