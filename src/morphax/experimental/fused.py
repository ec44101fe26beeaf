"""`jax.experimental.fused`: a part of a program that XLA shall compute as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .. import tree
from ..errors import ShapeError
from ..util.messages import message
from .compute_on import in_spaces
from .xla_metadata import must_fuse_call

__all__ = ["fused"]

_WHERE = "fused, argument out_spaces"


def fused(*, out_spaces: Sequence[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose operations XLA shall join to one kernel.

    Operations of compiled programs carry the attribute ``MUST_FUSE``; XLA does what the platform
    can do of it.  Unlike JAX, which has this for CUDA alone, all platforms compute the function.

    Args:
        out_spaces: a `jax.memory.Space` for each result, or a prefix of their tree.

    Raises:
        TypeError: if a memory space is none.
        ValueError: if there is another number of them.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.fused import fused
        >>> device = jax.memory.Space.Device
        >>> both = fused(out_spaces=(device, device))(lambda x, y: (x + y, x * y))
        >>> print(*both(2.0, 3.0))
        5.0 6.0
    """

    def decorated(f: Callable[..., Any]) -> Callable[..., Any]:
        joined = must_fuse_call(True)(f)

        @wraps(f)
        def computed(*args: Any) -> Any:
            results = joined(*args)
            leaves, structure = tree.flatten(results)
            if not isinstance(out_spaces, (tuple, list)):
                return in_spaces(_WHERE, results, out_spaces)
            if len(out_spaces) != len(leaves):
                raise ShapeError(_other_number(len(out_spaces), len(leaves)))
            return structure.unflatten(in_spaces(_WHERE, leaves, list(out_spaces)))

        return computed

    return decorated


def _other_number(spaces: int, results: int) -> str:
    return message(
        _WHERE,
        given=f"{spaces} memory spaces for {results} results",
        expected="one for each result",
        fix="Write as many members of jax.memory.Space as the function has results.",
    )
