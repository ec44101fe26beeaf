"""All-to-all: part number j of the operand of member i becomes part number i of member j's result.

It transposes a matrix of parts, so its transpose is the same exchange with the two axes in each
other's role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from ..core import AxisFlow, BatchAxes, ShapedArray, aval_of, like
from ..core.axis_flow import same_axes
from ..engines.xla.members import communicate, groups_of
from ..engines.xla.stablehlo import Builder, Value
from ..lax.ground.axes import canonical_axis
from ..lax.ground.linear_structure import batched_first, transpose_p
from ..lax.shape.shape_operations import expand_dims, reshape, squeeze
from .axis_names import hashable, joint_size
from .collective import AlongAxes, map_operands
from .gathering import jointly
from .groups import communicating, group_size
from .parts import in_parts, part_size

_WHERE = "lax.all_to_all"


@final
class AllToAll(AlongAxes):
    """Part an axis, exchange the parts, and concatenate them along another.

    Params:
        axis_name: name or names of axes.
        axis_index_groups: positions of the members that communicate, `None` for all.
        split_axis: the axis that is parted.
        concat_axis: the axis along which the parts that arrive are concatenated.
        tiled: what the user asked for; in the equation the axes exist in either case.
    """

    name = "all_to_all"
    axis_params = ("split_axis", "concat_axis")

    def bind(self, *operands: Any, **params: Any) -> Any:
        if "axis_size" not in params:
            size = joint_size(self.axis_names(**params))
            params["axis_size"] = group_size(params["axis_index_groups"], size)
        return super().bind(*operands, **params)

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The number of members is known where the name is."""
        return {name: params[name] for name in sorted(params) if name != "axis_size"}

    def abstract_eval(
        self, x: Any, *, split_axis: int, concat_axis: int, axis_size: int, **_: Any
    ) -> ShapedArray:
        shape = list(x.shape)
        shape[split_axis] = part_size(_WHERE, x.shape, split_axis, axis_size)
        shape[concat_axis] *= axis_size
        return like(x, shape=tuple(shape))

    def transpose(
        self, ct: Any, x: Any, *, split_axis: int, concat_axis: int, **params: Any
    ) -> list[Any]:
        return [self.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)]

    def over_batch(
        self,
        batch: BatchAxes,
        x: Any,
        dim: int | None,
        *,
        split_axis: int,
        concat_axis: int,
        **_: Any,
    ) -> tuple[Any, int]:
        """Who sends becomes a data axis, and which part is sent becomes the batch axis."""
        n = batch.size
        parts = in_parts(batched_first(batch, x, dim), split_axis + 1, n)
        order = [i for i in range(1, parts.aval.ndim) if i != split_axis + 1]
        order.insert(concat_axis, 0)
        exchanged = transpose_p.bind(parts, permutation=(split_axis + 1, *order))
        shape, c = exchanged.aval.shape, concat_axis + 1
        return reshape(exchanged, (*shape[:c], n * shape[c + 1], *shape[c + 2 :])), 0

    def axis_flow(self, x: ShapedArray, *, split_axis: int, concat_axis: int, **_: Any) -> AxisFlow:
        return same_axes(x, whole=(split_axis, concat_axis))

    def over_devices(
        self,
        b: Builder,
        out: Any,
        x: Value,
        groups: list[list[int]],
        *,
        split_axis: int,
        concat_axis: int,
        **_: Any,
    ) -> Value:
        # This one has no choice of numbers: on a channel they are those of devices.
        return communicate(
            b,
            "stablehlo.all_to_all",
            out,
            x,
            split_dimension=f"{split_axis} : i64",
            concat_dimension=f"{concat_axis} : i64",
            split_count=f"{len(groups[0])} : i64",
            replica_groups=groups_of(groups)["replica_groups"],
        )

    def over_several(self, x: Any, names: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return jointly(self, x, names, params)


all_to_all_p = AllToAll()


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Exchange parts of `x` between all members along a named axis.

    With n members, part j of member i goes to member j, which puts it in place i.

    Args:
        x: array, or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        split_axis: the axis that is parted.
        concat_axis: where the parts lie in the result.
        axis_index_groups: lists of positions, which part the members into groups of one size that
            exchange among themselves.
        tiled: part `split_axis`, of a size divisible by n, into n blocks, and concatenate blocks
            along `concat_axis`.  Otherwise `split_axis` has size n and goes away, and an axis of
            size n is made at `concat_axis`.

    Returns:
        Array with as many elements as `x`.

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: the axis cannot be parted so, or the groups do not hold each member once.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> exchange = jax.vmap(lambda x: jax.lax.all_to_all(x, "i", 0, 0), axis_name="i")
        >>> exchange(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    names, groups, parts = communicating(_WHERE, axis_name, axis_index_groups)

    def exchange(leaf: Any) -> Any:
        shape = aval_of(leaf).shape
        split = canonical_axis(f"{_WHERE}, argument split_axis", split_axis, len(shape))
        concat = canonical_axis(f"{_WHERE}, argument concat_axis", concat_axis, len(shape))
        part_size(_WHERE, shape, split, parts, exactly_one=not tiled)
        params = {
            "axis_name": hashable(axis_name),
            "axis_index_groups": groups,
            "axis_size": parts,
            "tiled": tiled,
        }
        if tiled or split == concat:
            return all_to_all_p.bind(leaf, split_axis=split, concat_axis=concat, **params)
        # The new axis is made first; the old one, of size 1 after the exchange, is dropped.
        if split < concat:
            concat += 1
        else:
            split += 1
        spread = expand_dims(leaf, (concat,))
        received = all_to_all_p.bind(spread, split_axis=split, concat_axis=concat, **params)
        return squeeze(received, (split,))

    return map_operands(_WHERE, exchange, x, names)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swap a named axis with an axis of `x` of the same size.

    Args:
        x: array, or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        axis: an axis of `x`, of as many elements as there are members.
        axis_index_groups: lists of positions, which part the members into groups of one size.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> swap = jax.vmap(lambda x: jax.lax.pswapaxes(x, "i", 0), axis_name="i")
        >>> swap(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
