"""`jax.experimental.shard_map`: `jax.shard_map` under the name that it had."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..parallel.members.shard_map import shard_map as _shard_map


def __getattr__(name: str) -> Callable[..., Any]:
    if name != "shard_map":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    text = "jax.experimental.shard_map is an old name; call jax.shard_map"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return _with_old_arguments


def _with_old_arguments(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[..., Any]:
    """`jax.shard_map`, whose argument `check_vma` was called `check_rep`."""
    mapped: Callable[..., Any] = _shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep
    )
    return mapped
