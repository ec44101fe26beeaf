"""Contexts of the user's own that programs may depend on: ``jax.make_user_context``."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, Final, final

from ..util.messages import described, message
from .state import current, override


@final
class UserContext:
    """A value that a block sets, and that functions may read while they are traced.

    A jitted function is traced once for each value that it is called under.
    """

    def __init__(self, default: Any) -> None:
        self._default: Final = default

    @property
    def value(self) -> Any:
        """The value in force here and now."""
        for context, _, value in reversed(current().user_values):
            if context is self:
                return value
        return self._default

    def __call__(self, new_value: Any) -> _UserOverride:
        """A context manager that sets the value for a block."""
        try:
            hash(new_value)
        except TypeError:
            raise TypeError(
                message(
                    "a context of make_user_context, argument new_value",
                    given=described(new_value),
                    expected="a value that can be hashed, because programs are looked up by it",
                    fix="Pass a tuple instead of a list, or an object with __hash__ and __eq__.",
                )
            ) from None
        return _UserOverride(self, new_value)

    def __repr__(self) -> str:
        return f"<user context, now {self.value!r}>"


@final
class _UserOverride(ContextDecorator):
    """Sets the value of one user context beside those of the others."""

    def __init__(self, context: UserContext, value: Any) -> None:
        self._context: Final = context
        self._value: Final = value

    def __enter__(self) -> None:
        others = tuple([entry for entry in current().user_values if entry[0] is not self._context])
        # The type stands beside the value because 1 == 1.0 == True.
        entry = (self._context, type(self._value), self._value)
        override.of_settings({"user_values": (*others, entry)}).__enter__()

    def __exit__(self, *exc: Any) -> None:
        override().__exit__(*exc)


def make_user_context(default_value: Any = None) -> UserContext:
    """A context whose value is part of what traced programs depend on.

    Args:
        default_value: the value outside of all blocks.

    Returns:
        A function: called with a value, it is a context manager that sets it; its attribute
        `value` is the one in force.

    Example:
        >>> import morphax as jax
        >>> mode = jax.make_user_context("train")
        >>> f = jax.jit(lambda x: x if mode.value == "train" else 2 * x)
        >>> f(1.0)
        Array(1., dtype=float32, weak_type=True)
        >>> with mode("test"):
        ...     f(1.0)
        Array(2., dtype=float32, weak_type=True)
    """
    return UserContext(default_value)
