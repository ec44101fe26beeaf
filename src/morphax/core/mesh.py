"""Meshes of devices, without the devices: what avals say about how arrays are split.

Devices that stand in a grid have coordinates along its named axes.  An axis of an array is *split*
over axes of the grid, or *whole* on each device.  Which devices these are is no matter of types.
"""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, NoReturn, cast, final

from ..config import current as current_config
from ..util.messages import described, message
from ..util.records import dataclass


@final
class AxisType(enum.Enum):
    """Who says how arrays are split over an axis of a mesh.

    ``Auto``: the compiler.  ``Explicit``: the types of arrays.  ``Manual``: the program itself,
    which each device runs on its part.

    Example:
        >>> import morphax as jax
        >>> jax.sharding.AxisType.Auto
        Auto
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


@final
class AbstractDevice(NamedTuple):
    """What all devices of a mesh have in common."""

    device_kind: str
    num_cores: int | None
    platform: str

    def __repr__(self) -> str:
        facts = f"device_kind={self.device_kind}, num_cores={self.num_cores}"
        return f"{facts}, platform={self.platform}"


class NamedAxes:
    """What meshes have in common, with or without devices."""

    __slots__ = ()

    axis_names: tuple[Hashable, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        raise TypeError(f"{type(self).__name__} is abstract")

    @property
    def shape(self) -> Mapping[Hashable, int]:
        """The size of each axis, by its name."""
        return OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[Hashable, int], ...]:
        """Pairs of name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        """Whether there is no axis."""
        return not self.axis_names

    @property
    def auto_axes(self) -> tuple[Hashable, ...]:
        """The names of the axes over which the compiler splits."""
        return self._axes_of(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Hashable, ...]:
        """The names of the axes that types speak of."""
        return self._axes_of(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Hashable, ...]:
        """The names of the axes that the program itself splits over."""
        return self._axes_of(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether the compiler splits over all axes."""
        return all([kind is AxisType.Auto for kind in self.axis_types])

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether types speak of all axes."""
        return all([kind is AxisType.Explicit for kind in self.axis_types])

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether the program itself splits over all axes."""
        return all([kind is AxisType.Manual for kind in self.axis_types])

    def in_types(self, names: Iterable[Hashable]) -> tuple[Hashable, ...]:
        """Those of some axes that types name: all, or those of more than one device."""
        if not current_config().remove_size_one_mesh_axis_from_type:
            return tuple(names)
        return tuple([name for name in names if self.parts((name,)) > 1])

    def parts(self, split: Sequence[Hashable]) -> int:
        """Into how many parts an axis of an array is cut that is split so."""
        return math.prod([self.axis_sizes[self.axis_names.index(name)] for name in split])

    def _axes_of(self, wanted: AxisType) -> tuple[Hashable, ...]:
        each = zip(self.axis_names, self.axis_types, strict=True)
        return tuple([name for name, kind in each if kind is wanted])

    def types_text(self) -> str:
        """``({Explicit: ('x', 'y')})``: the axes of each type."""
        names = {kind: self._axes_of(kind) for kind in AxisType if kind in self.axis_types}
        return f"({{{', '.join([f'{kind!r}: {axes}' for kind, axes in names.items()])}}})"

    def _axes_text(self) -> str:
        """``'x': 4, 'y': 2, axis_types=(Auto, Auto)``."""
        axes = ", ".join([f"{name!r}: {size}" for name, size in self.shape_tuple])
        return f"{axes or '()'}, axis_types={self.axis_types}"


@final
@dataclass(frozen=True, slots=True)
class AbstractMesh(NamedAxes):
    """The named axes of a grid of devices.

    Args:
        axis_sizes: the number of devices along each axis.
        axis_names: as many.
        axis_types: one for each axis, or one for all; ``Auto`` if left out.
        abstract_device: what the devices have in common, where that is known.

    Raises:
        ValueError: if there are not as many names or types as sizes, or a name is there twice.

    Example:
        >>> import morphax as jax
        >>> mesh = jax.sharding.AbstractMesh((4, 2), ("rows", "columns"))
        >>> mesh, mesh.size
        (AbstractMesh('rows': 4, 'columns': 2, axis_types=(Auto, Auto)), 8)
    """

    axis_sizes: tuple[int, ...]
    axis_names: tuple[Hashable, ...]
    axis_types: tuple[AxisType, ...] = None  # type: ignore[assignment]
    abstract_device: AbstractDevice | None = None

    def __post_init__(self) -> None:
        for argument in ("axis_sizes", "axis_names"):
            given = getattr(self, argument)
            if not isinstance(given, Iterable):
                raise TypeError(
                    message(
                        f"AbstractMesh, argument {argument}",
                        given=described(given),
                        expected="a tuple, with an entry for each axis",
                        fix="Write AbstractMesh((4, 2), ('x', 'y')), for instance.",
                    )
                )
        set_field = object.__setattr__
        set_field(self, "axis_sizes", tuple(self.axis_sizes))
        set_field(self, "axis_names", tuple(self.axis_names))
        kinds = checked_axes("AbstractMesh", self.axis_sizes, self.axis_names, self.axis_types)
        set_field(self, "axis_types", kinds)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    def has_axes_of(self, other: AbstractMesh) -> bool:
        """Whether the axes of another mesh differ in their types at most."""
        return self.axis_names == other.axis_names and self.axis_sizes == other.axis_sizes

    @property
    def devices(self) -> NoReturn:
        """There are none: `ValueError`; so for the other facts about devices."""
        self._refuse("devices")

    @property
    def device_ids(self) -> NoReturn:
        """There are none: `ValueError`."""
        self._refuse("device_ids")

    @property
    def local_devices(self) -> NoReturn:
        """There are none: `ValueError`."""
        self._refuse("local_devices")

    @property
    def local_mesh(self) -> NoReturn:
        """There are no devices: `ValueError`."""
        self._refuse("local_mesh")

    @property
    def is_multi_process(self) -> NoReturn:
        """There are no devices: `ValueError`."""
        self._refuse("is_multi_process")

    def _refuse(self, name: str) -> NoReturn:
        raise ValueError(
            message(
                f"AbstractMesh.{name}",
                given=f"{self!r}, which has no devices",
                expected="a mesh of devices",
                fix="Make one by jax.make_mesh.",
            )
        )

    def update(
        self,
        axis_sizes: tuple[int, ...] | None = None,
        axis_names: tuple[Hashable, ...] | None = None,
        axis_types: tuple[AxisType, ...] | None = None,
        **kwargs: AbstractDevice | None,
    ) -> AbstractMesh:
        """The mesh with other sizes, names, types or devices."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            kwargs.get("abstract_device", self.abstract_device),
        )

    def update_axis_types(self, name_to_type: Mapping[Hashable, AxisType]) -> AbstractMesh:
        """The mesh with other types for some axes."""
        each = zip(self.axis_names, self.axis_types, strict=True)
        return replace(self, axis_types=tuple([name_to_type.get(n, kind) for n, kind in each]))

    def with_members(self, manual_axes: Iterable[Hashable]) -> AbstractMesh:
        """The mesh as members along these axes see it."""
        return self.update_axis_types(dict.fromkeys(manual_axes, AxisType.Manual))

    def __repr__(self) -> str:
        device = f", {self.abstract_device}" if self.abstract_device is not None else ""
        return f"AbstractMesh({self._axes_text()}{device})"


