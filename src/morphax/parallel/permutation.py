"""Members that pass their values on: permutations, and the broadcast of one member's value.

A permutation is a list of pairs (source, destination).  Members to whom nobody sends get zeros, so
the transpose, which sends every cotangent back, is the list with all pairs turned round.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..core import BatchAxes
from ..engines.xla.members import communicate
from ..engines.xla.stablehlo import Builder, Value, i64_matrix
from ..lax.elementwise.comparison import eq
from ..lax.elementwise.selection import select
from ..lax.ground.axes import integer, integer_pairs
from ..lax.ground.linear_structure import batched_first, zeros
from ..lax.shape.slicing import index_in_dim, slice_p
from ..util.messages import message
from .axis_names import hashable, joint_size, named_axes
from .between_devices import gathered_by_devices
from .collective import Collective, map_operands
from .gathering import jointly
from .groups import rows
from .positions import axis_index
from .reductions import psum

Pairs = tuple[tuple[int, int], ...]


class Passing(Collective):
    """Operations whose result has the type of the operand."""

    def abstract_eval(self, x: Any, **_: Any) -> Any:
        return x

    def batch(self, batch: BatchAxes, operands: Any, dims: Any, **params: Any) -> tuple[Any, int]:
        return self.bind(*operands, **params), dims[0]

    def over_several(self, x: Any, names: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return jointly(self, x, names, params)


@final
class PPermute(Passing):
    """Send values from member to member.

    Params:
        axis_name: names of the axes.
        perm: pairs (source, destination).
    """

    name = "ppermute"

    def transpose(self, ct: Any, x: Any, *, perm: Pairs, axis_name: Any) -> list[Any]:
        back = tuple([(destination, source) for source, destination in perm])
        return [self.bind(ct, axis_name=axis_name, perm=back)]

    def over_devices(
        self, b: Builder, out: Any, x: Value, groups: list[list[int]], *, perm: Pairs, **_: Any
    ) -> Value:
        pairs = [(group[source], group[to]) for group in groups for source, to in perm]
        if not pairs:
            return b.full(0, out)
        attributes = {"source_target_pairs": i64_matrix(pairs)}
        return communicate(b, "stablehlo.collective_permute", out, x, **attributes)

    def over_batch(
        self, batch: BatchAxes, x: Any, dim: int | None, *, perm: Pairs, **_: Any
    ) -> tuple[Any, int]:
        sources = np.full(batch.size, batch.size)
        for source, destination in perm:
            sources[destination] = source
        return rows(batched_first(batch, x, dim), sources), 0


@final
class PBroadcast(Passing):
    """The value of member `source`, for all.

    Params:
        axis_name: name or names of axes.
        source: position of a member.
    """

    name = "pbroadcast"

    def transpose(self, ct: Any, x: Any, *, source: int, axis_name: Any) -> list[Any]:
        total = psum(ct, axis_name)
        here = eq(axis_index(axis_name), np.int32(source))
        return [select(here, total, zeros(total.aval))]

    def over_devices(
        self, b: Builder, out: Any, x: Value, groups: list[list[int]], *, source: int, **_: Any
    ) -> Value:
        members = gathered_by_devices(b, x, groups, 0)
        starts, ends = (source, *[0] * out.ndim), (source + 1, *out.shape)
        one = slice_p.lower(
            b,
            members.aval.update(shape=(1, *out.shape)),
            members,
            start_indices=starts,
            limit_indices=ends,
            strides=None,
        )
        return b.op("stablehlo.reshape", out, one)

    def over_batch(
        self, batch: BatchAxes, x: Any, dim: int | None, *, source: int, **_: Any
    ) -> tuple[Any, None]:
        return (x if dim is None else index_in_dim(x, source, dim, keepdims=False)), None


ppermute_p = PPermute()
pbroadcast_p = PBroadcast()


def ppermute(x: Any, axis_name: Any, perm: Any) -> Any:
    """Send `x` from member to member along a named axis.

    Args:
        x: array, or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        perm: pairs (source, destination); nobody sends twice or receives twice.

    Returns:
        What arrives: zeros for members that are no destination.

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: a pair names no member, or a member sends or receives twice.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> shift = jax.vmap(lambda x: jax.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")
        >>> shift(jnp.array([5.0, 6.0, 7.0]))
        Array([0., 5., 6.], dtype=float32)
    """
    where = "lax.ppermute"
    names = named_axes(where, axis_name)
    pairs = checked_pairs(where, perm, joint_size(names))
    params = {"axis_name": names, "perm": pairs}
    return map_operands(where, lambda leaf: ppermute_p.bind(leaf, **params), x, names)


def pshuffle(x: Any, axis_name: Any, perm: Any) -> Any:
    """The values of `x` in another order: member i gets that of member ``perm[i]``.

    Args:
        x: array, or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        perm: the position of each member once.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> turn = jax.vmap(lambda x: jax.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")
        >>> turn(jnp.array([5.0, 6.0, 7.0]))
        Array([7., 5., 6.], dtype=float32)
    """
    where = "lax.pshuffle"
    size = joint_size(named_axes(where, axis_name))
    sources = [integer(f"{where}, argument perm", source) for source in perm]
    if sorted(sources) != list(range(size)):
        raise ValueError(
            message(
                f"{where}, argument perm",
                given=f"{perm!r} for an axis of size {size}",
                expected=f"each of 0 … {size - 1} once",
                fix="List where each member's value comes from.",
            )
        )
    return ppermute(x, axis_name, [(source, i) for i, source in enumerate(sources)])


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The value of `x` of one member along a named axis, for all members.

    Args:
        x: array, or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        source: position of the member.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> first = jax.vmap(lambda x: jax.lax.pbroadcast(x, "i", 0), axis_name="i")
        >>> first(jnp.array([5.0, 6.0, 7.0]))
        Array([5., 5., 5.], dtype=float32)
    """
    where = "lax.pbroadcast"
    names = named_axes(where, axis_name)
    size = joint_size(names)
    position = integer(f"{where}, argument source", source)
    if not 0 <= position < size:
        raise ValueError(
            message(
                f"{where}, argument source",
                given=f"{source!r} for an axis of size {size}",
                expected=f"a position in [0, {size})",
                fix="Name a member of the axis.",
            )
        )
    params = {"axis_name": hashable(axis_name), "source": position}
    return map_operands(where, lambda leaf: pbroadcast_p.bind(leaf, **params), x, names)


def checked_pairs(where: str, perm: Any, size: int) -> Pairs:
    """Pairs of positions of `size` members; nobody sends twice or receives twice."""
    pairs = tuple(integer_pairs(f"{where}, argument perm", perm))
    for side, what in enumerate(("source", "destination")):
        positions = [pair[side] for pair in pairs]
        if len(set(positions)) != len(positions) or not set(positions) <= set(range(size)):
            raise ValueError(
                message(
                    f"{where}, argument perm",
                    given=f"the {what}s {positions} for an axis of size {size}",
                    expected=f"positions in [0, {size}) that all differ",
                    fix="Let every member send at most once and receive at most once.",
                )
            )
    return pairs
