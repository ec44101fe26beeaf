"""What `linearize` and `vjp` return: the derivative of one evaluation, as a callable and a tree.

The leaves of the tree are the residuals, each once; the rest is its structure.  So such a map can
be returned from a jitted function, passed to one, and mapped over like any other data.  Equal
programs give equal structures, for linearizations are memoised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, Self, final

import numpy as np

from .. import dtypes, tree
from ..core import (
    Operand,
    ShapedArray,
    Zero,
    aval_of,
    frames_hidden,
    is_zero,
)
from ..lax.elementwise.convert import convert
from ..lax.ground.linear_structure import instantiate
from ..util.messages import message
from ..util.records import dataclass
from .flattening import as_output
from .tape import Tape


@final
@dataclass(frozen=True, slots=True)
class MapFacts:
    """What is known of a derivative before its residuals.

    Args:
        in_slots, out_slots: of the arguments' and results' tangents on the tape, `None` for zero.
        in_avals, out_avals: of the arguments' and results' tangents.
        in_tree, out_tree: structures of ``(arguments, {})`` and of the result.
        in_names: one path per argument leaf, for error text.
    """

    in_slots: tuple[int | None, ...]
    out_slots: tuple[int | None, ...]
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    in_tree: Any
    out_tree: Any
    in_names: Callable[[], Sequence[str]] = field(compare=False)

    def out_names(self) -> list[str]:
        """One path per leaf of the result."""
        example = self.out_tree.unflatten(range(self.out_tree.num_leaves))
        return ["result" + tree.keystr(path) for path, _ in tree.leaves_with_path(example)]


class DerivativeMap:
    """A tape with its ends named.

    `function` is kept alive for the names of its arguments; the structure does not hold it.
    """

    __slots__ = ("_facts", "_function", "_tape")

    def __init__(
        self, tape: Tape, facts: MapFacts, function: Callable[..., Any] | None = None
    ) -> None:
        self._tape = tape
        self._facts = facts
        self._function = function

    def __repr__(self) -> str:
        facts = self._facts
        ends = f"{_listed(facts.in_avals)} -> {_listed(facts.out_avals)}"
        return f"<{type(self).__name__} of {ends}, {len(tree.leaves(self))} residuals>"

    def flattened(self) -> tuple[list[Any], Any]:
        """The residuals, and everything else."""
        found: dict[int, int] = {}
        residuals: list[Any] = []
        shapes = []
        for entry in self._tape.entries:
            for x in entry.residuals:
                if id(x) not in found:
                    found[id(x)] = len(residuals)
                    residuals.append(x)
            places = tuple([found[id(x)] for x in entry.residuals])
            shapes.append(replace(entry, residuals=places))
        return residuals, (tuple(shapes), self._facts)

    @classmethod
    def unflattened(cls, structure: Any, residuals: Sequence[Operand]) -> Self:
        """The map with other residuals."""
        shapes, facts = structure
        values = list(residuals)
        tape = Tape()
        tape.entries = [
            replace(entry, residuals=[values[i] for i in entry.residuals]) for entry in shapes
        ]
        return cls(tape, facts)


def _listed(avals: Sequence[Any]) -> str:
    return f"({', '.join([a.str_short() for a in avals])})"


@final
class JVP(DerivativeMap):
    """The linear map ẋ ↦ ∂f(x) ẋ that `linearize` returns."""

    __slots__ = ()

    @frames_hidden
    def __call__(self, *tangents: Any) -> Any:
        facts = self._facts
        leaves, given_tree = tree.flatten((tangents, {}))
        where = "the linear map of linearize"
        if given_tree != facts.in_tree:
            raise TypeError(
                message(
                    f"{where}, tangents",
                    given=f"{given_tree}",
                    expected=f"the structure of the primals, {facts.in_tree}",
                    fix="Give one tangent per leaf of the primals.",
                )
            )
        check_tangents(where, facts.in_names, leaves, facts.in_avals)
        given = {s: t for s, t in zip(facts.in_slots, leaves, strict=True) if s is not None}
        results = self._tape.push_forward(given)
        return facts.out_tree.unflatten(
            [
                tangent_output(Zero(aval) if slot is None else results.get(slot, Zero(aval)))
                for slot, aval in zip(facts.out_slots, facts.out_avals, strict=True)
            ]
        )


tree.register_pytree_node(JVP, JVP.flattened, JVP.unflattened)


def check_tangents(
    where: str,
    names: Callable[[], Sequence[str]],
    given: Sequence[Any],
    expected: Sequence[Any],
    *,
    are_cotangents: bool = False,
) -> None:
    """Raise an error naming the place unless tangents have the expected shapes and dtypes.

    Args:
        where: for error text.
        names: of the places, called only for error text.
        given: tangents.
        expected: their avals.
        are_cotangents: whether they are cotangents; these may have any dtype where ``float0`` is
            expected.
    """
    kind = "cotangent" if are_cotangents else "tangent"
    for i, (t, aval) in enumerate(zip(given, expected, strict=True)):
        own = aval_of(t)
        fits = own.dtype == aval.dtype or (are_cotangents and aval.dtype == dtypes.float0)
        if fits and own.shape == aval.shape:
            continue
        raise (ValueError if fits else TypeError)(
            message(
                f"{where}, {kind} of {names()[i]}",
                given=f"{own}",
                expected=f"{aval}",
                fix=f"Give {kind}s the shapes and dtypes of what they belong to "
                "(np.zeros(shape, jax.float0) for integers).",
            )
        )


def tangent_output(t: Operand) -> Any:
    """A tangent (or cotangent) as the user sees it."""
    if not is_zero(t):
        return as_output(t)
    if not t.aval.is_high and t.aval.dtype == dtypes.float0:
        return np.zeros(t.aval.shape, dtypes.float0)
    # A literal keeps the weak type of a Python number.
    return as_output(0.0 if aval_of(0.0) is t.aval else instantiate(t))


def cotangent_of(results: dict[int, Any], slot: int | None, aval: ShapedArray) -> Any:
    """The cotangent of one argument, or `Zero`."""
    known = results.get(slot) if slot is not None else None
    if known is None or (not aval.is_high and aval.dtype == dtypes.float0):
        return Zero(aval)
    # A weak operand that met a strong one of its dtype was not converted, so its weak type was
    # lost on the way back without a rule that restores it.
    is_lost = aval.weak_type and not aval_of(known).weak_type
    return convert(known, aval.dtype, True) if is_lost else known


def cotangent_output(results: dict[int, Any], slot: int | None, aval: ShapedArray) -> Any:
    """The cotangent of one argument as the user sees it."""
    return tangent_output(cotangent_of(results, slot, aval))
