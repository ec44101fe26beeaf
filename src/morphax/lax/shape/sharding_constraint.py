"""`with_sharding_constraint`: the identity, whose result lies as a sharding says.

Outside of programs it moves the array there at once.  A compiled program runs where its operands
are, and a constraint cannot send it elsewhere: the sharding must be one of the program's devices.
On one device nothing is left to be said then; for several, Shardy is told.

Reference: Shardy's `sdy.sharding_constraint`, https://openxla.org/shardy/sdy_dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

from ... import tree
from ...array import Array
from ...core import (
    AutoLayout,
    AxisFlow,
    BatchAxes,
    Format,
    Layout,
    Primitive,
    ShapedArray,
    aval_of,
    like,
    same_axes,
)
from ...core.partition_spec import PartitionSpec
from ...engines.xla.annotations import sharding_attribute
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.current_mesh import get_abstract_mesh, sharding_of_spec, with_devices
from ...runtime.named_sharding import NamedSharding
from ...runtime.sharding import Sharding
from ...util.messages import described, message
from .layout_constraint import batched_layout, constrained, in_memory, with_layout_constraint

_WHERE = "lax.with_sharding_constraint"


@final
class ShardingConstraint(Primitive):
    """The operand, laid out as a sharding says.

    Params:
        sharding: of the result.
        layout: a `Layout`, or `None` if the order of axes in memory is left to the compiler.
        context_mesh: the mesh that is set where the constraint is written.
        unconstrained_dims: axes of which the sharding says nothing: those of batches.
    """

    name = "sharding_constraint"
    linear = True

    def abstract_eval(self, x: Any, **_: Any) -> ShapedArray:
        return like(x)

    def axis_flow(self, x: Any, **_: Any) -> AxisFlow:
        return same_axes(x)

    def runs_on(self, *, sharding: Sharding, **_: Any) -> list[Sharding]:
        return [sharding]

    def execute(self, x: Array, *, sharding: Sharding, layout: Layout | None, **_: Any) -> Array:
        if x.committed and x.sharding.device_set != sharding.device_set:
            raise ValueError(
                message(
                    f"{_WHERE}, argument shardings",
                    given=f"{sharding!r} for an array committed to {x.sharding!r}",
                    expected="a sharding over the devices that the array is committed to",
                    fix="Move the array to other devices with jax.device_put.",
                )
            )
        result = sharding.distribute(x)
        return result if layout is None else in_memory(result, layout)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return x

    def lower(
        self,
        b: Builder,
        out: Any,
        x: Value,
        *,
        sharding: Sharding,
        layout: Layout | None,
        unconstrained_dims: frozenset[int],
        **_: Any,
    ) -> Value:
        b.module.inspections.append(partial(_check_program, sharding))
        if sharding.num_devices > 1:
            name = b.module.mesh_name
            text = sharding_attribute(sharding, len(out.shape), name, unconstrained_dims)
            x = b.op("sdy.sharding_constraint", out, x, sharding=text)
        return x if layout is None else constrained(b, out, x, layout)

    def transpose(self, ct: Any, x: Any, **params: Any) -> list[Any]:
        return [self.bind(ct, **params)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        sharding: Sharding,
        layout: Layout | None,
        unconstrained_dims: frozenset[int],
        **rest: Any,
    ) -> tuple[Any, int]:
        (x,), (dim,) = operands, dims
        rest["layout"] = layout and batched_layout(layout, dim)
        if isinstance(sharding, NamedSharding):
            entries = (*sharding.spec, *[None] * (x.ndim - 1 - len(sharding.spec)))
            along = axes.spmd_names or (() if axes.sharding is None else axes.sharding.spec[0])
            sharding = sharding.update(spec=PartitionSpec(*entries[:dim], along, *entries[dim:]))
        elif not sharding.is_fully_replicated:
            raise ValueError(
                message(
                    f"batching (vmap) of {_WHERE}, argument shardings",
                    given=f"{sharding!r}, which splits the axes of the members",
                    expected="a sharding that says how the batch axis lies too, or none split",
                    fix="Constrain the whole batch, outside of vmap.",
                )
            )
        shifted = {axis + (axis >= dim) for axis in unconstrained_dims}
        free = frozenset(shifted if axes.spmd_names else {dim, *shifted})
        return self.bind(x, sharding=sharding, unconstrained_dims=free, **rest), dim


def _check_program(sharding: Sharding, program: Sharding) -> None:
    """Raise `ValueError` unless values of a program can lie as `sharding` says.

    Args:
        sharding: that a constraint asks for.
        program: of what each device that runs the program holds whole.
    """
    if sharding.device_assignment == program.device_assignment and sharding.own_memory is sharding:
        return
    raise ValueError(
        message(
            f"{_WHERE} in a compiled program, argument shardings",
            given=f"{sharding!r}, where the program runs on {list(program.device_assignment)}",
            expected="a sharding over the devices of the program, in their order, in their default "
            "memory",
            fix="Put the operands of the program on these devices with jax.device_put.",
        )
    )


sharding_constraint_p = ShardingConstraint()


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`x`, whose arrays lie as `shardings` says; also inside a compiled program.

    Outside of programs the results are committed to their shardings.

    Args:
        x: an array, a number, or a tree of them.
        shardings: a `jax.sharding.Sharding`, a `jax.P` over the current mesh, or a `Format`, which
            is a sharding and an order of elements in memory; or a tree of them that is a prefix of
            `x`.

    Returns:
        A tree like `x` of arrays with the same shapes and dtypes.

    Raises:
        TypeError: if a leaf of `shardings` is no sharding.
        RuntimeError: if one is a `jax.P`, and there is no current mesh.
        ValueError: if one is `None`, or does not fit the shape or the devices of its array.

    Example:
        >>> import morphax as jax
        >>> here = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
        >>> jax.jit(lambda x: jax.lax.with_sharding_constraint(2 * x, here))(1.0)
        Array(2., dtype=float32, weak_type=True)
    """
    leaves, structure = tree.flatten(x)
    wanted = tree.broadcast_prefix(
        shardings,
        x,
        lambda value: value is None,
        where=_WHERE,
        prefix_name="shardings",
        full_name="x",
    )
    return structure.unflatten(
        [_constrained(leaf, *_taken(s, leaf)) for leaf, s in zip(leaves, wanted, strict=True)]
    )