def names_of_axes(names: Hashable | Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The names of the axes of a mesh; a string is one name."""
    is_one = isinstance(names, str) or not isinstance(names, Iterable)
    return (cast(Hashable, names),) if is_one else tuple(cast(Iterable[Hashable], names))


def checked_axes(
    where: str,
    sizes: tuple[int, ...],
    names: tuple[Hashable, ...],
    kinds: AxisType | Sequence[AxisType] | None,
) -> tuple[AxisType, ...]:
    """The types of the axes of a mesh; `ValueError` unless they and the names fit."""
    if isinstance(kinds, AxisType) or kinds is None:
        kinds = (kinds or AxisType.Auto,) * len(names)
    for name in names:
        if name is None:
            raise ValueError(
                message(
                    f"{where}, argument axis_names",
                    given=f"{names}",
                    expected="names of axes: in a jax.P, None says that no axis is meant",
                    fix="Name the axes by strings.",
                )
            )
        if not isinstance(name, Hashable):
            raise TypeError(
                message(
                    f"{where}, argument axis_names",
                    given=described(name),
                    expected="names that can be hashed",
                    fix="Name the axes by strings.",
                )
            )
    if not isinstance(kinds, (tuple, list)):
        raise _not_kinds(where, kinds)
    if len(names) != len(sizes) or len(kinds) != len(names):
        raise ValueError(
            message(
                f"{where}, arguments axis_names and axis_types",
                given=f"the names {names} and the types {tuple(kinds)} for axes of sizes {sizes}",
                expected="a name and a type for each axis",
                fix="Name each axis once.",
            )
        )
    if len(set(names)) < len(names):
        raise ValueError(
            message(
                f"{where}, argument axis_names",
                given=f"{names}",
                expected="names that differ",
                fix="Give each axis of the mesh a name of its own.",
            )
        )
    for kind in kinds:
        if not isinstance(kind, AxisType):
            raise _not_kinds(where, kind)
    return tuple(kinds)


def _not_kinds(where: str, given: object) -> TypeError:
    return TypeError(
        message(
            f"{where}, argument axis_types",
            given=described(given),
            expected="a tuple of members of jax.sharding.AxisType",
            fix="Pass AxisType.Auto or AxisType.Explicit for each axis.",
        )
    )
