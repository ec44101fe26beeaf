"""Layouts: in which order the elements of an array lie in the memory of a device.

References: XLA, "Shapes and layout", https://openxla.org/xla/shapes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

from ..util.messages import described, message
from ..util.records import dataclass
from .values import aval_of


@final
class AutoLayout:
    """The compiler chooses; there is one, `Layout.AUTO`."""

    __slots__ = ()

    def to_xla(self, ndim: int) -> str:
        """How XLA is asked to choose."""
        return "auto"

    def __repr__(self) -> str:
        return "AUTO"

    def __reduce__(self) -> str:
        return "AUTO"


AUTO = AutoLayout()


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """The order of the axes in memory.

    Args:
        major_to_minor: the axes, from that with the largest stride to that with the smallest.
        tiling: sizes of the tiles that the minor axes are cut into, `None` if left open.
        sub_byte_element_size_in_bits: bits per element if elements are packed, else 0.

    Example:
        >>> from morphax.core import Layout
        >>> Layout((1, 0))
        Layout(major_to_minor=(1, 0), tiling=None, sub_byte_element_size_in_bits=0)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    AUTO: ClassVar[AutoLayout] = AUTO
    """In a `Format`: the compiler chooses."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "major_to_minor", tuple(self.major_to_minor))

    def check_rank(self, ndim: int, where: str) -> None:
        """Raise `ValueError` unless these are the axes of arrays of `ndim` axes."""
        if sorted(self.major_to_minor) != list(range(ndim)):
            raise ValueError(
                message(
                    where,
                    given=f"major_to_minor={self.major_to_minor} for an array of {ndim} axes",
                    expected="each axis of the array once",
                    fix="Name all axes of the array, from the largest stride to the smallest.",
                )
            )

    @property
    def is_row_major(self) -> bool:
        """Whether it is that of C: no other order of axes, and no tiles."""
        return not self.tiling and self.major_to_minor == tuple(range(len(self.major_to_minor)))

    def order(self, where: str, ndim: int | None = None) -> Layout | None:
        """What tells such arrays from those that lie row by row; `None` for these.

        Args:
            where: who asks, for error text.
            ndim: how many axes the array has, if that is known.

        Raises:
            ValueError: if the array has other axes, or the layout has tiles or packs elements.
        """
        self.check_rank(len(self.major_to_minor) if ndim is None else ndim, where)
        if self.tiling or self.sub_byte_element_size_in_bits:
            raise ValueError(
                message(
                    where,
                    given=described(self),
                    expected="an order of axes alone, such as Layout((1, 0)): where there are "
                    "tiles, the device has them without being asked",
                    fix="Leave tiling and sub_byte_element_size_in_bits out.",
                )
            )
        return None if self.is_row_major else Layout(self.major_to_minor, ())

    def update(self, **changes: Any) -> Layout:
        """The same layout with some fields changed."""
        return replace(self, **changes)

    def check_compatible_aval(self, aval_shape: Sequence[Any]) -> None:
        """Raise `ValueError` unless these are the axes of arrays of this shape."""
        self.check_rank(len(aval_shape), "Layout.check_compatible_aval")

    @classmethod
    def for_array(cls, x: Any) -> Layout:
        """The layout that arrays like `x` have where no other is asked for.

        Args:
            x: an array, a traced value, a number, or the shape and dtype of one.

        Example:
            >>> import numpy as np
            >>> from morphax.core import Layout
            >>> Layout.for_array(np.ones((2, 3)))
            Layout(major_to_minor=(0, 1), tiling=(), sub_byte_element_size_in_bits=0)
        """
        return cls.row_major(len(x.shape) if hasattr(x, "shape") else aval_of(x).ndim)

    @classmethod
    def row_major(cls, ndim: int) -> Layout:
        """The layout of C, without tiles."""
        return cls(tuple(range(ndim)), ())

    def to_xla(self, ndim: int) -> str:
        """XLA's notation, for values of `ndim` axes; those that are not named are the minor ones.

        Example:
            >>> from morphax.core import Layout
            >>> Layout((1, 0)).to_xla(2), Layout((0, 1), ((8, 128),)).to_xla(2)
            ('{0,1}', '{1,0:T(8,128)}')
        """
        order = (*self.major_to_minor, *range(len(self.major_to_minor), ndim))
        tiles = "".join([f"({','.join(map(str, tile))})" for tile in self.tiling or ()])
        bits = self.sub_byte_element_size_in_bits
        rest = f"{'T' * bool(tiles)}{tiles}{f'E({bits})' if bits else ''}"
        axes = ",".join(map(str, reversed(order)))
        return f"{{{axes}{':' * bool(rest)}{rest}}}"

    @classmethod
    def from_xla(cls, text: str) -> Layout:
        """Read XLA's notation: ``{1,0:T(8,128)E(4)}``, the minor axis first."""
        order, _, rest = text.strip("{}").partition(":")
        minor_to_major = [int(axis) for axis in order.split(",") if axis]
        tiles = re.search(r"T((?:\([\d,]+\))+)", rest)
        bits = re.search(r"E\((\d+)\)", rest)
        return cls(
            tuple(reversed(minor_to_major)),
            tuple(
                tuple(int(size) for size in tile.split(","))
                for tile in re.findall(r"\(([\d,]+)\)", tiles.group(1) if tiles else "")
            ),
            int(bits.group(1)) if bits else 0,
        )


@final
@dataclass(frozen=True, slots=True)
class Format:
    """A layout in memory together with a layout over devices (a sharding); `None` leaves it open.

    Args:
        layout: in memory; with ``Layout.AUTO`` the compiler chooses.
        sharding: over devices.

    Raises:
        TypeError: if one of them is something else.
        ValueError: if `layout` names an order, and `sharding` no devices.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ones((2, 3)).format.layout.major_to_minor
        (0, 1)
    """

    layout: Layout | AutoLayout | None = None
    sharding: Any = None

    def __post_init__(self) -> None:
        if self.layout is not None and not isinstance(self.layout, (Layout, AutoLayout)):
            expected = "None, Layout.AUTO or a Layout"
            raise TypeError(_refusal("layout", self.layout, expected, "Write Layout((0, 1))."))
        # Shardings are defined above this layer; no other class has the property.
        if self.sharding is not None and not hasattr(type(self.sharding), "device_set"):
            fix = "Pass, for instance, jax.NamedSharding(mesh, jax.P('x'))."
            raise TypeError(_refusal("sharding", self.sharding, "None or a jax.Sharding", fix))
        if isinstance(self.layout, Layout) and self.sharding is None:
            expected = "a sharding, where the layout is a Layout"
            fix = "Pass a sharding too: a Layout is that of the parts on each device."
            raise ValueError(_refusal("sharding", None, expected, fix))

    def order(self, where: str, ndim: int | None = None) -> Layout | AutoLayout | None:
        """What tells such arrays from those that lie row by row, see `Layout.order`."""
        layout = self.layout
        return layout.order(where, ndim) if isinstance(layout, Layout) else layout


def _refusal(argument: str, given: Any, expected: str, fix: str) -> str:
    where = f"Format, argument {argument}"
    return message(where, given=described(given), expected=expected, fix=fix)
