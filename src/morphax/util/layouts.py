"""Layouts over devices that are asked for where there is nothing yet that would honour them."""

from __future__ import annotations

from typing import Any, NoReturn

from .messages import described, message


def refuse_layout(where: str, layout: Any, argument: str = "out_sharding") -> NoReturn:
    """Raise because the result cannot be laid out as asked; to ignore that would be a lie.

    Raises:
        NotImplementedError: if `layout` is a sharding.
        TypeError: if it is none.
    """
    kind = NotImplementedError if hasattr(layout, "device_set") else TypeError
    raise kind(
        message(
            f"{where}, argument {argument}",
            given=described(layout),
            expected="None: results of operations lie where their operands lie",
            fix=f"Leave {argument} out, and place the result with jax.device_put.",
        )
    )
