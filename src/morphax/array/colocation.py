"""Where an operation on several arrays runs.

Committed arrays decide, and must agree; if none is committed, the default device computes.  What is
computed from a committed array is committed itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..runtime.sharding import Sharding, default_place
from ..util.messages import message
from .array import Array


def placement_of(
    operands: Sequence[Array],
    where: str,
    name_argument: Callable[[int], str] | None = None,
    default: Sharding | None = None,
) -> tuple[Sharding, bool]:
    """Where to compute with `operands`, and whether the results are committed to that place.

    Args:
        operands: the arrays.
        where: what is computed, for error text: ``"jit of f"``.
        name_argument: gives the name of the operand at a position; called only for errors.
        default: the place if no operand is committed, where the caller knows it already.

    Raises:
        ValueError: if two committed arrays are at different places.
    """
    chosen: Sharding | None = None
    for x in operands:
        if x._committed and x.place is not chosen:
            place = x.place.own_memory
            if chosen is not None and place is not chosen:
                raise ValueError(_disagreement(operands, where, name_argument))
            chosen = place
    if chosen is not None:
        return chosen, True
    return (default_place() if default is None else default), False


def _disagreement(
    operands: Sequence[Array], where: str, name_argument: Callable[[int], str] | None
) -> str:
    committed = [(i, x) for i, x in enumerate(operands) if x._committed]
    first = committed[0]
    other = next(entry for entry in committed if entry[1].device != first[1].device)
    names = name_argument or (lambda i: f"number {i}")
    given = " and ".join(
        f"argument {names(i)}, {x.aval.str_short()} on {x.device!r}" for i, x in (first, other)
    )
    return message(
        where,
        given=given,
        expected="arguments that are committed to one device",
        fix="Move one of them to the other's device with jax.device_put.",
    )
