"""References as arguments of a mapped function: each member of the batch has one of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import AbstractRef, Cell, aval_of, set_current_trace
from ..lax.reference.ref_access import look_up, replace
from ..lax.reference.references import Ref
from .batching import BatchTrace, to_axis


def member_reference(trace: BatchTrace, ref: Ref, axis: int) -> Ref:
    """The reference of one member, to its part of what `ref` holds."""
    with set_current_trace(trace.parent):
        whole = look_up(ref, ())
    member = trace.new_argument(whole, axis)
    aval = AbstractRef(aval_of(member), ref.aval.memory_space, ref.aval.kind)
    return Ref(aval, Cell(aval, member))


def write_back(
    trace: BatchTrace, leaves: Sequence[Any], members: Sequence[Any], axes: Sequence[Any]
) -> None:
    """Set the references that were mapped to what the function has left in those of the members."""
    for ref, member, axis in zip(leaves, members, axes, strict=True):
        if isinstance(member, Ref) and member is not ref:
            value, dim = trace.split(member.content.value)
            replace(ref, (), to_axis(trace.axes, value, dim, axis))
