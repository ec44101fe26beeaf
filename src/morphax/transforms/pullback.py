"""What `vjp` returns: the derivative of one evaluation, backwards.

Its residuals are arguments, which users see and may give again, and what the function computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, final

from .. import tree
from ..core import Operand, frames_hidden, is_zero
from ..lax.reference.ref_access import add_to
from ..util.messages import message
from .cotangent_targets import DidntWant, DontWant, GradRef, GradValue, targets_of
from .derivative_maps import DerivativeMap, MapFacts, check_tangents, cotangent_of, tangent_output
from .flattening import as_output
from .saved_arguments import (
    NotNeeded,
    check_restored,
    identity_of,
    is_mark,
    kept_arguments,
    restored_arguments,
)
from .tape import Tape


@final
class VJP(DerivativeMap):
    """The map ȳ ↦ ∂f(x)ᵀ ȳ that `vjp` returns.

    `arguments` are the leaves of the function's arguments; where `saveable` is false, they are
    not kept.  Residuals that are an argument, or stand for one, are that object.

    One that comes out of a tree keeps its leaves and their structure, and has a tape and arguments
    once somebody asks: between two compiled functions nobody does.
    """

    __slots__ = ("_arguments", "_flat", "_given", "_is_open")

    def __init__(
        self,
        tape: Tape,
        facts: MapFacts,
        function: Callable[..., Any] | None = None,
        arguments: Sequence[Any] = (),
        saveable: Sequence[bool] | None = None,
    ) -> None:
        super().__init__(tape, facts, function)
        self._arguments = list(arguments)
        self._given: list[Any] | None = None
        self._flat: tuple[list[Any], Any] | None = None
        self._is_open = True
        if saveable is not None:
            self._put_in_place(self._kept(saveable))

    @property
    def args_res(self) -> list[Any]:
        """The arguments as far as the pullback needs them, one tree for each.

        `NotNeeded()` stands for the others, and `NotSaveable()` for those whose value is to be
        assigned here before the map is applied.

        Example:
            >>> import morphax as jax
            >>> _, f_vjp = jax.vjp(lambda x, y: 2.0 * x * y, 3.0, 4.0, saveable_args=(True, False))
            >>> f_vjp.args_res
            [NotNeeded(), NotSaveable()]
            >>> f_vjp.args_res[1] = 4.0
            >>> f_vjp(1.0)[0]
            Array(8., dtype=float32, weak_type=True)
        """
        if self._given is None:
            shown = [x if is_mark(x) else as_output(x) for x in self._kept()]
            self._given = list(self._facts.in_tree.unflatten(shown)[0])
        return self._given

    @args_res.setter
    def args_res(self, values: Sequence[Any]) -> None:
        self._given = list(values)

    @property
    def opaque_residuals(self) -> list[Any]:
        """What the forward pass computed for the pullback, each value once."""
        own = {identity_of(x) for x in self._kept()}
        return [x for x in self._residuals() if identity_of(x) not in own]

    def replace(self, *, args_res: Sequence[Any]) -> VJP:
        """The same map with other values for `args_res`."""
        tape = Tape()
        tape.entries = list(self._opened().entries)
        new = VJP(tape, self._facts, self._function, self._arguments)
        new.args_res = args_res
        return new

    def _opened(self) -> Tape:
        """The tape, made of the leaves that this came out of a tree with if need be."""
        if not self._is_open:
            assert self._flat is not None, "what is not open has leaves"
            values, (shapes, _, marks) = self._flat
            left = iter(values)
            self._arguments = [next(left) if mark is None else mark for mark in marks]
            self._is_open = True
            self._tape.entries = [
                replace(
                    entry,
                    residuals=[
                        values[i] if i >= 0 else self._arguments[-1 - i] for i in entry.residuals
                    ],
                )
                for entry in shapes
            ]
        return self._tape

    def _kept(self, saveable: Sequence[bool] | None = None) -> list[Any]:
        residuals = self._residuals()
        allowed = [True] * len(self._arguments) if saveable is None else saveable
        return kept_arguments(self._arguments, residuals, allowed)

    def _residuals(self) -> list[Any]:
        found = {identity_of(x): x for entry in self._opened().entries for x in entry.residuals}
        return list(found.values())

    def _put_in_place(self, arguments: Sequence[Any]) -> None:
        """Let residuals that are arguments be these values, or marks, instead."""
        pairs = zip(self._arguments, arguments, strict=True)
        other = {identity_of(old): new for old, new in pairs if not isinstance(new, NotNeeded)}
        self._opened().entries = [
            replace(entry, residuals=[other.get(identity_of(x), x) for x in entry.residuals])
            for entry in self._tape.entries
        ]
        self._arguments, self._flat = list(arguments), None

    def _take_over_given(self) -> None:
        """What the user assigned to `args_res` takes its place."""
        if self._given is not None:
            facts, given, self._given = self._facts, self._given, None
            kept = self._kept()
            self._put_in_place(restored_arguments(kept, given, facts.in_tree, facts.in_names))

    def flattened(self) -> tuple[list[Any], Any]:
        """The arguments that are kept and the other residuals, and everything else."""
        self._take_over_given()
        if self._flat is None:
            kept = self._kept()
            residuals = [x for x in kept if not is_mark(x)] + self.opaque_residuals
            marks = tuple([x if is_mark(x) else None for x in kept])
            found = {identity_of(x): i for i, x in enumerate(residuals)}
            found |= {identity_of(x): -1 - i for i, x in enumerate(kept) if is_mark(x)}
            shapes = [
                replace(entry, residuals=tuple([found[identity_of(x)] for x in entry.residuals]))
                for entry in self._tape.entries
            ]
            self._flat = residuals, (tuple(shapes), self._facts, marks)
        return self._flat

    @classmethod
    def unflattened(cls, structure: Any, residuals: Sequence[Operand]) -> VJP:
        """The map with other residuals."""
        new = cls(Tape(), structure[1])
        new._flat, new._is_open = (list(residuals), structure), False
        return new

    @frames_hidden
    def __call__(self, *cotangents: Any) -> Any:
        if len(cotangents) != 1:
            raise TypeError(
                message(
                    "the pullback of vjp",
                    given=f"{len(cotangents)} arguments",
                    expected="one, as fun has one result, even if that is a tuple",
                    fix="Pass the cotangents of a tuple as a tuple.",
                )
            )
        results = map(tangent_output, self._pull_back(cotangents[0]))
        return self._facts.in_tree.unflatten(results)[0]

    def with_refs(self, *chosen: Any) -> Callable[[Any], Any]:
        """The map that adds cotangents to references instead of returning them.

        Args:
            *chosen: like the arguments of the function, with a reference for each array whose
                cotangent is to be added to it, and else `jax.ad.GradValue()` (return the
                cotangent) or `jax.ad.DontWant()`.

        Returns:
            The pullback, whose result has `jax.ad.GradRef()` and `jax.ad.DidntWant()` in place of
            the cotangents that it does not return.

        Example:
            >>> import morphax as jax
            >>> total = jax.new_ref(1.0)
            >>> _, f_vjp = jax.vjp(lambda x, y: x * y, 2.0, 3.0)
            >>> f_vjp.with_refs(total, jax.ad.DontWant())(1.0), total[...]
            ((GradRef(), DidntWant()), Array(4., dtype=float32, weak_type=True))
        """
        targets = targets_of(chosen, self._facts.in_tree)
        unwanted = tuple([isinstance(target, DontWant) for target in targets])

        def pullback(cotangents: Any) -> Any:
            results = self._pull_back(cotangents, unwanted)
            return self._facts.in_tree.unflatten(map(delivered, targets, results))[0]

        return pullback

    def _pull_back(self, cotangents: Any, unwanted: Sequence[bool] = ()) -> list[Any]:
        """The cotangent of each leaf of the arguments, `Zero` where there is none, or no use."""
        facts = self._facts
        self._take_over_given()
        tape = self._opened()
        check_restored(self._arguments, facts.in_names)
        leaves, given_tree = tree.flatten(cotangents)
        where = "the pullback of vjp"
        if given_tree != facts.out_tree:
            raise ValueError(
                message(
                    f"{where}, cotangents",
                    given=f"{given_tree}",
                    expected=f"the structure of the result, {facts.out_tree}",
                    fix="Give one cotangent per leaf of the result of fun.",
                )
            )
        check_tangents(where, facts.out_names, leaves, facts.out_avals, are_cotangents=True)
        if True in unwanted:
            slots = zip(facts.in_slots, unwanted, strict=True)
            tape = tape.towards([slot for slot, off in slots if slot is not None and not off])
        results = tape.pull_back(zip(facts.out_slots, leaves, strict=True))
        return [
            cotangent_of(results, slot, aval)
            for slot, aval in zip(facts.in_slots, facts.in_avals, strict=True)
        ]


tree.register_pytree_node(VJP, VJP.flattened, VJP.unflattened)


def delivered(target: Any, cotangent: Operand) -> Any:
    """What the user gets for an argument, after the cotangent has been added to a reference."""
    if isinstance(target, GradValue):
        return tangent_output(cotangent)
    if isinstance(target, DontWant):
        return DidntWant()
    if not is_zero(cotangent):
        add_to(target, (), cotangent)
    return GradRef()
