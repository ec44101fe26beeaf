"""What a pullback keeps of the arguments of its function: `f_vjp.args_res`, and `saveable_args`.

A residual that *is* an argument belongs to it and is no residual of its own: what the caller has
anyway need not be kept once more.  Each leaf of the arguments is in one of three states:

its value        the pullback needs it
NotNeeded()      it does not
NotSaveable()    it does, and the caller is to give it before the pullback is applied
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, final

from .. import tree
from ..core import ShapedArray, StagingTracer, aval_of
from ..tree import PyTreeDef
from ..util.messages import described, message
from ..util.records import dataclass

_PULLBACK = "the pullback of vjp"


@final
@dataclass(frozen=True, slots=True)
class NotNeeded:
    """The pullback does not depend on this argument."""


@final
@dataclass(frozen=True, slots=True)
class NotSaveable:
    """The pullback depends on this argument, whose value is to be given again."""

    aval: ShapedArray | None = field(default=None, repr=False)


for _mark in (NotNeeded, NotSaveable):
    tree.register_static(_mark)


def is_mark(x: Any) -> bool:
    """Whether something stands in for an argument."""
    return isinstance(x, (NotNeeded, NotSaveable))


def identity_of(x: Any) -> int:
    """The same for two residuals if they are one value; a program that is written names it."""
    return id(x.atom if isinstance(x, StagingTracer) else x)


def saveable_leaves(saveable_args: Any, in_tree: PyTreeDef) -> list[bool]:
    """Whether each leaf of ``(arguments, {})`` may be kept.

    Args:
        saveable_args: a bool, or a tuple of such, nested as the arguments are; a bool is meant for
            all that stands in its place.
        in_tree: of ``(arguments, {})``.
    """

    def spread(part: Any, structure: PyTreeDef) -> list[bool]:
        if isinstance(part, bool):
            return [part] * structure.num_leaves
        children = structure.children()
        if not isinstance(part, tuple) or len(part) != len(children):
            raise ValueError(
                message(
                    "vjp, argument saveable_args",
                    given=f"{described(part)} for {structure}",
                    expected=f"a bool, or a tuple of {len(children)}",
                    fix="Nest tuples of bools as the arguments are nested; True stands for all.",
                )
            )
        pairs = zip(part, children, strict=True)
        return [saved for p, child in pairs for saved in spread(p, child)]

    return spread(saveable_args, in_tree.children()[0])


def kept_arguments(
    leaves: Sequence[Any], residuals: Sequence[Any], saveable: Sequence[bool]
) -> list[Any]:
    """For each argument its value or a mark; one that occurs twice is kept once, if it may be."""
    needed = set(map(identity_of, residuals))
    kept: list[Any] = [NotNeeded()] * len(leaves)
    for i in sorted(range(len(leaves)), key=lambda i: not saveable[i]):
        if identity_of(leaves[i]) in needed:
            needed.discard(identity_of(leaves[i]))
            kept[i] = leaves[i] if saveable[i] else NotSaveable(aval_of(leaves[i]))
    return kept


def restored_arguments(
    kept: Sequence[Any], given: Any, in_tree: PyTreeDef, names: Callable[[], Sequence[str]]
) -> list[Any]:
    """The arguments kept, with the values that the user has given for some of them.

    Args:
        kept: as of `kept_arguments`.
        given: a list with one tree per argument.
        in_tree: of ``(arguments, {})``.
        names: of the leaves, called only for error text.
    """
    leaves, structure = tree.flatten((tuple(given), {}), is_leaf=is_mark)
    if structure != in_tree:
        raise ValueError(
            message(
                f"{_PULLBACK}, args_res",
                given=f"{structure}",
                expected=f"the structure of the arguments, {in_tree}",
                fix="Give each argument that is NotSaveable() as it was given to the function.",
            )
        )
    for i, (old, new) in enumerate(zip(kept, leaves, strict=True)):
        if isinstance(old, NotNeeded) or is_mark(new):
            continue
        wanted = old.aval if isinstance(old, NotSaveable) else aval_of(old)
        own = aval_of(new)
        if wanted is not None and (own.shape, own.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(
                message(
                    f"{_PULLBACK}, args_res of {names()[i]}",
                    given=f"{own}",
                    expected=f"{wanted}",
                    fix="Give the value that the argument had.",
                )
            )
    return [
        old if isinstance(old, NotNeeded) or is_mark(new) else new
        for old, new in zip(kept, leaves, strict=True)
    ]


def check_restored(arguments: Sequence[Any], names: Callable[[], Sequence[str]]) -> None:
    """Raise `ValueError` if a value is still to be given."""
    missing = [i for i, x in enumerate(arguments) if isinstance(x, NotSaveable)]
    if missing:
        every = names()
        raise ValueError(
            message(
                _PULLBACK,
                given=f"{', '.join([every[i] for i in missing])} as NotSaveable()",
                expected="the values of arguments that saveable_args left out",
                fix="Assign them before the call: f_vjp.args_res[0] = x, for instance.",
            )
        )
