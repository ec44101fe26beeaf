"""Gathering: every member gets the values of all; and its dual, the sum that is scattered.

With members i and their values xᵢ, `all_gather` gives each the stack of all xᵢ, and `psum_scatter`
gives member j part number j of Σᵢ xᵢ.  Each is the transpose of the other.
"""

from __future__ import annotations

from typing import Any, final

from ..core import AxisFlow, BatchAxes, ShapedArray, aval_of, like
from ..core.axes import all_in_types
from ..core.axis_flow import same_axes
from ..engines.xla.members import communicate, groups_of
from ..engines.xla.stablehlo import Builder, Value
from ..lax.ground.axes import canonical_axis
from ..lax.ground.linear_structure import batched_first, moved_axis
from ..lax.ground.monoids import ADD
from ..lax.indexing.dynamic_slicing import dynamic_index_in_dim
from ..lax.shape.shape_operations import reshape
from ..transforms.vmap import vmap
from ..util.messages import message
from ..util.records import dataclass
from .all_gathering import AllGathering
from .between_devices import combining, gathered_shape
from .collective import AlongAxes, Collective, batch_sum, map_operands
from .groups import communicating
from .invariant_gathering import all_gather_invariant_p
from .parts import in_parts, part_size
from .positions import axis_index

_TO = ("varying", "invarying", "reduced")


