"""How an array is split over a mesh, and along which axes of it sums are still to be taken.

Over an axis of the mesh an array is *split*, or each device along it has the whole.  Of what is
whole three things may be said.  Nothing: all devices along the axis have the same numbers, and so
they have of its cotangent.  *Unreduced*: the array is the sum of what they have.  *Reduced*: they
have the same numbers, and the cotangent is unreduced: the sum is put off until somebody asks.  The
cotangent of what is unreduced is reduced.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import chain
from typing import final

from ..config import current as current_config
from ..util.messages import message
from ..util.records import dataclass
from .mesh import AbstractMesh

Split = tuple[Hashable, ...]
"""The mesh axes that an axis of an array is split over, the major one first; none if whole."""

Names = frozenset[Hashable]
_none: Names = frozenset()


@final
@dataclass(frozen=True, slots=True)
class AbstractSharding:
    """How an array is split over the axes of a mesh of which types speak, the explicit ones.

    Args:
        mesh: the mesh.
        spec: for each axis of the array, the explicit axes of the mesh that it is split over.
        unreduced: explicit axes along which the array is the sum of what devices have.
        reduced: explicit axes along which its cotangent is.

    Raises:
        ValueError: if another axis is named, or one axis twice.

    Example:
        >>> import numpy as np
        >>> from morphax.core import AbstractMesh, AbstractSharding, AxisType, ShapedArray
        >>> mesh = AbstractMesh((2, 2), ("x", "y"), AxisType.Explicit)
        >>> ShapedArray((8, 3), np.float32, sharding=AbstractSharding(mesh, (("x", "y"), ())))
        ShapedArray(float32[8@(x,y),3])
    """

    mesh: AbstractMesh
    spec: tuple[Split, ...]
    unreduced: Names = _none
    reduced: Names = _none

    def __post_init__(self) -> None:
        names = list(chain(chain.from_iterable(self.spec), self.unreduced, self.reduced))
        if len(set(names)) < len(names) or not set(names) <= set(self.mesh.explicit_axes):
            raise ValueError(
                message(
                    "AbstractSharding, argument spec",
                    given=f"{self.spec}{self.sums_text()}",
                    expected=f"explicit axes of the mesh, each at most once, for {self.mesh}",
                    fix="Split at most one axis of an array over each axis of the mesh.",
                )
            )
        if current_config().remove_size_one_mesh_axis_from_type:
            self._leave_out_axes_of_one_device()

    def _leave_out_axes_of_one_device(self) -> None:
        kept = self.mesh.in_types
        object.__setattr__(self, "spec", tuple(map(kept, self.spec)))
        object.__setattr__(self, "unreduced", frozenset(kept(self.unreduced)))
        object.__setattr__(self, "reduced", frozenset(kept(self.reduced)))

    @property
    def has_sums(self) -> bool:
        """Whether sums are still to be taken, of the array or of its cotangent."""
        return bool(self.unreduced or self.reduced)

    def of_cotangent(self) -> AbstractSharding:
        """The sharding of a cotangent of such an array."""
        if not self.has_sums:
            return self
        return replace(self, unreduced=self.reduced, reduced=self.unreduced)

    def with_axis(self, axis: int, along: AbstractSharding | None) -> AbstractSharding:
        """The sharding of an array with one more axis, split as a vector `along`, else whole.

        Of the axes that split the vector those count that are explicit in this mesh.
        """
        new: tuple[Split, ...] = ((),) if along is None else along.spec
        if along is not None and along.mesh != self.mesh:
            new = (tuple([name for name in new[0] if name in self.mesh.explicit_axes]),)
        if any([name in names for names in self.spec for name in new[0]]):
            raise TypeError(
                message(
                    "vmap, arrays split over a mesh",
                    given=f"mapped axes split over {', '.join(map(str, new[0]))}, with a value of "
                    f"all members split as {self.spec}",
                    expected="results that are split at most once over each axis of the mesh",
                    fix="Make one of them whole with jax.sharding.reshard.",
                )
            )
        return replace(self, spec=(*self.spec[:axis], *new, *self.spec[axis:]))

    def without_axis(self, axis: int) -> AbstractSharding:
        """The sharding of a member of the array along an axis."""
        return replace(self, spec=(*self.spec[:axis], *self.spec[axis + 1 :]))

    def permuted(self, order: Sequence[int]) -> AbstractSharding:
        """The sharding of the array with its axes in another order."""
        return replace(self, spec=tuple([self.spec[i] for i in order]))

    def along(self, axis: int) -> AbstractSharding:
        """How an axis is split, as the sharding of a vector."""
        return AbstractSharding(self.mesh, (self.spec[axis],))

    def of_elements(self) -> AbstractSharding:
        """The sharding of one element of the array."""
        return replace(self, spec=())

    def sums_text(self, varying: Names = _none) -> str:
        """As in printed avals: ``{V:x, U:(y,z)}``, nothing where there is nothing to say."""
        return axes_text(V=varying, U=self.unreduced, R=self.reduced)


def split_text(split: Split) -> str:
    """As in printed avals: ``@x``, ``@(x,y)``, nothing for an axis that is whole."""
    names = ",".join(map(str, split))
    return "" if not split else f"@{names}" if len(split) == 1 else f"@({names})"


def axes_text(**names: Names) -> str:
    """As in printed avals: ``{V:x}``, ``{V:(x,y), U:z}``, nothing for what is the same for all."""
    said = {kind: sorted(map(str, axes)) for kind, axes in names.items() if axes}
    texts = [
        f"{kind}:{axes[0]}" if len(axes) == 1 else f"{kind}:({','.join(axes)})"
        for kind, axes in said.items()
    ]
    return f"{{{', '.join(texts)}}}" if texts else ""
