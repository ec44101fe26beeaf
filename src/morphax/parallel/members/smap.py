"""`smap`: one axis of the mesh by hand, the others left as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from ... import tree
from ...core.partition_spec import PartitionSpec
from ...transforms.flattening import check_callable
from ...util.messages import described, message
from .shard_map import shard_map
from .specs import Infer, InferFromArgs

F = TypeVar("F", bound=Callable[..., Any])


def smap(
    f: F | None = None,
    /,
    *,
    in_axes: Any = Infer,
    out_axes: Any,
    axis_name: Hashable,
) -> Any:
    """`f` applied by the devices along one axis of the current mesh, each to its own shards.

    It is `shard_map` for one axis, with axes of arrays in place of specs.

    Args:
        f: function of shards.  Without it, the result is a decorator.
        in_axes: for each positional argument (a tree prefix of the tuple) which of its axes is
            split over `axis_name`, `None` for an argument that is the same for all.  If left out,
            the types of the arguments say it.
        out_axes: likewise for the results: along which axis the shards are joined.
        axis_name: of the mesh.

    Returns:
        A function of whole arrays.

    Raises:
        TypeError: `axis_name` is no name, or a leaf of the axes is no axis.
        ValueError: there is no current mesh, it has no such axis, or a size is not divisible.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> total = jax.smap(
        ...     lambda x: jax.lax.psum(x, "x"), in_axes=0, out_axes=None, axis_name="x"
        ... )
        >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
        ...     total(jnp.arange(3.0))
        Array([0., 1., 2.], dtype=float32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    check_callable("smap", f)
    if isinstance(axis_name, (tuple, list, set, frozenset)):
        raise TypeError(
            message(
                "smap, argument axis_name",
                given=described(axis_name),
                expected="the name of one axis of the mesh",
                fix="Nest one smap in another, or use jax.shard_map for several axes.",
            )
        )
    is_inferred = isinstance(in_axes, InferFromArgs)
    return shard_map(
        f,
        in_specs=Infer
        if is_inferred
        else specs_of_axes("smap, argument in_axes", in_axes, axis_name),
        out_specs=specs_of_axes("smap, argument out_axes", out_axes, axis_name),
        axis_names=frozenset([axis_name]),
    )


def specs_of_axes(where: str, axes: Any, name: Hashable) -> Any:
    """A tree of axes, or of `None`, as one of specs that split these axes over one of the mesh."""
    leaves, structure = tree.flatten(axes, is_leaf=lambda x: x is None)
    return structure.unflatten([_spec(where, axis, name) for axis in leaves])


def _spec(where: str, axis: Any, name: Hashable) -> PartitionSpec:
    if axis is None:
        return PartitionSpec()
    if type(axis) is not int or axis < 0:
        raise TypeError(
            message(
                where,
                given=described(axis),
                expected="a tree of axes counted from the front, and of None",
                fix="Give the number of an axis, or None for what is the same for all.",
            )
        )
    return PartitionSpec(*[None] * axis, name)
