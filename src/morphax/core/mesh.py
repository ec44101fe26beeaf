"""Meshes of devices, without the devices: what avals say about how arrays are split.

Devices that stand in a grid have coordinates along its named axes.  An axis of an array is *split*
over axes of the grid, or *whole* on each device.  Which devices these are is no matter of types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import final

from ..util.messages import message

Split = tuple[str, ...]
"""The mesh axes that an axis of an array is split over, the major one first; none if whole."""


@final
@dataclass(frozen=True, slots=True)
class AbstractMesh:
    """The named axes of a grid of devices.

    Example:
        >>> from morphax.core import AbstractMesh
        >>> AbstractMesh((4, 2), ("rows", "columns")).parts(("rows",))
        4
    """

    axis_sizes: tuple[int, ...]
    axis_names: tuple[str, ...]

    def __str__(self) -> str:
        axes = zip(self.axis_names, self.axis_sizes, strict=True)
        return f"Mesh({', '.join([f'{name!r}: {size}' for name, size in axes])})"

    def parts(self, split: Split) -> int:
        """Into how many parts an axis of an array is cut that is split so."""
        return math.prod([self.axis_sizes[self.axis_names.index(name)] for name in split])


@final
@dataclass(frozen=True, slots=True)
class AbstractSharding:
    """How an array is split over a mesh.

    Args:
        mesh: the mesh.
        spec: for each axis of the array, the axes of the mesh that it is split over.

    Raises:
        ValueError: if `spec` names an axis that the mesh has not, or one axis twice.

    Example:
        >>> import numpy as np
        >>> from morphax.core import AbstractMesh, AbstractSharding, ShapedArray
        >>> mesh = AbstractMesh((2, 2), ("x", "y"))
        >>> ShapedArray((8, 3), np.float32, sharding=AbstractSharding(mesh, (("x", "y"), ())))
        ShapedArray(float32[8@(x,y),3])
    """

    mesh: AbstractMesh
    spec: tuple[Split, ...]

    def __post_init__(self) -> None:
        names = list(chain.from_iterable(self.spec))
        if len(set(names)) < len(names) or not set(names) <= set(self.mesh.axis_names):
            raise ValueError(
                message(
                    "AbstractSharding, argument spec",
                    given=f"{self.spec}",
                    expected=f"axes of the mesh, {', '.join(self.mesh.axis_names)}, each once",
                    fix="Split at most one axis of an array over each axis of the mesh.",
                )
            )

    def with_axis(self, axis: int, along: AbstractSharding | None) -> AbstractSharding:
        """The sharding of an array with one more axis, split as a vector `along`, else whole."""
        new = ((),) if along is None else along.spec
        return AbstractSharding(self.mesh, (*self.spec[:axis], *new, *self.spec[axis:]))

    def without_axis(self, axis: int) -> AbstractSharding:
        """The sharding of a member of the array along an axis."""
        return AbstractSharding(self.mesh, (*self.spec[:axis], *self.spec[axis + 1 :]))

    def permuted(self, order: Sequence[int]) -> AbstractSharding:
        """The sharding of the array with its axes in another order."""
        return AbstractSharding(self.mesh, tuple([self.spec[i] for i in order]))

    def along(self, axis: int) -> AbstractSharding:
        """How an axis is split, as the sharding of a vector."""
        return AbstractSharding(self.mesh, (self.spec[axis],))


def split_text(split: Split) -> str:
    """As in printed avals: ``@x``, ``@(x,y)``, nothing for an axis that is whole."""
    names = ",".join(split)
    return "" if not split else f"@{names}" if len(split) == 1 else f"@({names})"
