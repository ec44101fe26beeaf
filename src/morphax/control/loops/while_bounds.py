"""`reverse_while`: how many steps a loop may have, and how much of it may be remembered.

Reverse mode visits the steps of a loop from the last to the first.  With m carries in memory a loop
of n steps is cut into r₁ parts, these into r₂ parts, …, with r₁ r₂ ⋯ ≥ n and r₁ + r₂ + ⋯ ≤ m; only
the carries at the beginning of parts are kept, the others recomputed, at most once for each
level but the first.

Reference: Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
automatic differentiation", Optimization Methods and Software 1 (1992).
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any, final

from ...config import current as current_config
from ...config import override
from ...lax.ground.axes import integer
from ...util.messages import message
from ...util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class ReverseBounds:
    """What a loop is told about its reverse mode: steps at most, bytes of carries at most."""

    max_steps: int
    memory: int | None = None


def reverse_while(max_steps: int, memory: int | None = None) -> AbstractContextManager[Any]:
    """A context in which `lax.while_loop` can be differentiated in reverse mode.

    It concerns the loops that are traced in it: those of functions that are called, and of jitted
    functions that are called, in the context (also `lax.fori_loop` with bounds that are traced).
    Values and forward mode stay as they are.  A loop that takes more than `max_steps` steps has a
    value, but its pullback raises an error.

    Args:
        max_steps: the most steps that a loop takes.
        memory: bytes for the carries that one loop remembers (under `vmap`, for each member of the
            batch); the less, the more steps are recomputed.  If left out, about 2 √max_steps
            carries, and each step is computed once more.

    Raises:
        ValueError: `max_steps` is not positive; or, when a loop is differentiated, `memory` does
            not hold about 2 log₂ max_steps carries.

    Example:
        >>> import morphax as jax
        >>> def square_root(a):
        ...     def condition(x):
        ...         return abs(x * x - a) > 1e-4
        ...
        ...     return jax.lax.while_loop(condition, lambda x: 0.5 * (x + a / x), a)
        >>> with jax.reverse_while(max_steps=50):
        ...     print(f"{jax.grad(square_root)(4.0):.3f}")
        0.250
    """
    steps = integer("reverse_while, argument max_steps", max_steps)
    limit = -1 if memory is None else integer("reverse_while, argument memory", memory)
    if steps < 1:
        raise ValueError(
            message(
                "reverse_while, argument max_steps",
                given=f"max_steps={max_steps}",
                expected="a positive number",
                fix="Give the most steps that a loop may take.",
            )
        )
    return override(reverse_while_max_steps=steps, reverse_while_memory=limit)


def bounds_in_force() -> ReverseBounds | None:
    """What the configuration says, `None` if loops are not to be differentiated in reverse."""
    config = current_config()
    if config.reverse_while_max_steps < 1:
        return None
    memory = config.reverse_while_memory
    return ReverseBounds(config.reverse_while_max_steps, None if memory < 0 else memory)


def parts_by_level(bounds: ReverseBounds, carry_bytes: int) -> tuple[int, ...]:
    """Into how many parts a loop is cut at each level, the outermost first.

    Example:
        >>> from morphax.control.loops.while_bounds import ReverseBounds, parts_by_level
        >>> parts_by_level(ReverseBounds(1000), 8)
        (32, 32)
        >>> parts_by_level(ReverseBounds(1000, memory=8 * 1000), 8)
        (1000,)
        >>> parts_by_level(ReverseBounds(1000, memory=8 * 30), 8)
        (10, 10, 10)
    """
    n = bounds.max_steps
    if bounds.memory is None:
        # Of few steps two levels would keep no less than all carries.
        parts = _cut(n, 2)
        return parts if sum(parts) < n else (n,)
    carries = bounds.memory // max(carry_bytes, 1)
    plans = [_cut(n, depth) for depth in range(1, max(math.ceil(math.log2(n)), 1) + 1)]
    for parts in plans:
        if sum(parts) <= carries:
            return parts
    raise ValueError(
        message(
            "reverse-mode derivative of lax.while_loop under reverse_while",
            given=f"memory={bounds.memory} for carries of {carry_bytes} bytes each",
            expected=f"at least {carry_bytes * min(map(sum, plans))} bytes for {n} steps",
            fix="Give more memory, or a smaller max_steps.",
        )
    )


def _cut(steps: int, depth: int) -> tuple[int, ...]:
    """`depth` factors, nearly equal, whose product is at least `steps`."""
    part = math.ceil(steps ** (1 / depth))
    # The root of a power may come out a little too large.
    if part > 1 and (part - 1) ** depth >= steps:
        part -= 1
    first = math.ceil(steps / part ** (depth - 1))
    return (first, *[part] * (depth - 1))
