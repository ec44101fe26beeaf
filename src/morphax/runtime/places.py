"""Where a program runs: the places of its operands and results, and its devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from .device import Device
from .sharding import Sharding


@final
@dataclass(frozen=True, slots=True)
class Places:
    """Where a program runs.

    Args:
        operands, results: one place for each of them.
        devices: the device assignment, in the order in which the program numbers them.
    """

    operands: tuple[Sharding, ...]
    results: tuple[Sharding, ...]
    devices: tuple[Device, ...]

    @classmethod
    def all_at(cls, place: Sharding, operands: Sequence[Any], results: Sequence[Any]) -> Places:
        """One place for as many operands and results as are given."""
        return cls((place,) * len(operands), (place,) * len(results), place.device_assignment)

    @property
    def platform(self) -> str:
        """The platform of the devices."""
        return str(self.devices[0].platform)
