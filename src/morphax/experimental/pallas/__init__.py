"""`jax.experimental.pallas`: the kernels that come with it, and what else needs no kernel language.

Kernels cannot be written here: XLA compiles for all platforms, and `morphax.ffi.from_c` takes
code for one.  Functions of `ops` have the meaning that they have in JAX, and are compiled by XLA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...control.branches.branching import cond
from ...core import Tracer
from ...lax.reference.ref_indexing import Slice as Slice
from ...lax.reference.ref_indexing import ds as ds
from ...lax.reference.ref_indexing import ds as dslice
from ...util.messages import message

__all__ = ["Slice", "cdiv", "ds", "dslice", "next_power_of_2", "when"]


def cdiv(a: Any, b: Any) -> Any:
    """a / b, rounded up.

    Example:
        >>> from morphax.experimental import pallas as pl
        >>> pl.cdiv(7, 2)
        4
    """
    return (a + b - 1) // b


def next_power_of_2(x: int) -> int:
    """The smallest power of two that is not below `x`.

    Example:
        >>> from morphax.experimental import pallas as pl
        >>> pl.next_power_of_2(5)
        8
    """
    if x < 0:
        raise ValueError(
            message(
                "pallas.next_power_of_2, argument x",
                given=f"{x}",
                expected="an integer that is not negative",
                fix="Pass a size.",
            )
        )
    return 1 << max(x - 1, 0).bit_length()


def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """A decorator that runs the function if the condition holds, for what it does to references.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import pallas as pl
        >>> ref = jax.new_ref(1.0)
        >>> @pl.when(True)
        ... def _():
        ...     ref[...] = 2.0
        >>> ref[...]
        Array(2., dtype=float32, weak_type=True)
    """

    def run(function: Callable[[], None]) -> None:
        if isinstance(condition, Tracer):
            cond(condition, function, lambda: None)
        elif condition:
            function()

    return run
