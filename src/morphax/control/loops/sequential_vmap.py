"""`sequential_vmap`: functions that `vmap` maps by a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import tree
from ..custom.custom_vmap import custom_vmap
from .scans import map as map_members


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """A function that `vmap` maps by a loop, one member after another.

    Args:
        f: function of arrays or trees, of positional arguments.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> f = jax.custom_batching.sequential_vmap(lambda x: 2 * x)
        >>> jax.vmap(f)(jnp.arange(3.0))
        Array([0., 2., 4.], dtype=float32)
    """
    sequential = custom_vmap(f)

    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, structure = tree.flatten(args)
        flags = tree.leaves(in_batched)
        mapped = [x for x, flag in zip(leaves, flags, strict=True) if flag]

        def member(own: list[Any]) -> Any:
            given = iter(own)
            values = [next(given) if f else x for x, f in zip(leaves, flags, strict=True)]
            return sequential(*structure.unflatten(values))

        result = map_members(member, mapped)
        return result, tree.map(lambda _: True, result)

    sequential.def_vmap(rule)
    return sequential