def jointly(primitive: Collective, x: Any, names: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A collective over several axes, as one over their joint axis.

    Each member gathers the operands of all, does what all do, and takes its own result.  Under
    `vmap` that costs no more than the collective itself: the gathered operand is the batch.

    Args:
        primitive: the collective.
        x: operand of this member.
        names: of the axes, of which the first counts slowest.
        params: of the collective.
    """
    joint = JointAxis(names)
    everything = all_gather(x, names)
    renamed = params | {primitive.names_param: (joint,)}
    results = vmap(lambda m: primitive.bind(m, **renamed), axis_name=joint)(everything)
    return dynamic_index_in_dim(results, axis_index(names), keepdims=False)


@final
@dataclass(frozen=True, slots=True)
class JointAxis:
    """The name of the axis that several axes make together."""

    names: tuple[Any, ...]


@final
class AllGather(AllGathering):
    """The operands of all members, stacked or concatenated.

    Params:
        axis_index_groups: positions of the members that communicate, `None` for all; besides those
            of `AllGathering`.
    """

    name = "all_gather"

    def transpose(self, ct: Any, x: Any, *, all_gather_dimension: int, **params: Any) -> list[Any]:
        return [reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]

    def over_batch(
        self,
        batch: BatchAxes,
        x: Any,
        dim: int | None,
        *,
        all_gather_dimension: int,
        tiled: bool,
        **_: Any,
    ) -> tuple[Any, None]:
        return _placed(batched_first(batch, x, dim), all_gather_dimension, tiled), None

    def over_several(self, x: Any, names: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if params["axis_index_groups"] is not None:
            return jointly(self, x, names, params)
        shape = aval_of(x).shape
        for name in reversed(names):
            x = all_gather(x, name)
        x = reshape(x, (params["axis_size"], *shape))
        return _placed(x, params["all_gather_dimension"], params["tiled"])


@final
class ReduceScatter(AlongAxes):
    """The sum over all members, of which each gets a part.

    Params:
        axis_name: names of the axes.
        axis_index_groups: positions of the members that communicate, `None` for all.
        axis_size: how many members communicate.
        tiled: whether the parts lie along an axis that the operand has, one after another, or
            along an axis of their own.
        scatter_dimension: that axis.
    """

    name = "reduce_scatter"
    axis_params = ("scatter_dimension",)

    def abstract_eval(
        self, x: Any, *, scatter_dimension: int, axis_size: int, tiled: bool, **_: Any
    ) -> ShapedArray:
        return like(x, shape=_scattered(x.shape, scatter_dimension, axis_size, tiled))

    def transpose(self, ct: Any, x: Any, *, scatter_dimension: int, **params: Any) -> list[Any]:
        return [all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]

    def over_batch(
        self,
        batch: BatchAxes,
        x: Any,
        dim: int | None,
        *,
        scatter_dimension: int,
        tiled: bool,
        **_: Any,
    ) -> tuple[Any, int]:
        total = batch_sum(batch, x, dim)
        if tiled:
            total = in_parts(total, scatter_dimension, batch.size)
        return total, scatter_dimension

    def axis_flow(
        self, x: ShapedArray, *, scatter_dimension: int, tiled: bool, **_: Any
    ) -> AxisFlow:
        if tiled:
            return same_axes(x, whole=(scatter_dimension,))
        labels = tuple([None if i == scatter_dimension else i for i in range(x.ndim)])
        return AxisFlow((labels,), (tuple([i for i in labels if i is not None]),))

    def over_devices(
        self,
        b: Builder,
        out: Any,
        x: Value,
        groups: list[list[int]],
        *,
        scatter_dimension: int,
        tiled: bool,
        **_: Any,
    ) -> Value:
        shape, d = out.shape, scatter_dimension
        part = out if tiled else out.update(shape=(*shape[:d], 1, *shape[d:]))
        scattered = communicate(
            b,
            "stablehlo.reduce_scatter",
            part,
            x,
            regions=[combining(b, ADD, out)],
            scatter_dimension=f"{d} : i64",
            **groups_of(groups),
        )
        return scattered if tiled else b.op("stablehlo.reshape", out, scattered)

    def over_several(self, x: Any, names: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return jointly(self, x, names, params)


all_gather_p = AllGather()
reduce_scatter_p = ReduceScatter()


def _placed(members: Any, dimension: int, tiled: bool) -> Any:
    """Members along axis 0, moved to `dimension`; if tiled, concatenated along it."""
    moved = moved_axis(members, 0, dimension)
    if not tiled:
        return moved
    n, *shape = members.aval.shape
    return reshape(moved, gathered_shape(tuple(shape), dimension, n, tiled))


def _scattered(shape: tuple[int, ...], dimension: int, size: int, tiled: bool) -> tuple[int, ...]:
    part = (part_size("lax.psum_scatter", shape, dimension, size),) if tiled else ()
    return (*shape[:dimension], *part, *shape[dimension + 1 :])


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """The values of `x` of all members along a named axis, together.

    Args:
        x: array (...), or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        axis_index_groups: lists of positions, which part the members into groups of one size;
            each member gets the values of its group.
        axis: along which axis of the result the members lie.
        tiled: concatenate along an axis that `x` has, instead of stacking along a new one.
        to: ``"varying"`` or ``"invarying"``: whether the type of the result says that it is the
            same for all members along axes of a mesh.  Under `vmap` it is in either case.
            ``"reduced"`` is ``"varying"`` here: the cotangent is summed and scattered.

    Returns:
        Array (n, ...) for n members, its first axis moved to `axis`.

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: there is no such `axis`, or the groups do not hold each member once.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> gather = jax.vmap(lambda x: jax.lax.all_gather(x, "i"), axis_name="i", out_axes=None)
        >>> gather(jnp.array([1.0, 2.0]))
        Array([1., 2.], dtype=float32)
    """
    where = "lax.all_gather"
    if to not in _TO:
        raise ValueError(
            message(
                f"{where}, argument to",
                given=f"{to!r}",
                expected=" or ".join(map(repr, _TO)),
                fix="Leave it out: members along an axis of vmap differ unless they are equal.",
            )
        )
    names, groups, count = communicating(where, axis_name, axis_index_groups)
    if not names:
        return map_operands(where, lambda leaf: leaf, x)
    is_same_for_all = to == "invarying" and groups is None and all_in_types(names)

    def gather(leaf: Any) -> Any:
        ndim = aval_of(leaf).ndim + (not tiled)
        params = {
            "all_gather_dimension": canonical_axis(f"{where}, argument axis", axis, ndim),
            "axis_name": names,
            "axis_size": count,
            "tiled": tiled,
        }
        if is_same_for_all:
            return all_gather_invariant_p.bind(leaf, **params)
        return all_gather_p.bind(leaf, axis_index_groups=groups, **params)

    return map_operands(where, gather, x, names)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """The sum of `x` over all members along a named axis, of which each member gets a part.

    Args:
        x: array (..., d, ...), or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        scatter_dimension: the axis of size d that is parted.
        axis_index_groups: lists of positions, which part the members into groups of one size;
            each group has a sum of its own.
        tiled: give each member d / n consecutive elements, instead of one of ``d = n``.

    Returns:
        For n members, array (..., d / n, ...) if tiled, else array (..., ...).

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: the axis cannot be parted so, or the groups do not hold each member once.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
        >>> jax.vmap(lambda x: jax.lax.psum_scatter(x, "i"), axis_name="i")(x)
        Array([4., 6.], dtype=float32)
    """
    where = "lax.psum_scatter"
    names, groups, parts = communicating(where, axis_name, axis_index_groups)
    if not names:
        return map_operands(where, lambda leaf: leaf, x)

    def scatter(leaf: Any) -> Any:
        shape = aval_of(leaf).shape
        place = f"{where}, argument scatter_dimension"
        dimension = canonical_axis(place, scatter_dimension, len(shape))
        part_size(where, shape, dimension, parts, exactly_one=not tiled)
        return reduce_scatter_p.bind(
            leaf,
            axis_index_groups=groups,
            axis_name=names,
            axis_size=parts,
            scatter_dimension=dimension,
            tiled=tiled,
        )

    return map_operands(where, scatter, x, names)
