"""What collectives are told about axes: one name or several, and axes of the operand itself.

A name is any hashable value; several come as a tuple or list, of which the first counts slowest.
Integers are axes of the operand, not names.
"""

from __future__ import annotations

import math
from typing import Any

from ..core import axis_size as size_in_scope
from ..util.messages import message


def axis_tuple(axis_name: Any) -> tuple[Any, ...]:
    """One name or several, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def hashable(axis_name: Any) -> Any:
    """The name or the tuple of names as a parameter of an equation."""
    return tuple(axis_name) if isinstance(axis_name, list) else axis_name


def names_and_positions(axis_name: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The named axes, and the axes of the operand; `ValueError` if one comes twice."""
    axes = axis_tuple(axis_name)
    twice = [a for i, a in enumerate(axes) if a in axes[:i]]
    if twice:
        raise ValueError(
            message(
                "argument axis_name of a collective",
                given=f"{axis_name!r}, with {twice[0]!r} twice",
                expected="axes that differ",
                fix="Name each axis once.",
            )
        )
    positions = tuple([a for a in axes if type(a) is int])
    return tuple([a for a in axes if type(a) is not int]), positions


def named_axes(where: str, axis_name: Any) -> tuple[Any, ...]:
    """The names, which must be in scope, for a collective that knows no axes of the operand."""
    names, positions = names_and_positions(axis_name)
    if positions:
        raise ValueError(
            message(
                f"{where}, argument axis_name",
                given=f"{axis_name!r}",
                expected="names of mapped axes, such as 'i' of vmap(..., axis_name='i')",
                fix="Name the axis; only psum, pmean, pmax and pmin take axes of the operand.",
            )
        )
    joint_size(names)
    return names


def joint_size(names: tuple[Any, ...]) -> int:
    """The number of members along all these axes; `NameError` for a name out of scope."""
    return math.prod([size_in_scope(name) for name in names])
