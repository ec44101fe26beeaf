"""`jax.experimental.serialize_executable`: compiled functions as bytes, for other processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..control.jit.compiled import Compiled, CompiledProgram
from ..control.jit.stage_info import ArgInfo
from ..engines.xla import saved_executable
from ..engines.xla.executable import Executable
from ..runtime.devices import devices
from ..tree import PyTreeDef
from ..util.messages import described, message

__all__ = ["deserialize_and_load", "serialize"]


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled function as bytes, and the structures of its arguments and result.

    Args:
        compiled: what ``jit(f).lower(...).compile()`` gives.

    Returns:
        The three arguments of `deserialize_and_load`.

    Raises:
        TypeError: if it is no compiled function.
        ValueError: if it calls Python or runs on several devices.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import serialize_executable
        >>> compiled = jax.jit(lambda x: 2 * x).lower(1.0).compile()
        >>> saved = serialize_executable.serialize(compiled)
        >>> serialize_executable.deserialize_and_load(*saved)(3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    plan = getattr(compiled, "_plan", None)
    if isinstance(compiled, Compiled) and not isinstance(plan, Executable):
        plan = compiled.plan_by_xla()
    if not isinstance(plan, Executable):
        raise TypeError(
            message(
                "serialize_executable.serialize, argument compiled",
                given=described(compiled),
                expected="a function that XLA has compiled",
                fix="Write serialize(jax.jit(f).lower(*args).compile()).",
            )
        )
    return saved_executable.saved(plan), compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: Any = None,
    execution_devices: Sequence[Any] | None = None,
) -> Compiled:
    """The compiled function that `serialize` has made into bytes.

    The bytes hold machine code, which runs when the function is called: load only those that you
    trust.  Reading them calls no other code, and damage is found by a digest.

    Args:
        serialized: the bytes.
        in_tree, out_tree: structures of arguments and result, as `serialize` returns them.
        backend: the platform it runs on, by name, or its client.
        execution_devices: the device it runs on, as a sequence of one.

    Raises:
        pickle.UnpicklingError: if the bytes are no executable, or damaged.
        ValueError: if it was compiled by another version, for another machine, or the structures or
            the devices do not fit.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import serialize_executable
        >>> compiled = jax.jit(lambda x: 2 * x).lower(1.0).compile()
        >>> parts = serialize_executable.serialize(compiled)
        >>> again = serialize_executable.deserialize_and_load(*parts)
        >>> again(21.0)
        Array(42., dtype=float32, weak_type=True)
    """
    where = "serialize_executable.deserialize_and_load"
    if execution_devices is None:
        platform = getattr(backend, "platform", backend)
        execution_devices = devices(platform)[:1]
    if len(execution_devices) != 1:
        raise ValueError(
            message(
                f"{where}, argument execution_devices",
                given=f"{len(execution_devices)} devices",
                expected="one, as the program was compiled for",
                fix="Pass [device].",
            )
        )
    plan = saved_executable.loaded(serialized, execution_devices[0])
    given = in_tree.num_leaves, out_tree.num_leaves
    if given != (len(plan.in_avals), len(plan.out_avals)):
        raise ValueError(
            message(
                f"{where}, arguments in_tree and out_tree",
                given=f"{given[0]} arguments and {given[1]} results",
                expected=f"{len(plan.in_avals)} and {len(plan.out_avals)}, as in the program",
                fix="Pass the structures that serialize has returned.",
            )
        )
    names = [f"number {i}" for i in range(given[0])]
    program = plan.program
    donated = set(program.donated)
    infos = [ArgInfo(aval, i in donated) for i, aval in enumerate(program.in_avals)]

    def call_observed(leaves: Sequence[Any]) -> Any:
        # Operations that could be watched one by one are gone.
        return compiled.apply(leaves)

    ready = CompiledProgram(program.info.function, plan, names, call_observed)
    compiled = Compiled(ready, [], in_tree.unflatten(infos), out_tree)
    return compiled
