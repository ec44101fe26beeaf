"""Whether this process is one of several that compute together, and which.

`coordination` fills it in; clients are made by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final


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
        preemption: jaxlib's watch for the signal that ends the program, once it is asked for.
    """

    process: int
    processes: int
    client: Any
    service: Any
    host: str | None
    patience_minutes: int
    partition: int | None
    preemption: Any = None


_current: Membership | None = None


def membership() -> Membership | None:
    """That of this process, `None` if it computes alone."""
    return _current


def set_membership(own: Membership | None) -> None:
    """Note that this process computes with others from here on, or alone."""
    global _current
    _current = own
