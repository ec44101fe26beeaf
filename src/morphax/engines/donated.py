"""What engines share of donation: which operands are given away, and what is said of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..array import Array
from ..array.deletion import Deleted
from ..core import DebugInfo
from ..util.frames import user_frame
from ..util.messages import message


def donated_to(function: str) -> Deleted:
    """Why a donated array has no memory any more."""
    return Deleted(f"it was donated to {function}", user_frame())


def refuse_given_twice(operands: Sequence[Array], donated: Sequence[int], info: DebugInfo) -> None:
    """Raise `ValueError` if an array that is given away is passed as another operand too."""
    name = info.argument_name
    positions: dict[int, int] = {}
    given_away = {id(operands[i]) for i in donated}
    for i, x in enumerate(operands):
        first = positions.setdefault(id(x), i)
        if first != i and id(x) in given_away:
            raise ValueError(
                message(
                    f"jit of {info.function}, donated argument",
                    given=f"one array as the arguments {name(first)} and {name(i)}",
                    expected="donated arrays that are passed once",
                    fix="Pass a copy as one of them, or do not donate the argument.",
                )
            )


def warn_of_unusable(name: str, unusable: Sequence[str]) -> None:
    """Say which donated operands no result can take over, if there are any."""
    if not unusable:
        return
    text = message(
        f"donation to {name}",
        given=f"donated arguments {', '.join(unusable)}",
        expected="results of the same size, which could take over their memory",
        fix="Do not donate these arguments, or donate fewer; they stay as they are.",
    )
    warnings.warn(text, UserWarning, stacklevel=3)
