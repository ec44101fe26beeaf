"""`PartitionSpec`: over which axes of a mesh the axes of an array are split."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, final, overload

from ..util.messages import described, message

Entry = Any
"""A name, a tuple of names, `None` or `PartitionSpec.UNCONSTRAINED`."""


@final
class _Unconstrained:
    """Of an axis: the compiler says how it is split."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_unconstrained"


_unconstrained: Final = _Unconstrained()


@final
class PartitionSpec:
    """Over which axes of a mesh the axes of an array are split.

    Args:
        *partitions: for each axis of the array, from the first on, the name of an axis of the
            mesh, a tuple of names, the major one first, or `None` for an axis that is whole on
            each device.  Axes of which nothing is said are whole.
        unreduced: names of axes of the mesh over which the array is still to be summed.
        reduced: names of axes of the mesh over which the cotangent is still to be summed.

    Raises:
        ValueError: if a name is both in `partitions` and in `unreduced`, or the like.

    Example:
        >>> import morphax as jax
        >>> jax.P("x", None, ("y", "z"))
        P('x', None, ('y', 'z'))
    """

    __slots__ = ("_partitions", "reduced", "unreduced")
    __match_args__ = ("_partitions",)

    UNCONSTRAINED: Final = _unconstrained
    """Of an axis: the compiler says how it is split."""

    unreduced: frozenset[Hashable]
    reduced: frozenset[Hashable]

    def __init__(
        self,
        *partitions: Entry,
        unreduced: Iterable[Hashable] = frozenset(),
        reduced: Iterable[Hashable] = frozenset(),
    ) -> None:
        self._partitions: Final = tuple([_canonical(entry) for entry in partitions])
        self.unreduced = _names("unreduced", unreduced)
        self.reduced = _names("reduced", reduced)
        self._check_disjoint()

    @property
    def partitions(self) -> tuple[Entry, ...]:
        """What is said of each axis, from the first on."""
        return self._partitions

    @property
    def names(self) -> frozenset[Hashable]:
        """The axes of the mesh that axes of the array are split over."""
        return frozenset(chain.from_iterable(map(names_of, self._partitions)))

    @property
    def all_names(self) -> frozenset[Hashable]:
        """All axes of the mesh that are named."""
        return self.names | self.unreduced | self.reduced

    def splits(self, ndim: int) -> tuple[tuple[Hashable, ...], ...]:
        """For each of `ndim` axes of the array, the axes of the mesh that it is split over."""
        named = tuple(map(names_of, self._partitions))
        return (*named, *[()] * (ndim - len(named)))

    def update(
        self,
        partitions: Iterable[Entry] | None = None,
        unreduced: Iterable[Hashable] | None = None,
        reduced: Iterable[Hashable] | None = None,
    ) -> PartitionSpec:
        """The spec with something else for some of its fields."""
        return PartitionSpec(
            *(self._partitions if partitions is None else partitions),
            unreduced=self.unreduced if unreduced is None else unreduced,
            reduced=self.reduced if reduced is None else reduced,
        )

    def count(self, value: Entry) -> int:
        """How many axes are split so."""
        return self._partitions.count(_canonical(value))

    def index(self, value: Entry) -> int:
        """The first axis that is split so; `ValueError` if there is none."""
        return self._partitions.index(_canonical(value))

    def _check_disjoint(self) -> None:
        named: set[Hashable] = set()
        for entry in self._partitions:
            named.update(entry if isinstance(entry, tuple) else (entry,))
        for what, left, right in (
            ("partitions and unreduced", named, self.unreduced),
            ("partitions and reduced", named, self.reduced),
            ("unreduced and reduced", self.unreduced, self.reduced),
        ):
            if left & right:
                raise ValueError(
                    message(
                        f"PartitionSpec, arguments {what}",
                        given=f"{', '.join(map(repr, left & right))} in both",
                        expected="each axis of the mesh in one of them",
                        fix="Name it once.",
                    )
                )

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._partitions)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry:
        return self._partitions[index]

    def __add__(self, other: PartitionSpec | tuple[Entry, ...]) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self,
                *other,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if isinstance(other, tuple):
            return self.update((*self, *other))
        return NotImplemented

    def __radd__(self, other: tuple[Entry, ...]) -> PartitionSpec:
        return self.update((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSpec):
            return False
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self._partitions, self.unreduced, self.reduced

    def __reduce__(self) -> Any:
        return _rebuild, self._key()

    def __repr__(self) -> str:
        parts = [repr(entry) for entry in self._partitions]
        for name in ("unreduced", "reduced"):
            if names := getattr(self, name):
                parts.append(f"{name}={{{', '.join(sorted(map(repr, names)))}}}")
        alone = len(parts) == len(self._partitions) == 1
        return f"P({', '.join(parts)}{',' if alone else ''})"


P = PartitionSpec


def _rebuild(
    partitions: tuple[Entry, ...], unreduced: frozenset[Hashable], reduced: frozenset[Hashable]
) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def names_of(entry: Entry) -> tuple[Hashable, ...]:
    """The axes of the mesh that an entry names."""
    if entry is None or entry is _unconstrained:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def _canonical(entry: Entry) -> Entry:
    """A tuple of one name is that name, and an empty one is None."""
    if entry is None or type(entry) is str:
        return entry
    if isinstance(entry, (tuple, list)):
        nested = [name for name in entry if isinstance(name, (tuple, list))]
        if nested:
            raise ValueError(
                message(
                    "PartitionSpec, argument partitions",
                    given=f"{entry!r}, with {nested[0]!r} in it",
                    expected="names of axes of the mesh in a tuple",
                    fix="Write the names one after the other: P(('x', 'y')).",
                )
            )
        entry = None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    if not isinstance(entry, Hashable):
        raise TypeError(
            message(
                "PartitionSpec, argument partitions",
                given=described(entry),
                expected="names that can be hashed",
                fix="Name axes of the mesh: P('x'), or P(('x', 'y')) for several.",
            )
        )
    return entry


def _names(argument: str, names: Iterable[Hashable]) -> frozenset[Hashable]:
    if isinstance(names, str):
        raise TypeError(
            message(
                f"PartitionSpec, argument {argument}",
                given=repr(names),
                expected="a set of names of axes of the mesh",
                fix=f"Pass {{{names!r}}}.",
            )
        )
    found = frozenset(names)
    if None in found:
        raise ValueError(
            message(
                f"PartitionSpec, argument {argument}",
                given=repr(set(found)),
                expected="names of axes of the mesh, of which None is none",
                fix="Leave None out.",
            )
        )
    return found
