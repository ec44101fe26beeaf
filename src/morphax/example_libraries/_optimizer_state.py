"""Optimizers of trees of arrays from optimizers of single arrays, and the state they keep.

The state of a tree is kept flat: for each parameter the leaves of its own state.  So structures are
compared, and not walked, at each step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import tree, tree_util
from ..util.messages import described, message
from ._schedules import Step

Params = Any
State = Any
Updates = Any


class OptimizerState(NamedTuple):
    """The state of an optimizer for a tree of parameters: the leaves of each leaf's state.

    Args:
        packed_state: for each parameter, the leaves of its state.
        tree_def: structure of the parameters.
        subtree_defs: for each parameter, the structure of its state.
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structure, children: OptimizerState(*children, *structure),
)

InitFn = Callable[[Params], OptimizerState]
UpdateFn = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn = Callable[[OptimizerState], Params]


class Optimizer(NamedTuple):
    """An optimizer: how a state is made, changed by a step, and read.

    Args:
        init_fn: parameters → state.
        update_fn: number of the step, gradients, state → state.
        params_fn: state → parameters.
    """

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


def optimizer(
    opt_maker: Callable[..., tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]],
) -> Callable[..., Optimizer]:
    """Make an optimizer of trees from one of single arrays.

    Args:
        opt_maker: a function that returns ``(init, update, get_params)`` for one array: ``init(x)``
            is a state, which may be a tree; ``update(i, g, state)`` is the next one;
            ``get_params(state)`` the array.

    Returns:
        A function of the same arguments that returns an `Optimizer`.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> @optimizers.optimizer
        ... def sign_descent(step_size):
        ...     update = lambda i, g, x: x - step_size * jnp.sign(g)
        ...     return lambda x: x, update, lambda x: x
        >>> import morphax.numpy as jnp
        >>> init, update, get_params = sign_descent(0.5)
        >>> get_params(update(0, {"w": jnp.array([2.0, -3.0])}, init({"w": jnp.zeros(2)})))
        {'w': Array([-0.5,  0.5], dtype=float32)}
    """

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params: Params) -> OptimizerState:
            leaves, structure = tree.flatten(params)
            return _packed([init(x) for x in leaves], structure)

        def tree_update(i: Step, updates: Updates, state: OptimizerState) -> OptimizerState:
            gradients, structure = tree.flatten(updates)
            if structure != state.tree_def:
                raise TypeError(_mismatch("gradients", structure, "parameters", state.tree_def))
            states = [update(i, g, s) for g, s in zip(gradients, _substates(state), strict=True)]
            packed = _packed(states, structure)
            for before, after in zip(state.subtree_defs, packed.subtree_defs, strict=True):
                if after != before:
                    raise TypeError(_mismatch("a parameter's state", after, "its init", before))
            return packed

        def tree_params(state: OptimizerState) -> Params:
            return state.tree_def.unflatten([get_params(s) for s in _substates(state)])

        return Optimizer(tree_init, tree_update, tree_params)

    return tree_opt_maker


def _packed(states: Sequence[Any], structure: Any) -> OptimizerState:
    flat = [tree.flatten(state) for state in states]
    return OptimizerState(
        tuple(leaves for leaves, _ in flat), structure, tuple(inner for _, inner in flat)
    )


def _substates(state: OptimizerState) -> list[Any]:
    each = zip(state.subtree_defs, state.packed_state, strict=True)
    return [structure.unflatten(leaves) for structure, leaves in each]


def _mismatch(what: str, given: Any, other: str, expected: Any) -> str:
    return message(
        "an optimizer's update_fn",
        given=f"{what} of the structure {given}",
        expected=f"the structure of {other}, {expected}",
        fix="Pass gradients of the parameters that the state was made for.",
    )


class JoinPoint:
    """Marks, in a tree, where the state of one parameter begins; see `unpack_optimizer_state`.

    Args:
        subtree: the state.
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __repr__(self) -> str:
        return f"JoinPoint({self.subtree!r})"


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a tree like the parameters, whose leaves are `JoinPoint`s; for saving it.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> init, update, get_params = optimizers.momentum(0.1, mass=0.9)
        >>> optimizers.unpack_optimizer_state(init({"w": 1.0}))
        {'w': JoinPoint((1.0, Array(0., dtype=float32, weak_type=True)))}
    """
    return opt_state.tree_def.unflatten([JoinPoint(s) for s in _substates(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state that `unpack_optimizer_state` turned into a tree.

    Raises:
        TypeError: if a leaf is no `JoinPoint`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, _, params = optimizers.momentum(0.1, mass=0.9)
        >>> tree = optimizers.unpack_optimizer_state(init({"w": jnp.ones(2)}))
        >>> params(optimizers.pack_optimizer_state(tree))
        {'w': Array([1., 1.], dtype=float32)}
    """
    points, structure = tree.flatten(marked_pytree)
    others = [x for x in points if not isinstance(x, JoinPoint)]
    if others:
        raise TypeError(
            message(
                "optimizers.pack_optimizer_state",
                given=f"a leaf {described(others[0])}",
                expected="a tree with JoinPoint leaves",
                fix="Pass what unpack_optimizer_state returns.",
            )
        )
    return _packed([point.subtree for point in points], structure)
