"""Programs of members: parts of a module that each device of a mesh runs on its own shards.

A module describes what all devices do together.  `member_program` opens a part in which values are
one member's, each operand a shard, and named axes are axes of the mesh; `communicate` writes the
operations by which members tell each other their values.  XLA knows members as numbers of devices
in the program's device assignment, and names of axes as groups of such numbers (`MeshAxes`).

References: the StableHLO specification, "Distribution ops"; Shardy's `sdy.manual_computation`,
https://openxla.org/shardy/sdy_dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from ...util.messages import message
from .mesh_axes import MeshAxes
from .stablehlo import Builder, Value, i64_matrix

# The kind of channel over which devices talk to devices.
_BETWEEN_DEVICES: Final = 1


def mesh_axes(b: Builder, name: str) -> MeshAxes:
    """The axes over which the members of a block communicate.

    Raises:
        NameError: the block is no program of members; `name` is the operation that needs one.
    """
    if b.axes is not None:
        return b.axes
    raise NameError(
        message(
            f"compiling {name}",
            given="a program without members, which communicate",
            expected="an axis that vmap maps, or one of a mesh",
            fix="Map the function with vmap(..., axis_name=...).",
        )
    )


def communicate(
    b: Builder,
    name: str,
    out: Any,
    x: Value,
    *,
    regions: Sequence[str] = (),
    **attributes: str,
) -> Value:
    """Write an operation between members, on a channel of its own.

    Args:
        b: of the block.
        name: of StableHLO's operation.
        out: the aval of its result.
        x: its operand.
        regions: texts from `Builder.region`.
        **attributes: MLIR text; `groups_of` gives that of ``replica_groups``.
    """
    handle = next(b.module.channels)
    channel = f"#stablehlo.channel_handle<handle = {handle}, type = {_BETWEEN_DEVICES}>"
    return b.op(name, out, x, regions=regions, channel_handle=channel, **attributes)


def groups_of(groups: Sequence[Sequence[int]]) -> dict[str, str]:
    """The attributes that say which devices communicate."""
    return {"replica_groups": i64_matrix(groups), "use_global_device_ids": "unit"}


def device_number(b: Builder, aval: Any) -> Value:
    """The number of the device that runs the program, of the type of `aval`."""
    number = b.op("stablehlo.partition_id", aval.update(dtype=np.dtype(np.uint32)))
    return b.convert(number, aval.dtype)


Spec = Sequence[Sequence[Hashable]]


def member_program(
    b: Builder,
    axes: MeshAxes,
    avals: Sequence[Any],
    outs: Sequence[Any],
    specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    operands: Sequence[Value],
    write: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Write what each member does with its shards; the results are those of all, put together.

    Args:
        b: of the block around it, whose values are whole.
        axes: of the mesh; all of them are the members' own.
        avals: of the shards of the operands.
        outs: of the whole results.
        specs: for each operand, over which axes of the mesh each of its axes is split.
        out_specs: likewise for the results; along axes that one does not name, it must be the same
            for all members.
        operands: whole.
        write: called with the builder of a member and its values, gives the results of a member.
    """
    if all([size == 1 for size in axes.sizes]):
        # One device is not partitioned: the shards are all there is.
        alone = Builder(b.module, b, axes)
        own = write(alone, *operands)
        b.lines += alone.lines
        return list(own)
    mesh = b.module.mesh_name(axes.text())
    # Values of the block around are whole, and of no use inside: constants are written again.
    inner = Builder(b.module, axes=axes)
    arguments = [inner.new_value(aval) for aval in avals]
    results = write(inner, *arguments)
    large = inner.large_constants()
    inner.ops("sdy.return", (), *results)
    arguments += [argument for _, argument in large]
    region = inner.as_region(arguments)
    operands = [*operands, *[b.closed_over(value, argument.aval) for value, argument in large]]
    whole = [((),) * len(argument.aval.shape) for _, argument in large]

    def shardings(given: Sequence[Spec]) -> str:
        texts = [axes.sharding(mesh, spec) for spec in given]
        return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"

    names = ", ".join([f'"{i}"' for i in range(len(axes.names))])
    return b.ops(
        "sdy.manual_computation",
        outs,
        *operands,
        regions=[region],
        in_shardings=shardings([*specs, *whole]),
        out_shardings=shardings(out_specs),
        manual_axes=f"#sdy<manual_axes{{{names}}}>",
    )
