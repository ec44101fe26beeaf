"""Schedules: step sizes as functions of the number of the step, i below.

The number may be traced.  n stands for `decay_steps`, r for `decay_rate`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import numpy as jnp
from ..util.messages import described, message

Step = int
Schedule = Callable[[Step], float]


def constant(step_size: float) -> Schedule:
    """The schedule that is `step_size` at each step.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> schedule = optimizers.constant(0.1)
        >>> schedule(0), schedule(1000)
        (0.1, 0.1)
    """

    def schedule(i: Step) -> Any:
        return step_size

    return schedule


def exponential_decay(step_size: float, decay_steps: int, decay_rate: float) -> Schedule:
    """The schedule α rⁱᐟⁿ, with α = `step_size`, r = `decay_rate` and n = `decay_steps`.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> optimizers.exponential_decay(0.1, decay_steps=10, decay_rate=0.5)(20)
        0.025
    """

    def schedule(i: Step) -> Any:
        return step_size * decay_rate ** (i / decay_steps)

    return schedule


def inverse_time_decay(
    step_size: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Schedule:
    """The schedule α / (1 + r i / n), where `staircase` rounds i / n down.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> schedule = optimizers.inverse_time_decay(1.0, decay_steps=10, decay_rate=1.0)
        >>> schedule(0), schedule(10)
        (1.0, 0.5)
    """

    def schedule(i: Step) -> Any:
        periods = jnp.floor(i / decay_steps) if staircase else i / decay_steps
        return step_size / (1 + decay_rate * periods)

    return schedule


def polynomial_decay(
    step_size: float, decay_steps: int, final_step_size: float, power: float = 1.0
) -> Schedule:
    """The schedule that falls from `step_size` to `final_step_size` as (1 - i / n)ᵖ, then stays.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> schedule = optimizers.polynomial_decay(1.0, decay_steps=4, final_step_size=0.0)
        >>> [float(schedule(i)) for i in (0, 1, 9)]
        [1.0, 0.75, 0.0]
    """

    def schedule(i: Step) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """The schedule of `values`, the next one of which holds after each of `boundaries`.

    Args:
        boundaries: (n,), numbers of steps, ascending.
        values: (n + 1,).

    Raises:
        ValueError: if the lengths are others.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> schedule = optimizers.piecewise_constant([10], [0.5, 0.25])
        >>> float(schedule(10)), float(schedule(11))
        (0.5, 0.25)
    """
    bounds, levels = jnp.array(boundaries), jnp.array(values)
    if bounds.ndim != 1 or levels.shape != (bounds.size + 1,):
        raise ValueError(
            message(
                "optimizers.piecewise_constant",
                given=f"boundaries of shape {bounds.shape} and values of shape {levels.shape}",
                expected="shapes (n,) and (n + 1,)",
                fix="Pass one value more than there are boundaries.",
            )
        )

    def schedule(i: Step) -> Any:
        return levels[jnp.sum(i > bounds)]

    return schedule


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule from a number, which is constant, or from a schedule, which is itself.

    Raises:
        TypeError: if it is neither.

    Example:
        >>> from morphax.example_libraries import optimizers
        >>> optimizers.make_schedule(0.1)(1000)
        0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if not isinstance(scalar_or_schedule, str) and jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        message(
            "optimizers.make_schedule",
            given=described(scalar_or_schedule),
            expected="a number, or a function of the number of the step",
            fix="Pass a scalar, or use optimizers.piecewise_constant.",
        )
    )
