"""How hard a compiler tries: levels of effort, by the numbers that XLA gives them."""

from __future__ import annotations

import enum
from typing import Any, final

from ..util.messages import described, message

EFFORTS = ("memory_fitting_level", "optimization_level")
"""The compiler options that are levels of effort and no flags."""


@final
class CompilerEffortLevel(enum.IntEnum):
    """How hard the compiler tries, as a value of its options.

    `jax.jit(f, compiler_options={"optimization_level": level})` is about the time that programs
    take, "memory_fitting_level" about their memory.  More effort takes more time to compile.

    Example:
        >>> import morphax as jax
        >>> options = {"optimization_level": jax.CompilerEffortLevel.O1}
        >>> jax.jit(lambda x: x + 1, compiler_options=options)(1)
        Array(2, dtype=int32, weak_type=True)
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


def effort_of(name: str, value: Any) -> int:
    """The number that a value of the option `name` means: a level, its name, or a number."""
    if isinstance(value, str) and value in CompilerEffortLevel.__members__:
        return CompilerEffortLevel[value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise ValueError(
        message(
            f"jit, compiler_options[{name!r}]",
            given=described(value),
            expected="a jax.CompilerEffortLevel or its name, 'O0' to 'O3'",
            fix=f'Write compiler_options={{"{name}": "O2"}}, for instance.',
        )
    )
