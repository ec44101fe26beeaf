"""`named_scope`: names for parts of a program, seen in jaxprs and profiles."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ..core import extended_name_stack
from ..util.messages import message


def named_scope(name: str) -> AbstractContextManager[None]:
    """A context (or decorator) in which operations carry `name`.

    Example:
        >>> import morphax as jax
        >>> @jax.named_scope("layer")
        ... def layer(x):
        ...     return 2.0 * x
        >>> layer(1.0)
        2.0
    """
    if not isinstance(name, str):
        raise TypeError(
            message(
                "named_scope, argument name",
                given=f"{name!r}",
                expected="a string",
                fix="Name the scope with a string.",
            )
        )
    return extended_name_stack(name)
