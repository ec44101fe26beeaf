"""`ManualAxisType`: how a value is on the axes of a mesh along which members run a program."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, final

from ..util.messages import described, message
from ..util.records import dataclass
from .mesh import NamedAxes

Names = frozenset[Hashable]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ManualAxisType:
    """How a value is on the axes of a mesh along which members run a program.

    Args:
        varying: names of the axes along which the members have different values.
        unreduced: of those along which the value is still to be summed.
        reduced: of those along which its cotangent is still to be summed.

    Raises:
        TypeError: if one of them is no set of names.
        ValueError: if a varying axis is unreduced or reduced, too.

    Example:
        >>> import morphax as jax
        >>> jax.sharding.ManualAxisType(varying={"x"}).vur
        frozenset({'x'})
    """

    varying: Names = frozenset()
    unreduced: Names = frozenset()
    reduced: Names = frozenset()

    def __post_init__(self) -> None:
        for name in ("varying", "unreduced", "reduced"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        for name in ("unreduced", "reduced"):
            if both := self.varying & getattr(self, name):
                raise ValueError(
                    message(
                        f"ManualAxisType, arguments varying and {name}",
                        given=f"{', '.join(map(repr, both))} in both",
                        expected="each axis in one of them",
                        fix="Name it once.",
                    )
                )

    @property
    def vur(self) -> Names:
        """The axes of all three."""
        return self.varying | self.unreduced | self.reduced

    @property
    def empty(self) -> bool:
        """Whether no axis is named."""
        return not self.vur

    def invarying(self, mesh: NamedAxes) -> Names:
        """The axes of the mesh of which there are members, and that are not named."""
        return frozenset(mesh.manual_axes) - self.vur

    def to_ct_mat(self) -> ManualAxisType:
        """The same of a cotangent: what is unreduced is reduced in it, and the reverse."""
        return replace(self, unreduced=self.reduced, reduced=self.unreduced)

    def update(self, **kwargs: Any) -> ManualAxisType:
        """The same with other sets for those that are named."""
        return replace(self, **kwargs)


def _names(argument: str, names: Iterable[Hashable]) -> Names:
    if isinstance(names, (set, frozenset)):
        return frozenset(names)
    raise TypeError(
        message(
            f"ManualAxisType, argument {argument}",
            given=described(names),
            expected="a set of names of axes of the mesh",
            fix="Pass {'x'}, for instance.",
        )
    )
