"""Layouts: in which order the elements of an array lie in the memory of a device.

References: XLA, "Shapes and layout", https://openxla.org/xla/shapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from ..util.messages import described, message


@final
class AutoLayout:
    """The compiler chooses; there is one, `Layout.AUTO`."""

    __slots__ = ()

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
        if len(self.major_to_minor) != ndim:
            raise ValueError(
                message(
                    where,
                    given=f"major_to_minor={self.major_to_minor} for an array of {ndim} axes",
                    expected="each axis of the array once",
                    fix="Name all axes of the array, from the largest stride to the smallest.",
                )
            )

    def update(self, **changes: Any) -> Layout:
        """The same layout with some fields changed."""
        return replace(self, **changes)

    @classmethod
    def row_major(cls, ndim: int) -> Layout:
        """The layout of C, without tiles."""
        return cls(tuple(range(ndim)), ())

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

    def row_major(self, where: str, ndim: int | None = None) -> Any:
        """The sharding; arrays lie row by row outside of programs.

        Args:
            where: who asks, for error text.
            ndim: how many axes the array has, if that is known.

        Raises:
            ValueError: if the layout is another one.
        """
        layout = self.layout
        if isinstance(layout, Layout):
            if ndim is not None:
                layout.check_rank(ndim, where)
            in_order = layout.major_to_minor == tuple(range(len(layout.major_to_minor)))
            if not in_order or layout.tiling or layout.sub_byte_element_size_in_bits:
                raise ValueError(
                    message(
                        where,
                        given=described(layout),
                        expected="an array whose elements lie row by row, Layout((0, 1, ...)): "
                        "those that programs take and give, and those outside, do",
                        fix="Leave the layout open, Format(None, sharding), and lay values out "
                        "inside of the program, by experimental.layout.with_layout_constraint.",
                    )
                )
        return self.sharding


def _refusal(argument: str, given: Any, expected: str, fix: str) -> str:
    where = f"Format, argument {argument}"
    return message(where, given=described(given), expected=expected, fix=fix)
