"""Values that vary between the members of a mesh, and those that are the same for all.

Where each device of a mesh runs a program on its part, the type of a value says over which axes of
the mesh it *varies* (`ShapedArray.vma`).  The operands of an operation must vary alike; one that
varies over fewer axes is cast while the operation is staged.  The cast computes nothing, but its
transpose is a sum: what is the same for all members has the sum of their cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from ..config import current as current_config
from ..util.messages import message
from .abstract_value import Operand
from .aval import ShapedArray
from .values import aval_of

Cast = Callable[[Any, frozenset[Hashable]], Any]

_casts: list[Cast] = []


def install_cast(cast: Cast) -> None:
    """Say how a value is cast to vary over further axes; called once, by who has the operation."""
    _casts.append(cast)


def varying_over(x: Operand, names: Iterable[Hashable]) -> Any:
    """`x` as a value that varies over these axes of the mesh, besides those that it varies over."""
    missing = frozenset(names) - vma_of(x)
    return _casts[0](x, missing) if missing else x


def vma_of(x: Operand) -> frozenset[Hashable]:
    """The axes of the mesh that a value varies over."""
    return getattr(aval_of(x), "vma", frozenset())


def varying_alike(operands: Sequence[Operand]) -> list[Any]:
    """The operands, each array varying over all axes that one of them varies over.

    Raises:
        ValueError: if casts are not to be made without being asked for (``jax.auto_pcast``).
    """
    if not current_config().auto_pcast:
        raise ValueError(
            message(
                "an operation of members, under jax.auto_pcast(False)",
                given=", ".join([str(aval_of(x)) for x in operands]),
                expected="operands that vary over the same axes of the mesh",
                fix="Cast those that are the same for all with lax.pcast(x, axes, to='varying').",
            )
        )
    names = frozenset().union(*map(vma_of, operands))
    return [varying_over(x, names) if type(aval_of(x)) is ShapedArray else x for x in operands]
