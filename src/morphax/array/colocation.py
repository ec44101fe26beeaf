"""Where an operation on several arrays runs.

Committed arrays decide, and must agree; if none is committed, the default device computes.  What is
computed from a committed array is committed itself.  An operand that a program does not use binds
nothing.  Arrays in parts agree if the same devices, in the same order, hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from ..runtime.places import Places
from ..runtime.sharding import Sharding, SingleDeviceSharding, default_place
from ..util.messages import message
from .array import Array

_is_committed = attrgetter("_committed")


def any_committed(operands: Iterable[Array]) -> bool:
    """Whether some array binds what is computed with it to its place."""
    return True in map(_is_committed, operands)


def placement_of(
    operands: Sequence[Array],
    where: str,
    name_argument: Callable[[int], str] | None = None,
    default: Sharding | None = None,
    binding: Sequence[int] | None = None,
) -> tuple[Sharding, bool]:
    """Where to compute with `operands`, and whether the results are committed to that place.

    Args:
        operands: the arrays.
        where: what is computed, for error text: ``"jit of f"``.
        name_argument: gives the name of the operand at a position; called only for errors.
        default: the place if no operand is committed, where the caller knows it already.
        binding: positions of the operands that count, all if left out.

    Returns:
        The place; where it is in parts, its devices are what counts.

    Raises:
        ValueError: if two committed arrays are on different devices.
    """
    chosen: Sharding | None = None
    if binding is None or len(binding) == len(operands):
        counting = operands
    else:
        counting = [operands[i] for i in binding]
    for x in counting:
        if x._committed and x.place is not chosen:
            place = x.place.own_memory
            if chosen is None:
                chosen = place
            elif place is not chosen and place.device_assignment != chosen.device_assignment:
                raise ValueError(_disagreement(operands, where, name_argument, binding))
    if chosen is not None:
        return chosen, True
    return (default_place() if default is None else default), False


def bound_places(operands: Sequence[Array], place: Sharding) -> tuple[Sharding | None, ...] | None:
    """Of a program on the devices of `place`, the places of operands that are bound to them.

    `None` if the place is that of one device, where all is.
    """
    if type(place) is SingleDeviceSharding:
        return None
    devices = place.device_assignment

    def is_bound(x: Any) -> bool:
        # What is lowered may have stand-ins for arrays.
        return type(x) is Array and x._committed and x.place.device_assignment == devices

    return tuple([x.place.own_memory if is_bound(x) else None for x in operands])


def joint_places(
    place: Sharding, bound: Sequence[Sharding | None] | None, operands: int, results: int
) -> Places:
    """Where a program runs that `placement_of` puts at `place`.

    If that is one device, all is there.  If there are several, operands that are bound to them stay
    as they lie, all others are whole on each, and the compiler chooses how results lie.

    Args:
        place: on whose devices the program runs.
        bound: of its operands, see `bound_places`.
        operands, results: how many there are.
    """
    if bound is None:
        return Places.all_at(place, operands, results)
    return Places.on_devices_of(place, bound, (None,) * results)


def _disagreement(
    operands: Sequence[Array],
    where: str,
    name_argument: Callable[[int], str] | None,
    binding: Sequence[int] | None,
) -> str:
    positions = range(len(operands)) if binding is None else binding
    committed = [(i, operands[i]) for i in positions if operands[i]._committed]
    first = committed[0]
    devices = first[1].place.device_assignment
    other = next(entry for entry in committed if entry[1].place.device_assignment != devices)
    names = name_argument or (lambda i: f"number {i}")
    alone = {len(devices), len(other[1].place.device_assignment)} == {1}
    given = " and ".join(
        f"argument {names(i)}, {x.aval.str_short()} on {x.device!r}" for i, x in (first, other)
    )
    return message(
        where,
        given=given,
        expected="arguments that are committed to "
        + ("one device" if alone else "the same devices, in the same order"),
        fix=f"Move one of them to the other's device{'' if alone else 's'} with jax.device_put.",
    )
