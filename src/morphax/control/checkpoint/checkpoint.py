"""`checkpoint`: trade time for memory in reverse-mode differentiation.

Reference: Griewank & Walther, "Algorithm 799: revolve", ACM Transactions on Mathematical Software
26 (2000), for what nested checkpoints achieve.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, final

from ... import tree
from ...core import Jaxpr, frames_hidden_in, stage_with_operands
from ...lax.ground.axes import integer_tuple
from ...transforms.flattening import (
    FlatFunction,
    argument_names,
    avals_of,
    check_callable,
    check_values,
    debug_info,
    function_label,
    wraps,
)
from ...tree import PyTreeDef
from ...util.messages import described, message
from ..chosen_arguments import Choice, StaticArguments, split_static
from ..remembered import remembered
from .checkpoint_policies import Policy
from .checkpoint_primitive import PreventCSE, checkpoint_p


@final
class _NotGiven:
    """The default of an argument that is no longer accepted."""

    def __repr__(self) -> str:
        return "Deprecated"


_not_given: Final = _NotGiven()


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: Any = _not_given,
) -> Callable[..., Any]:
    """`fun`, whose intermediate values reverse-mode differentiation recomputes.

    The forward pass keeps the arguments, and what `policy` says; the backward pass recomputes the
    rest.  So memory for L layers of a chain falls from O(L) intermediate values to those of one
    layer and its L inputs.  Values and derivatives do not change.

    Args:
        fun: pure function of arrays, trees of arrays, and static arguments.
        prevent_cse: keep the compiler from merging the recomputation with the forward pass, which
            would undo it.  It may be left off in the body of `lax.scan`, where the two passes are
            loops of their own.  A tuple or list says so for each positional argument (a tree prefix
            of it).
        policy: what to keep, one of `jax.checkpoint_policies` or a function of the same kind:
            ``policy(prim, *avals, **params)`` is asked about each equation.  It decides for
            checkpoints inside `fun` as well.
        static_argnums: arguments, by position, that are Python values, not arrays.
        static_argnames: the same, by name.
        concrete: no longer accepted.

    Returns:
        A function of the same arguments.  It is traced, so Python control flow may not depend on
        the values of its arguments, static ones excepted.

    Raises:
        TypeError: an argument that is not static is not an array.
        ValueError: `static_argnums` names arguments that a call does not have.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> layer = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
        >>> jax.grad(layer)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    check_callable("checkpoint", fun)
    _check_options(policy, concrete)
    given = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
    numbers = integer_tuple("checkpoint, argument static_argnums", given)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    choice = Choice(numbers, names)

    @wraps(fun)
    @frames_hidden_in
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        _check_numbers(fun, numbers, len(args))
        positions = choice.positions(len(args))
        args, kwargs, static = split_static(choice, args, kwargs)
        leaves, in_tree = tree.flatten((args, kwargs))
        complete = static.without_values().complete
        names = functools.partial(argument_names, fun, in_tree, complete)
        check_values(f"checkpoint of {function_label(fun)}", names, leaves)
        (jaxpr, out_tree), captured = _traced(fun, avals_of(leaves), in_tree, static)
        barriers: PreventCSE = bool(prevent_cse)
        if isinstance(prevent_cse, (tuple, list)):
            dynamic = tuple([on for i, on in enumerate(prevent_cse) if i not in positions])
            barriers = (*[True] * len(captured), *_for_each_leaf(dynamic, args, kwargs))
        outs = checkpoint_p.bind(
            *captured,
            *leaves,
            jaxpr=jaxpr,
            policy=policy,
            prevent_cse=barriers,
            differentiated=False,
        )
        return out_tree.unflatten(outs)

    return checkpointed


def remat(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    concrete: Any = _not_given,
) -> Callable[..., Any]:
    """Another name of `checkpoint`, from "rematerialisation".

    Example:
        >>> import morphax as jax
        >>> jax.grad(jax.remat(lambda x: x * x))(3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    return checkpoint(
        fun,
        prevent_cse=prevent_cse,
        policy=policy,
        static_argnums=static_argnums,
        concrete=concrete,
    )


def _check_options(policy: object, concrete: object) -> None:
    if concrete is not _not_given:
        raise NotImplementedError(
            message(
                "checkpoint, argument concrete",
                given=f"concrete={concrete!r}",
                expected="no such argument: it has been removed",
                fix="Name arguments that Python control flow depends on in static_argnums.",
            )
        )
    if policy is not None and not callable(policy):
        raise TypeError(
            message(
                "checkpoint, argument policy",
                given=described(policy),
                expected="None or a function (prim, *avals, **params) -> bool",
                fix="Choose one of jax.checkpoint_policies, or write such a function.",
            )
        )


def _check_numbers(fun: Callable[..., Any], numbers: Sequence[int], count: int) -> None:
    for n in numbers:
        if not -count <= n < count:
            raise ValueError(
                message(
                    f"checkpoint of {function_label(fun)}, argument static_argnums",
                    given=f"number {n} in a call with {count} positional arguments",
                    expected=f"numbers from {-count} to {count - 1}",
                    fix="Pass static arguments by position, or name them in static_argnames.",
                )
            )


def _traced(
    fun: Callable[..., Any], avals: tuple[Any, ...], in_tree: PyTreeDef, static: StaticArguments
) -> tuple[tuple[Jaxpr, Any], list[Any]]:
    """The program of a call and the structure of its result; the tracers that it captures."""

    def trace() -> tuple[tuple[Jaxpr, Any], list[Any]]:
        flat = FlatFunction(fun, in_tree, "checkpoint", complete=static.complete)
        info = debug_info("checkpoint", fun, in_tree, static.without_values().complete)
        jaxpr, captured = stage_with_operands(flat, avals, info)
        return (jaxpr, flat.out_tree), captured

    return remembered((fun,), ("checkpoint", avals), trace, (in_tree, static))


def _for_each_leaf(
    prevent_cse: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[bool, ...]:
    """One truth value for each leaf of the arguments."""
    try:
        return tuple(map(bool, tree.broadcast_prefix((prevent_cse, True), (args, kwargs))))
    except ValueError:
        raise ValueError(
            message(
                "checkpoint, argument prevent_cse",
                given=f"{prevent_cse!r} for arguments of structure {tree.structure(args)}",
                expected="a bool, or a tree prefix of the tuple of positional arguments",
                fix="Give one truth value per positional argument.",
            )
        ) from None
