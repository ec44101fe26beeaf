"""Shapes of what a function of arrays takes and gives: ``"(m, k), (k, n) -> (m, n)"``.

They are written as NumPy writes the signatures of generalised ufuncs.  A name stands for one size;
further axes in front are a batch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import final

from ...util.messages import message
from ...util.records import dataclass

Core = tuple[str | int, ...]
"""Names of sizes, and numbers."""

_ONE = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*,?\s*)?\)"
_SIDE = rf"\s*{_ONE}\s*(?:,\s*{_ONE}\s*)*"


@final
@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of operands and results, without axes of a batch."""

    operands: tuple[Core, ...]
    results: tuple[Core, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of sizes, in the order in which they come first."""
        every = [size for core in self.operands for size in core if isinstance(size, str)]
        return tuple(dict.fromkeys(every))

    def sizes(self, where: str, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
        """What the names stand for, given the shapes of operands.

        Raises:
            ValueError: a shape has too few axes, or another size than it must have.
        """
        sizes: dict[str, int] = {}
        for position, (core, shape) in enumerate(zip(self.operands, shapes, strict=True)):
            own = shape[len(shape) - len(core) :]
            fits = len(own) == len(core)
            for name, size in zip(core, own, strict=False):
                expected = name if isinstance(name, int) else sizes.setdefault(name, size)
                fits = fits and size == expected
            if not fits:
                known = ", ".join([f"{name} = {size}" for name, size in sizes.items()])
                raise ValueError(
                    message(
                        f"{where}, operand {position}",
                        given=f"shape {shape}" + (f", where {known}" if known else ""),
                        expected=f"shape (…, {', '.join(map(str, core))})",
                        fix=f"Pass operands whose shapes fit together: {self}.",
                    )
                )
        return sizes

    def __str__(self) -> str:
        sides = [
            ", ".join([_text(core) for core in side]) for side in (self.operands, self.results)
        ]
        return " -> ".join(sides)


def read_shapes(where: str, text: str) -> Shapes:
    """The shapes that a text says.

    Raises:
        ValueError: it is no such text, or a result has a size that no operand has.
    """
    if re.fullmatch(rf"{_SIDE}->{_SIDE}", text):
        operands, results = [_cores(side) for side in text.split("->")]
        shapes = Shapes(operands, results)
        unknown = [s for core in results for s in core if isinstance(s, str)]
        if set(unknown) <= set(shapes.names):
            return shapes
    raise ValueError(
        message(
            f"{where}, argument shapes",
            given=repr(text),
            expected="shapes of operands, an arrow, shapes of results, whose sizes are numbers or "
            "names of sizes of operands",
            fix="Write, for example, '(m, k), (k, n) -> (m, n)'; a number is ().",
        )
    )


def _cores(side: str) -> tuple[Core, ...]:
    cores = re.findall(r"\(([^()]*)\)", side)
    return tuple([tuple([_size(word) for word in re.findall(r"\w+", core)]) for core in cores])


def _size(word: str) -> str | int:
    return int(word) if word.isdecimal() else word


def _text(core: Core) -> str:
    return f"({', '.join(map(str, core))})"
