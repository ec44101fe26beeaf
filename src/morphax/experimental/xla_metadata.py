"""`jax.experimental.xla_metadata`: notes to the compiler on operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lax.shape.xla_metadata import set_xla_metadata

__all__ = ["fuse_limit", "must_fuse_call", "set_xla_metadata", "xla_metadata_call"]


def xla_metadata_call(f: Callable[..., Any] | None = None, /, **meta: Any) -> Any:
    """`f`, with names and values noted on all its operations; a decorator if `f` is left out.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.xla_metadata import xla_metadata_call
        >>> program = jax.jit(xla_metadata_call(jnp.sin, level=3)).lower(1.0)
        >>> print(program.as_text().splitlines()[2])
          %2 = stablehlo.sine %1 {mhlo.frontend_attributes = {level = "3"}} : tensor<f32>
    """
    return set_xla_metadata(f, **meta)


def must_fuse_call(identifier: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose operations XLA shall join to one kernel.

    They carry the attribute ``MUST_FUSE``, for the passes of the compiler that know it.

    Args:
        identifier: what tells this group of operations from others.
    """
    decorator: Callable[[Callable[..., Any]], Callable[..., Any]]
    decorator = xla_metadata_call(MUST_FUSE=identifier)
    return decorator


def fuse_limit() -> Any:
    """A context, or decorator, in which operations are not joined to a kernel with others.

    They carry the attribute ``FUSE_LIMIT``, for the passes of the compiler that know it.
    """
    return set_xla_metadata(FUSE_LIMIT=True)