def _constrained(x: Any, sharding: Any, free: frozenset[int], layout: Layout | None) -> Any:
    _check_sharding(sharding, x)
    _check_free(sharding)
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        if sharding.mesh.are_all_axes_explicit:
            checked = _checked(x, sharding, free)
            return checked if layout is None else with_layout_constraint(checked, layout)
        sharding = _beside_types(x, sharding)
    return sharding_constraint_p.bind(
        x,
        sharding=sharding,
        layout=layout,
        context_mesh=get_abstract_mesh(),
        unconstrained_dims=free,
    )


def _check_free(sharding: Sharding) -> None:
    """Raise `ValueError` if the sharding speaks of axes along which members run the program."""
    members = frozenset(get_abstract_mesh().manual_axes)
    if not members or not isinstance(sharding, NamedSharding):
        return
    named = members & {name for split in sharding.splits(len(sharding.spec)) for name in split}
    if named or members == frozenset(sharding.mesh.axis_names):
        raise ValueError(
            message(
                f"{_WHERE}, argument shardings",
                given=f"{sharding!r}, in a program of members along {sorted(map(str, members))}",
                expected="a sharding over axes of the mesh along which there are no members",
                fix="Leave the constraint out: a member has its shard whole.",
            )
        )


def _checked(x: Any, sharding: NamedSharding, free: frozenset[int]) -> Any:
    """`x`, if its type says that it is split so: where all axes are explicit, types decide."""
    aval = aval_of(x)
    given = [()] * aval.ndim if aval.split is None else aval.split.spec
    pairs = enumerate(zip(given, sharding.splits(aval.ndim), strict=True))
    if all([own == wanted or axis in free for axis, (own, wanted) in pairs]):
        return x
    raise AssertionError(
        message(
            f"{_WHERE}, argument shardings",
            given=f"{sharding.spec} for {aval.str_short()}",
            expected="what the type of the array says: all axes of the mesh are explicit, and over "
            "them a constraint only states what is so already",
            fix="Split it anew with jax.sharding.reshard.",
        )
    )


def _beside_types(x: Any, sharding: NamedSharding) -> NamedSharding:
    """A constraint over axes of which types do not speak, beside what they say of the others."""
    aval, mesh = aval_of(x), sharding.mesh
    wanted = sharding.splits(aval.ndim)
    for name in [name for names in wanted for name in names]:
        if name in mesh.explicit_axes:
            raise ValueError(
                message(
                    f"{_WHERE}, argument shardings",
                    given=f"{sharding.spec}, where {name!r} is an explicit axis of {mesh}",
                    expected="axes of the type Auto: over the others, types decide",
                    fix="Use jax.sharding.reshard for explicit axes.",
                )
            )
    typed = [()] * aval.ndim if aval.split is None else aval.split.spec
    spec = [(*names, *more) for names, more in zip(typed, wanted, strict=True)]
    return sharding.update(spec=sharding.spec.update(spec))


def _taken(sharding: Any, x: Any) -> tuple[Any, frozenset[int], Layout | None]:
    """A sharding as asked for, the axes that it leaves to the compiler, and a layout in memory."""
    where, layout = f"{_WHERE}, argument shardings", None
    if isinstance(sharding, Format) and not isinstance(sharding.layout, AutoLayout):
        if sharding.layout is not None:
            layout = sharding.layout
            layout.order(where, aval_of(x).ndim)
        sharding = sharding.sharding
    if isinstance(sharding, PartitionSpec):
        sharding = sharding_of_spec(sharding, where, RuntimeError)
    if not isinstance(sharding, NamedSharding):
        return sharding, frozenset(), layout
    sharding = with_devices(sharding)
    open_entry = PartitionSpec.UNCONSTRAINED
    free = frozenset([i for i, entry in enumerate(sharding.spec) if entry is open_entry])
    if not free:
        return sharding, free, layout
    said = [None if i in free else entry for i, entry in enumerate(sharding.spec)]
    return sharding.update(spec=sharding.spec.update(said)), free, layout


def _check_sharding(sharding: Any, x: Any) -> None:
    if not isinstance(sharding, Sharding):
        raise (ValueError if sharding is None else TypeError)(
            message(
                f"{_WHERE}, argument shardings",
                given=described(sharding),
                expected="a jax.sharding.Sharding for each array",
                fix="Pass, for instance, jax.sharding.SingleDeviceSharding(jax.devices()[0]).",
            )
        )
    # A sharding refuses shapes that it cannot split.
    sharding.shard_shape(aval_of(x).shape)
