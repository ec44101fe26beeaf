"""How values vary along named axes.

Under `vmap` every value may differ between the members without being told, so there is nothing to
change; the cast exists for programs that also run where the type of a value tells how it varies.
"""

from __future__ import annotations

from typing import Any

from ..util.messages import message
from .axis_names import named_axes
from .collective import map_operands

_KINDS = ("varying", "reduced", "unreduced")


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Have `x` count as one that varies along named axes.

    Args:
        x: array, or tree.
        axis_name: name of the axis, or a tuple of names.
        to: ``"varying"``, the only kind of values under `vmap`.

    Returns:
        `x`.

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: the axis has no values of that kind.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: jax.lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.arange(2))
        Array([0, 1], dtype=int32)
    """
    where = "lax.pcast"
    names = named_axes(where, axis_name)
    if to not in _KINDS or (names and to != "varying"):
        raise ValueError(
            message(
                f"{where}, argument to",
                given=f"{to!r} for axes {names} of vmap",
                expected="'varying', the only kind of values under vmap",
                fix="Leave the cast out: members may differ, and psum adds what they hold.",
            )
        )
    return map_operands(where, lambda leaf: leaf, x)
