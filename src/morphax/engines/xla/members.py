"""Programs of members: parts of a module that each device of a mesh runs on its own shards.

A module describes what all devices do together.  `member_program` opens a part in which values are
one member's, each operand a shard, and named axes are axes of the mesh; `communicate` writes the
operations by which members tell each other their values.  XLA knows members as numbers of devices
in the program's device assignment, and names of axes as groups of such numbers (`MeshAxes`).

References: the StableHLO specification, "Distribution ops"; Shardy's `sdy.manual_computation`,
https://openxla.org/shardy/sdy_dialect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core.partition_spec import PartitionSpec
from ...util.messages import message
from .annotations import as_typed
from .literals import i64_array, i64_matrix, physical_aval
from .mesh_axes import AxisPositions, MeshAxes
from .regions import region_text

if TYPE_CHECKING:
    from .stablehlo import Builder, Value

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


def position_along(b: Builder, name: Hashable, out: Any) -> Value:
    """The position along an axis of the member that runs the program, a number like `out`."""
    axes = mesh_axes(b, "axis_index")
    one = out.update(shape=(1,))
    if axes.is_partial:
        # The compiler splits this program further, and then there is no number of a device.
        positions = axes.axis_positions(name)
        position = b.hoisted(b.module.positions.setdefault(positions, positions), one)
    else:
        along = axes.positions(name)
        table = b.constant(along, out.update(shape=along.shape))
        number = b.op("stablehlo.partition_id", out.update(dtype=np.dtype(np.uint32)))
        start = b.convert(number, out.dtype)
        position = b.op("stablehlo.dynamic_slice", one, table, start, slice_sizes=i64_array((1,)))
    return b.op("stablehlo.reshape", out, position)


def member_program(
    b: Builder,
    axes: MeshAxes,
    manual: frozenset[Hashable],
    avals: Sequence[Any],
    outs: Sequence[Any],
    specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    operands: Sequence[Value],
    write: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Write what each member does with its shards; the results are those of all, put together.

    Args:
        b: of the block around it, whose values are whole.
        axes: of the mesh.
        manual: those of them along which there are members; over the others the compiler splits
            what a member does.
        avals: of the shards of the operands.
        outs: of the whole results.
        specs: for each operand, over which axes of the mesh it is split, or a sum.
        out_specs: likewise for the results; along axes that one does not name, it must be the same
            for all members.
        operands: whole.
        write: called with the builder of a member and its values, gives the results of a member.
    """
    if b.module.num_devices != (count := math.prod(axes.sizes)):
        raise ValueError(
            message(
                "compiling a program of members",
                given=f"a mesh of {count} devices, in a program that runs on "
                f"{b.module.num_devices}",
                expected="a program that runs on the devices of the mesh",
                fix="Put the operands of the program on these devices with jax.device_put.",
            )
        )
    axes = axes.within(b.axes, manual)
    if count == 1:
        # One device is not partitioned: the shards are all there is.
        alone = type(b)(b.module, b, axes)
        own = write(alone, *operands)
        b.lines += alone.lines
        return list(own)
    mesh = b.module.mesh_name(axes.text())
    # Values of the block around are whole, and of no use inside: constants are written again.
    inner = type(b)(b.module, axes=axes)
    operands = [_as_sum(b, x, spec) for x, spec in zip(operands, specs, strict=True)]
    arguments = [inner.new_value(aval) for aval in avals]
    results = write(inner, *arguments)
    further = inner.hoisted_operands()
    inner.ops("sdy.return", (), *results)
    region = region_text(inner.lines, [*arguments, *[argument for _, argument in further]])
    outside = [_from_outside(b, value, argument.aval, manual) for value, argument in further]

    def shardings(values: Sequence[Value], given: Sequence[PartitionSpec]) -> str:
        # Keys have further axes in a module, which are never split.
        ranks = [len(physical_aval(value.aval).shape) for value in values]
        texts = [
            axes.sharding(mesh, spec.splits(n), axes.free(value), unreduced=spec.unreduced)
            for value, n, spec in zip(values, ranks, given, strict=True)
        ]
        return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"

    values = [*operands, *[value for value, _ in outside]]
    in_specs = [*specs, *[spec for _, spec in outside]]
    names = ", ".join([f'"{axes.names.index(n)}"' for n in axes.names if n in manual])
    return b.ops(
        "sdy.manual_computation",
        outs,
        *values,
        regions=[region],
        in_shardings=shardings(values, in_specs),
        out_shardings=shardings(results, out_specs),
        manual_axes=f"#sdy<manual_axes{{{names}}}>",
    )


def _as_sum(b: Builder, x: Value, spec: PartitionSpec) -> Value:
    """An operand whose summands members take, with its type said in front of their program.

    Partitioners of jaxlib from 0.11 on refuse members that sum what comes as an argument.
    """
    return as_typed(b, x.aval, x) if spec.unreduced else x


def _from_outside(
    b: Builder, value: Any, aval: Any, manual: frozenset[Hashable]
) -> tuple[Value, PartitionSpec]:
    """What a program of members takes besides its operands, and how it is split."""
    if type(value) is not AxisPositions:
        return b.closed_over(value, aval), PartitionSpec()
    if value.name not in manual:
        return b.hoisted(value, aval), PartitionSpec()
    positions = np.arange(value.size, dtype=np.int32)
    return b.constant(positions, aval.update(shape=(value.size,))), PartitionSpec(value.name)
