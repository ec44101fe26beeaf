"""Objects that are indexed instead of called: grids and concatenations from slices.

A slice ``start:stop:step`` stands for a progression, as `arange` makes it; with an imaginary step
``start:stop:nj`` for the n numbers of `linspace`, ends included.

Reference: the documentation of `numpy.mgrid`, `numpy.ogrid`, `numpy.r_` and `numpy.c_`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, final

import numpy as np

from .. import lax
from ..util.messages import described, message
from ..util.records import dataclass
from .creation import asarray
from .joining import concatenate
from .operands import of_one_dtype
from .progressions import arange, linspace
from .shaping import broadcast_to

index_exp, s_ = np.index_exp, np.s_


def _progression(where: str, part: Any) -> Any:
    """The numbers that a slice stands for."""
    if not isinstance(part, slice) or part.stop is None:
        raise TypeError(
            message(
                where,
                given=described(part),
                expected="slices that have an end",
                fix="Write for instance 0:4, 0:1:0.1, or 0:1:5j for five numbers.",
            )
        )
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return linspace(start, part.stop, int(abs(part.step)))
    return arange(start, part.stop, 1 if part.step is None else part.step)


def _coordinates(where: str, key: Any) -> list[Any]:
    """For each slice its numbers, shaped to broadcast together, of one dtype."""
    parts = key if isinstance(key, tuple) else (key,)
    vectors = of_one_dtype(where, *[_progression(where, part) for part in parts]) if parts else []
    return [
        lax.expand_dims(v, [j for j in range(len(parts)) if j != i]) for i, v in enumerate(vectors)
    ]


@final
class DenseGrid:
    """Coordinates of all points of a grid: ``mgrid[0:2, 0:3]`` has the shape (2, 2, 3).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.mgrid[0:2, 0:1:3j]
        Array([[[0. , 0. , 0. ],
                [1. , 1. , 1. ]],
        <BLANKLINE>
               [[0. , 0.5, 1. ],
                [0. , 0.5, 1. ]]], dtype=float32)
    """

    def __getitem__(self, key: Any) -> Any:
        axes = _coordinates("jnp.mgrid", key)
        if not isinstance(key, tuple):
            return axes[0]
        if not axes:
            return lax.full((0,), 0, asarray(0).dtype)
        shape = tuple([a.aval.shape[i] for i, a in enumerate(axes)])
        return lax.stack([broadcast_to(a, shape) for a in axes], 0)


@final
class OpenGrid:
    """Coordinates along the axes of a grid, shaped to broadcast together.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ogrid[0:2, 0:3]
        [Array([[0],
               [1]], dtype=int32), Array([[0, 1, 2]], dtype=int32)]
    """

    def __getitem__(self, key: Any) -> Any:
        axes = _coordinates("jnp.ogrid", key)
        return axes if isinstance(key, tuple) else axes[0]


@final
@dataclass(frozen=True)
class Concatenation:
    """What stands between the brackets, joined along an axis.

    Args:
        name: of the object.
        axis: to join along.
        ndmin: how many axes members have at least.
        first: where the axes of members with fewer go among these; −1 for the end.

    Members are slices, arrays, lists and scalars.  A string before them changes these settings:
    ``"axis"``, ``"axis,ndmin"`` or ``"axis,ndmin,first"``; ``"r"`` and ``"c"`` make a row or column
    of what has one axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.r_[0:3, 7, [8, 9]]
        Array([0, 1, 2, 7, 8, 9], dtype=int32)
        >>> jnp.c_[0:2, 2:4]
        Array([[0, 2],
               [1, 3]], dtype=int32)
    """

    name: str
    axis: int
    ndmin: int
    first: int

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        directive = items[0] if items and isinstance(items[0], str) else ""
        members = items[1:] if directive else items
        if not members or any(isinstance(m, str) for m in members):
            self._refuse(key)
        if directive in ("r", "c"):
            joined = self._joined(members)
            if joined.aval.ndim > 1:
                return joined
            return lax.expand_dims(joined, (0 if directive == "r" else 1,))
        return self._directed(directive)._joined(members)

    def _directed(self, directive: str) -> Concatenation:
        """With the settings of a directive."""
        try:
            numbers = [int(n) for n in directive.split(",")] if directive else []
            if len(numbers) > 3:
                self._refuse(directive)
        except ValueError:
            self._refuse(directive)
        axis, ndmin, first = (*numbers, *(self.axis, self.ndmin, self.first)[len(numbers) :])
        return replace(self, axis=axis, ndmin=ndmin, first=first)

    def _joined(self, members: Sequence[Any]) -> Any:
        arrays = [
            _progression(f"jnp.{self.name}", m) if isinstance(m, slice) else asarray(m)
            for m in members
        ]
        return concatenate([self._expanded(a) for a in arrays], self.axis)

    def _expanded(self, array: Any) -> Any:
        """An array with axes of size 1 around its own."""
        missing = self.ndmin - array.aval.ndim
        if missing <= 0:
            return array
        before = self.first if self.first >= 0 else self.first + missing + 1
        before = min(max(before, 0), missing)
        shape = (*[1] * before, *array.aval.shape, *[1] * (missing - before))
        return lax.reshape(array, shape)

    def _refuse(self, given: Any) -> NoReturn:
        raise ValueError(
            message(
                f"jnp.{self.name}",
                given=f"{given!r:.80}",
                expected="members, and before them at most one string of up to three numbers",
                fix="Write for instance r_['0,2', x, y]: the axis, and the least number of axes.",
            )
        )


mgrid, ogrid = DenseGrid(), OpenGrid()
r_ = Concatenation("r_", axis=0, ndmin=1, first=-1)
c_ = Concatenation("c_", axis=-1, ndmin=2, first=0)
