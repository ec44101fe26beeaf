"""First-order optimizers as triples of pure functions.

    state = init_fun(params)
    state = update_fun(step, gradients, state)
    params = get_params(state)

Each is written for one array, and made to work on trees of arrays by `optimizer`.  A step size is a
number or a *schedule*, a function of the number of the step.  With g the gradient, x the parameter
and α the step size, the docstrings give the rule of a step.

References: Kingma & Ba, "Adam" (2015); Duchi et al., "Adaptive subgradient methods" (2011);
Tieleman & Hinton, "RMSProp" (2012); Anil et al., "Memory-efficient adaptive optimization" (2019).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import lax, tree_util
from .. import numpy as jnp
from ._optimizer_state import (
    InitFn,
    JoinPoint,
    Optimizer,
    OptimizerState,
    Params,
    ParamsFn,
    State,
    UpdateFn,
    Updates,
    optimizer,
    pack_optimizer_state,
    unpack_optimizer_state,
)
from ._schedules import (
    Schedule,
    Step,
    constant,
    exponential_decay,
    inverse_time_decay,
    make_schedule,
    piecewise_constant,
    polynomial_decay,
)

__all__ = [
    "InitFn",
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "Params",
    "ParamsFn",
    "Schedule",
    "State",
    "Step",
    "UpdateFn",
    "Updates",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]


@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent: x ← x - α g.

    Args:
        step_size: α, or its schedule.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, get_params = optimizers.sgd(0.5)
        >>> get_params(update(0, jnp.array([2.0, -4.0]), init(jnp.ones(2))))
        Array([0., 3.], dtype=float32)
    """
    schedule = make_schedule(step_size)
    return _identity, lambda i, g, x: x - schedule(i) * g, _identity


def _identity(x: Any) -> Any:
    return x


def _first(state: Any) -> Any:
    return state[0]


