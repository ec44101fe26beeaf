"""`named_scope`, `named_call`: names for parts of a program, seen in jaxprs and profiles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..core import extended_name_stack
from ..util.messages import message
from .flattening import check_callable, function_name, wraps


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


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """`fun`, in whose calls operations carry a name: `name`, or that of the function.

    Example:
        >>> import morphax as jax
        >>> double = jax.named_call(lambda x: 2.0 * x, name="double")
        >>> double(1.0)
        2.0
    """
    check_callable("named_call", fun)
    label = function_name(fun) if name is None else name

    @wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(label):
            return fun(*args, **kwargs)

    return named
