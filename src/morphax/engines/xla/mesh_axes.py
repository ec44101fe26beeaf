"""The named axes of a mesh, as XLA knows them: numbers of devices, in groups."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np

from ...util.messages import message
from ...util.records import dataclass

Groups = tuple[tuple[int, ...], ...]


@final
class AxisPositions(NamedTuple):
    """Stands for the positions along an axis, of which each member is handed its own."""

    name: Hashable
    size: int


@final
@dataclass(frozen=True, slots=True)
class MeshAxes:
    """The named axes of the mesh whose members run a program.

    Args:
        names: of the axes, of which the first counts slowest.
        sizes: as many.
        devices: for each place of the mesh, row by row, the number of its device in the device
            assignment; in order if left out.
        members: the axes along which there are members, where these are not all.
    """

    names: tuple[Hashable, ...]
    sizes: tuple[int, ...]
    devices: tuple[int, ...] = ()
    members: tuple[Hashable, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether the compiler splits what members do, or those do whose program theirs is in."""
        return bool(self.members)

    def within(self, outer: MeshAxes | None, manual: Collection[Hashable]) -> MeshAxes:
        """The axes in a program of members along `manual`, which may be in one of others."""
        around = () if outer is None else outer.members
        members = tuple([n for n in self.names if n in manual or n in around])
        is_all = not around and len(members) == len(self.names)
        return replace(self, members=() if is_all else members)

    def free(self, value: Any) -> range:
        """The axes of a value that the compiler may split further."""
        return range(len(value.aval.shape) if self.is_partial else 0)

    def axis_positions(self, name: Hashable) -> AxisPositions:
        """What stands for the positions along an axis."""
        return AxisPositions(name, self.sizes[self._axis(name)])

    def grid(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers of devices, by their positions along the axes."""
        numbers = self.devices or range(int(np.prod(self.sizes)))
        return np.array(numbers, np.int64).reshape(self.sizes)

    def groups(self, names: Sequence[Hashable], within: Groups | None = None) -> list[list[int]]:
        """The devices that communicate over some axes, each group in the order of its members.

        Args:
            names: of the axes, of which the first counts slowest.
            within: positions along these axes of those that communicate, `None` for all.

        Raises:
            NameError: the mesh has no such axis.
        """
        axes = [self._axis(name) for name in names]
        others = [axis for axis in range(len(self.sizes)) if axis not in axes]
        size = int(np.prod([self.sizes[axis] for axis in axes]))
        members = self.grid().transpose(*others, *axes).reshape(-1, size)
        if within is not None:
            members = np.concatenate([members[:, list(positions)] for positions in within])
        return members.tolist()

    def positions(self, name: Hashable) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The position of each device along an axis, by the number of the device."""
        along = np.indices(self.sizes)[self._axis(name)]
        positions = np.empty(along.size, np.int32)
        positions[self.grid().ravel()] = along.ravel()
        return positions

    def text(self) -> str:
        """The mesh as Shardy declares it; its axes are called by their numbers."""
        axes = ", ".join([f'"{i}"={size}' for i, size in enumerate(self.sizes)])
        order = f", device_ids={list(self.devices)}" if self.devices else ""
        return f"<[{axes}]{order}>"

    def sharding(
        self,
        mesh: str,
        spec: Sequence[Sequence[Hashable]],
        free: Container[int] = (),
        **further: Collection[Hashable],
    ) -> str:
        """The attribute that says over which axes of the mesh an array's axes are split.

        Args:
            mesh: its name.
            spec: for each axis of the array, axes of the mesh.
            free: axes that the compiler may split further.
            **further: axes of the mesh that are ``unreduced``, or stay ``replicated``.
        """
        splits = [[f'"{self._axis(name)}"' for name in names] for names in spec]
        open_ended = [[*split, *["?"] * (i in free)] for i, split in enumerate(splits)]
        texts = [", ".join(split) for split in open_ended]
        attribute = f"@{mesh}, [{', '.join([f'{{{text}}}' for text in texts])}]"
        for name, axes in further.items():
            numbers = ", ".join([f'"{number}"' for number in sorted(map(self._axis, axes))])
            attribute += f", {name}={{{numbers}}}" if axes else ""
        return f"<{attribute}>"

    def _axis(self, name: Hashable) -> int:
        if name in self.names:
            return self.names.index(name)
        raise NameError(
            message(
                "compiling an operation over a named axis",
                given=f"the axis {name!r}",
                expected=f"one of the axes {list(self.names)} of the mesh",
                fix="Name an axis of the mesh, or map the axis with vmap.",
            )
        )
