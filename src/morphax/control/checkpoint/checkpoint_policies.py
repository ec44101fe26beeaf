"""Policies of `jax.checkpoint`: which values of the forward pass are saved for the backward pass.

A policy is a function ``policy(prim, *avals, **params)`` of one equation: its primitive, the avals
of its operands and its parameters.  It answers for the results: `Saveable` (or ``True``) keeps them
in memory, `Recompute` (or ``False``) leaves their computation to the backward pass, and
``Offloadable(src, dst)`` keeps them in the memory `dst` and brings them back to `src`.

A computation has one memory here, that of the device it runs on (on CPU host and device memory are
the same anyway), so an offloadable value stays where it is, like a saveable one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, final

import numpy as np

from ...core import AbstractValue, Equation, Param, Primitive
from ...lax.contraction.dot import dot_general_p
from ...util.memo import memoize
from ...util.messages import described, message
from .checkpoint_name import name_p


@final
class RecomputeType:
    """The answer that the backward pass recomputes a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Recompute"


@final
class SaveableType:
    """The answer that a value is saved."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Saveable"


class Offloadable(NamedTuple):
    """The answer that a value is saved in the memory `dst`, away from `src` where it is used.

    Args:
        src, dst: kinds of memory, such as ``"device"`` and ``"pinned_host"``.
    """

    src: str
    dst: str


Recompute = RecomputeType()
Saveable = SaveableType()

Answer = bool | RecomputeType | SaveableType | Offloadable
Policy = Callable[..., Answer]


@memoize
def saved_by(policy: Policy | None) -> Callable[[Equation], bool] | None:
    """Whether the results of an equation are saved: see `core.partition.Demand`."""
    return None if policy is None else functools.partial(_is_saved, policy)


def _is_saved(policy: Policy, eqn: Equation) -> bool:
    avals = [atom.aval for atom in eqn.invars]
    answer = policy(eqn.primitive, *avals, **eqn.params)
    if isinstance(answer, (bool, np.bool_)):
        return bool(answer)
    if isinstance(answer, (RecomputeType, SaveableType, Offloadable)):
        return answer is not Recompute
    raise TypeError(
        message(
            f"checkpoint, answer of the policy {policy!r:.80} for {eqn.primitive}",
            given=described(answer),
            expected="a bool, Recompute, Saveable or Offloadable(src, dst) of jax.ad_checkpoint",
            fix="Return True to save the value, False to recompute it.",
        )
    )


def everything_saveable(*_: object, **__: Param) -> bool:
    """Keep all values, as if there were no checkpoint."""
    return True


def nothing_saveable(*_: object, **__: Param) -> bool:
    """Recompute everything from the operands; this is what `checkpoint` does by itself."""
    return False


def dots_saveable(prim: Primitive, *_: object, **__: Param) -> bool:
    """Keep the results of matrix products."""
    return prim is dot_general_p


def dots_with_no_batch_dims_saveable(prim: Primitive, *_: object, **params: Param) -> bool:
    """Keep the results of matrix products without batch axes, such as ``x @ weights``."""
    return prim is dot_general_p and _is_without_batch_axes(params)


def _is_without_batch_axes(params: dict[str, Param]) -> bool:
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """The policy that offloads the results of matrix products without batch axes.

    Args:
        offload_src, offload_dst: kinds of memory; see `Offloadable`.
    """
    answer = Offloadable(offload_src, offload_dst)

    def policy(prim: Primitive, *_: object, **params: Param) -> Answer:
        return answer if dots_with_no_batch_dims_saveable(prim, **params) else Recompute

    return policy


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """The policy that keeps all values but those with these names (see `checkpoint_name`)."""
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *_: object, **params: Param) -> bool:
        return prim is not name_p or params["name"] not in names

    return policy


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """The policy that keeps the values with a name, except these names."""
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *_: object, **params: Param) -> bool:
        return prim is name_p and params["name"] not in names

    return policy


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """The policy that keeps the values with one of these names."""
    names = frozenset(names_which_can_be_saved)

    def policy(prim: Primitive, *_: object, **params: Param) -> bool:
        return prim is name_p and params["name"] in names

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """The policy that keeps what either of two policies keeps; both must answer with a bool."""

    def policy(prim: Primitive, *avals: AbstractValue, **params: Param) -> bool:
        answers = policy_1(prim, *avals, **params), policy_2(prim, *avals, **params)
        if not all([isinstance(answer, (bool, np.bool_)) for answer in answers]):
            raise ValueError(
                message(
                    "save_from_both_policies",
                    given=f"the answers {answers[0]!r} and {answers[1]!r}",
                    expected="policies that return True or False",
                    fix="Write one policy that says what to do with each value.",
                )
            )
        return bool(answers[0] or answers[1])

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Any,
    names_which_can_be_offloaded: Any,
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """The policy that keeps values with some names, and offloads those with others.

    Args:
        names_which_can_be_saved, names_which_can_be_offloaded: sequences without a common name.
        offload_src, offload_dst: kinds of memory; see `Offloadable`.

    Raises:
        ValueError: a name stands in both.
    """
    saved, offloaded = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    if saved & offloaded:
        raise ValueError(
            message(
                "save_and_offload_only_these_names",
                given=f"{', '.join(sorted(saved & offloaded))} both to save and to offload",
                expected="names_which_can_be_saved and names_which_can_be_offloaded without a "
                "common name",
                fix="Take each name out of one of them.",
            )
        )
    answer = Offloadable(offload_src, offload_dst)

    def policy(prim: Primitive, *_: object, **params: Param) -> Answer:
        name = params["name"] if prim is name_p else None
        if name in saved:
            return Saveable
        return answer if name in offloaded else Recompute

    return policy


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)
