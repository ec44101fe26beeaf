"""Whether this process is one of several that compute together, which, and what it has.

`coordination` fills it in; clients are made by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from ..util.records import dataclass
from .device import Device

if TYPE_CHECKING:
    from .program_ledger import Ledger
    from .sharding import Sharding


@final
@dataclass(slots=True)
class Membership:
    """What this process knows of those that it computes with.

    Args:
        process: its number.
        processes: how many there are.
        client: jaxlib's client of the coordination service.
        service: the service itself, in process 0.
        host: the address by which the others reach this process, `None` if jaxlib is to find it.
        patience_minutes: how long to wait for the devices of the others.
        partition: of the local devices, as the user numbers them.
        ledger: of the programs that are run with others.
        preemption: jaxlib's watch for the signal that ends the program, once it is asked for.
    """

    process: int
    processes: int
    client: Any
    service: Any
    host: str | None
    patience_minutes: int
    partition: int | None
    ledger: Ledger
    preemption: Any = None


_current: Membership | None = None


def membership() -> Membership | None:
    """That of this process, `None` if it computes alone."""
    return _current


@final
class ProcessState:
    """What this process knows of others, under the names that libraries ask for."""

    __slots__ = ()

    @property
    def client(self) -> Any:
        """jaxlib's client of the coordination service, `None` if there is none."""
        return None if _current is None else _current.client

    @property
    def service(self) -> Any:
        """The coordination service, in process 0."""
        return None if _current is None else _current.service

    @property
    def process_id(self) -> int:
        """The number of this process."""
        return 0 if _current is None else _current.process

    @property
    def num_processes(self) -> int:
        """How many processes there are."""
        return 1 if _current is None else _current.processes

    @property
    def partition_index(self) -> int | None:
        """The partition of the local devices."""
        return None if _current is None else _current.partition

    @property
    def preemption_sync_manager(self) -> Any:
        """jaxlib's watch for the signal that ends the program."""
        return None if _current is None else _current.preemption


process_state = ProcessState()


def note_shared_program(name: str, text: str, devices: Sequence[Device]) -> bool:
    """Whether other processes run a program too; if so, it is written down for them to see."""
    if _current is None:
        return False
    processes = {device.process_index for device in devices}
    if processes == {_current.process}:
        return False
    _current.ledger.note(name, f"{[device.id for device in devices]} {text}", processes)
    return True


def set_membership(own: Membership | None) -> None:
    """Note that this process computes with others from here on, or alone."""
    global _current
    _current = own


def own_devices(place: Sharding) -> list[Device]:
    """The devices of a place that belong to this process, in the order of its programs."""
    return [d for d in place.device_assignment if d.process_index == d.client.process_index()]


def is_readable(place: Sharding) -> bool:
    """Whether this process holds all of an array that lies there."""
    if place.is_fully_addressable:
        return True
    return place.is_fully_replicated and place.has_addressable_devices
