"""What is to become of each cotangent: the arguments and results of ``f_vjp.with_refs``.

GradValue()     return it                 → the cotangent
a reference     add it to the reference   → GradRef()
DontWant()      forget it                 → DidntWant()
"""

from __future__ import annotations

from typing import Any, final

from .. import tree
from ..lax.reference.references import Ref, TransformedRef
from ..tree import PyTreeDef
from ..util.messages import message
from ..util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class GradValue:
    """Return the cotangent of this argument."""


@final
@dataclass(frozen=True, slots=True)
class GradRef:
    """The cotangent of this argument has been added to the reference given for it."""


@final
@dataclass(frozen=True, slots=True)
class DontWant:
    """The cotangent of this argument is of no use."""


@final
@dataclass(frozen=True, slots=True)
class DidntWant:
    """The cotangent of this argument was of no use."""


for _mark in (GradRef, DontWant, DidntWant):
    tree.register_static(_mark)

_TARGETS = (GradValue, DontWant, Ref, TransformedRef)


def targets_of(chosen: tuple[Any, ...], in_tree: PyTreeDef) -> list[Any]:
    """One target for each leaf of ``(arguments, {})``."""
    leaves, given_tree = tree.flatten((chosen, {}), is_leaf=lambda x: isinstance(x, _TARGETS))
    strange = [x for x in leaves if not isinstance(x, _TARGETS)]
    if given_tree == in_tree and not strange:
        return leaves
    raise TypeError(
        message(
            "with_refs of a pullback",
            given=f"{strange[0]!r:.80}" if strange else f"{given_tree}",
            expected=f"jax.ad.GradValue(), jax.ad.DontWant() or a reference for each leaf of the "
            f"arguments, {in_tree}",
            fix="Write GradValue() for cotangents that are to be returned.",
        )
    )
