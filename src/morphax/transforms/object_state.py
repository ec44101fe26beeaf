"""The state of an object of any class, if its attributes are all there is of it.

Classes written in C, and subclasses of them, may keep state where nobody sees it; their instances
are larger than their attributes account for.  A class that keeps what does not belong to the
meaning of its objects, such as caches, says what does by a method `__identity_state__` (ours only).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MemberDescriptorType
from typing import Any, Final, final

from ..runtime.gspmd_sharding import GSPMDSharding
from ..runtime.mesh import Mesh
from ..runtime.named_sharding import NamedSharding
from ..runtime.sharding import SingleDeviceSharding
from ..util.memo import memoize
from ..util.records import dataclass
from .pure_functions import is_pure

PLACES: Final = (Mesh, NamedSharding, SingleDeviceSharding, GSPMDSharding)
"""Classes of interned objects that never change: equal ones are one object."""


@final
@dataclass(frozen=True, slots=True)
class NoState:
    """The state of an object cannot be told, for `reason`."""

    reason: str


def state_of(value: Any) -> Mapping[str, Any] | NoState:
    """What the object holds, by attribute.

    Example:
        >>> import types
        >>> from morphax.transforms.object_state import state_of
        >>> class Point:
        ...     __slots__ = ("x", "y")
        >>> point = Point()
        >>> point.x = 1
        >>> state_of(point)
        {'x': 1}
        >>> state_of(iter([]))
        NoState(reason='whose state cannot be seen')
    """
    kind = type(value)
    if is_pure(kind) and hasattr(kind, "__identity_state__"):
        return value.__identity_state__()
    slots = _slots(kind)
    if slots is None:
        return NoState("whose state cannot be seen")
    state = {name: slot.__get__(value) for name, slot in slots if _is_set(slot, value)}
    attributes = getattr(value, "__dict__", None)
    return state if attributes is None else state | attributes


def _is_set(slot: Any, value: Any) -> bool:
    try:
        slot.__get__(value)
    except AttributeError:
        return False
    return True


@memoize
def _slots(kind: type) -> tuple[tuple[str, Any], ...] | None:
    """The slots of a class, or `None` if its instances hold more than slots and attributes."""
    slots = tuple(
        (name, member)
        for base in kind.__mro__
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    )
    size = object.__basicsize__ + _POINTER * len(slots)
    size += _DICT_SIZE * bool(kind.__dictoffset__) + _WEAKREF_SIZE * bool(kind.__weakrefoffset__)
    return slots if kind.__basicsize__ == size and not kind.__itemsize__ else None


class _OneSlot:
    __slots__ = ("_",)


class _OnlyAttributes:
    __slots__ = ("__dict__",)


class _OnlyWeakReferences:
    __slots__ = ("__weakref__",)


_POINTER = _OneSlot.__basicsize__ - object.__basicsize__
# Some versions of Python keep these outside of the object.
_DICT_SIZE = _OnlyAttributes.__basicsize__ - object.__basicsize__
_WEAKREF_SIZE = _OnlyWeakReferences.__basicsize__ - object.__basicsize__