def _zeros_for(count: int) -> Callable[[Any], Any]:
    """A state of the parameter and `count` arrays of zeros like it."""
    return lambda x: (x, *[jnp.zeros_like(x) for _ in range(count)])


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Gradient descent with momentum: v ← μ v + g, x ← x - α v.

    Args:
        step_size: α, or its schedule.
        mass: μ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, params = optimizers.momentum(0.25, mass=0.5)
        >>> params(update(0, jnp.array([2.0]), init(jnp.array([1.0]))))
        Array([0.5], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def update(i: Step, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(i) * velocity, velocity

    return _zeros_for(1), update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Gradient descent with Nesterov's momentum: v ← μ v + g, x ← x - α (μ v + g).

    Args:
        step_size: α, or its schedule.
        mass: μ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, params = optimizers.nesterov(0.25, mass=0.5)
        >>> params(update(0, jnp.array([2.0]), init(jnp.array([1.0]))))
        Array([0.25], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def update(i: Step, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(i) * (mass * velocity + g), velocity

    return _zeros_for(1), update, _first


def _scaled_down(g: Any, squares: Any) -> Any:
    """g / √squares, and 0 where there were no gradients yet."""
    return g * jnp.where(squares > 0, lax.rsqrt(jnp.where(squares > 0, squares, 1)), 0)


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Adagrad with momentum: s ← s + g², m ← μ m + (1 - μ) g / √s, x ← x - α m.

    Args:
        step_size: α, or its schedule.
        momentum: μ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, params = optimizers.adagrad(0.1, momentum=0.0)
        >>> params(update(0, jnp.array([4.0]), init(jnp.array([1.0]))))
        Array([0.9], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def update(i: Step, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + jnp.square(g)
        mean = momentum * mean + (1 - momentum) * _scaled_down(g, squares)
        return x - schedule(i) * mean, squares, mean

    return _zeros_for(2), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """RMSProp: s ← γ s + (1 - γ) g², x ← x - α g / √(s + ε).

    Args:
        step_size: α, or its schedule.
        gamma: γ.
        eps: ε.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, params = optimizers.rmsprop(0.1, gamma=0.75)
        >>> params(update(0, jnp.array([4.0]), init(jnp.array([1.0]))))
        Array([0.8], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def update(i: Step, g: Any, state: Any) -> Any:
        x, squares = state
        squares = gamma * squares + (1 - gamma) * jnp.square(g)
        return x - schedule(i) * g / jnp.sqrt(squares + eps), squares

    return _zeros_for(1), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    """RMSProp with momentum: s ← γ s + (1 - γ) g², v ← μ v + α g / √(s + ε), x ← x - v.

    Args:
        step_size: α, or its schedule.
        gamma: γ.
        eps: ε.
        momentum: μ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, params = optimizers.rmsprop_momentum(0.1, gamma=0.75)
        >>> params(update(0, jnp.array([4.0]), init(jnp.array([1.0]))))
        Array([0.8], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def update(i: Step, g: Any, state: Any) -> Any:
        x, squares, velocity = state
        squares = gamma * squares + (1 - gamma) * jnp.square(g)
        velocity = momentum * velocity + schedule(i) * g / jnp.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return _zeros_for(2), update, _first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adam: m ← β₁ m + (1 - β₁) g, v ← β₂ v + (1 - β₂) g², x ← x - α m̂ / (√v̂ + ε).

    m̂ = m / (1 - β₁ⁱ⁺¹) and v̂ = v / (1 - β₂ⁱ⁺¹) make up for the zeros at the start.

    Args:
        step_size: α, or its schedule.
        b1: β₁.
        b2: β₂.
        eps: ε.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, get_params = optimizers.adam(0.1)
        >>> get_params(update(0, jnp.array([3.0, -4.0]), init(jnp.zeros(2)))).round(3)
        Array([-0.1,  0.1], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def update(i: Step, g: Any, state: Any) -> Any:
        x, mean, squares = state
        mean = b1 * mean + (1 - b1) * g
        squares = b2 * squares + (1 - b2) * jnp.square(g)
        direction = mean / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1))
        size = jnp.sqrt(squares / (1 - jnp.asarray(b2, mean.dtype) ** (i + 1)))
        return x - schedule(i) * direction / (size + eps), mean, squares

    return _zeros_for(2), update, _first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adamax: m ← β₁ m + (1 - β₁) g, u ← max(β₂ u, |g|), x ← x - α / (1 - β₁ⁱ⁺¹) m / (u + ε).

    Args:
        step_size: α, or its schedule.
        b1: β₁.
        b2: β₂.
        eps: ε.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, params = optimizers.adamax(0.5)
        >>> params(update(0, jnp.array([4.0]), init(jnp.array([1.0]))))
        Array([0.5000001], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def update(i: Step, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = b1 * mean + (1 - b1) * g
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        rate = schedule(i) / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1))
        return x - rate * mean / (largest + eps), mean, largest

    return _zeros_for(2), update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """SM3: Adagrad that keeps of the squares s only their maxima over all axes but one.

    s ← (the least of the maxima kept) + g², m ← μ m + (1 - μ) g / √s, x ← x - α m.

    Args:
        step_size: α, or its schedule.
        momentum: μ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> init, update, params = optimizers.sm3(0.1, momentum=0.0)
        >>> params(update(0, jnp.ones((2, 2)), init(jnp.ones((2, 2)))))
        Array([[0.9, 0.9],
               [0.9, 0.9]], dtype=float32)
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        shape = jnp.shape(x)
        maxima = [jnp.zeros(_only(shape, axis), jnp.result_type(x)) for axis in _axes(shape)]
        return x, jnp.zeros_like(x), maxima

    def update(i: Step, g: Any, state: Any) -> Any:
        x, mean, maxima = state
        squares = functools.reduce(jnp.minimum, maxima) + jnp.square(g)
        mean = momentum * mean + (1 - momentum) * _scaled_down(g, squares)
        shape = jnp.shape(x)
        maxima = [
            jnp.max(squares, [j for j in range(len(shape)) if j != axis], keepdims=True, initial=0)
            for axis in _axes(shape)
        ]
        return x - schedule(i) * mean, mean, maxima

    return init, update, _first


def _axes(shape: tuple[int, ...]) -> range:
    """The axes of an array; a scalar has one, so to say."""
    return range(max(len(shape), 1))


def _only(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The shape with sizes 1 but for one axis."""
    return tuple([n if j == axis else 1 for j, n in enumerate(shape)])


def l2_norm(tree: Any) -> Any:
    """The norm √Σ |x|² of all elements of a tree of arrays.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> optimizers.l2_norm({"a": 3.0, "b": 4.0})
        Array(5., dtype=float32, weak_type=True)
    """
    leaves = tree_util.tree_leaves(tree)
    return jnp.sqrt(sum([jnp.vdot(x, x).real for x in leaves]))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Gradients scaled down to an `l2_norm` of `max_norm` if theirs is larger.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import optimizers
        >>> optimizers.clip_grads([jnp.array([3.0, 4.0])], max_norm=1.0)
        [Array([0.6, 0.8], dtype=float32)]
    """
    norm = l2_norm(grad_tree)

    def clip(g: Any) -> Any:
        return jnp.where(norm < max_norm, g, g * (max_norm / norm))

    return tree_util.tree_map(clip, grad_tree)
