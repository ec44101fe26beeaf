"""`jax.experimental.scheduling_groups`: parts of a program that XLA shall schedule together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .xla_metadata import xla_metadata_call

__all__ = ["scheduling_group"]


def scheduling_group(name: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose operations belong to the group `name`.

    Operations of compiled programs carry the attribute ``scheduling_group``; XLA does what the
    platform can do of it.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.scheduling_groups import scheduling_group
        >>> program = jax.jit(scheduling_group("first")(jnp.sin)).lower(1.0)
        >>> 'scheduling_group = "first"' in program.as_text()
        True
    """
    decorator: Callable[[Callable[..., Any]], Callable[..., Any]]
    decorator = xla_metadata_call(scheduling_group=name)
    return decorator
