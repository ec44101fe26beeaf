"""`debug.inspect_array_sharding`: tell the user how a value is laid out over devices.

For a concrete array that is known at once; for a value of a staged program, when the program has
been compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ... import tree
from ...array import Array
from ...core import DebugEffect, Effects, NoResults, Param, ShapedArray
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.sharding import Sharding
from .pure_callback import check_callback


@final
class InspectSharding(NoResults, RunsOnArrays):
    """Call `callback` with the sharding of the operand, of a whole batch under `vmap`."""

    name = "inspect_sharding"

    def effects(self, **_: Param) -> Effects:
        return frozenset({DebugEffect()})

    def execute(self, x: Array, *, callback: Callable[[Sharding], Any]) -> list[Any]:
        callback(x.sharding)
        return []

    def lower(
        self,
        b: Builder,
        outs: Sequence[ShapedArray],
        x: Value,
        *,
        callback: Callable[[Sharding], Any],
    ) -> list[Value]:
        b.module.inspections.append(callback)
        return []


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the sharding of an array, also inside a compiled program.

    There it is called once for each time the program is compiled, not when it runs.

    Args:
        value: an array or a tree of arrays; the call happens for each.
        callback: called with a `jax.sharding.Sharding`.

    Raises:
        TypeError: `callback` cannot be called.

    Example:
        >>> import morphax as jax
        >>> def f(x):
        ...     jax.debug.inspect_array_sharding(2.0 * x, callback=print)
        ...     return x
        >>> _ = jax.jit(f)(3.0)
        SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    check_callback("jax.debug.inspect_array_sharding", callback)
    for leaf in tree.leaves(value):
        inspect_sharding_p.bind(leaf, callback=callback)


inspect_sharding_p = InspectSharding()
