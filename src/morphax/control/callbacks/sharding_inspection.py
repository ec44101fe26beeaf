"""`debug.inspect_array_sharding`: tell the user how a value is laid out over devices.

For a concrete array that is known at once; for a value of a staged program, when the program has
been compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

from ... import tree
from ...array import Array
from ...core import DebugEffect, Effects, NoResults, Param, ShapedArray
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.sharding import Sharding
from ...util.messages import message
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
        b.module.inspections.append(partial(_tell, callback))
        return []


def _tell(callback: Callable[[Sharding], Any], program: Sharding) -> None:
    """Say how a value of a program lies, given how what is whole on its devices does."""
    if program.num_devices > 1:
        raise ValueError(
            message(
                "jax.debug.inspect_array_sharding in a compiled program",
                given=f"a value of a program on {program.num_devices} devices",
                expected="a program on one device: how the compiler splits values within others "
                "is not known here",
                fix="Return the value from the function, and inspect it outside.",
            )
        )
    callback(program)


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the sharding of an array, also inside a compiled program.

    There it is called once for each time the program is compiled, not when it runs.

    Args:
        value: an array or a tree of arrays; the call happens for each.
        callback: called with a `jax.sharding.Sharding`.

    Raises:
        TypeError: `callback` cannot be called.
        ValueError: in a program on several devices, whose compiler does not tell how values within
            it lie.

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
