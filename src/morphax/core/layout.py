"""Layouts: in which order the elements of an array lie in the memory of a device.

References: XLA, "Shapes and layout", https://openxla.org/xla/shapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, final


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

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ones((2, 3)).format.layout.major_to_minor
        (0, 1)
    """

    layout: Layout | None = None
    sharding: Any = None
