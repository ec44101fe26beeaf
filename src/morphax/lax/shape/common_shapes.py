"""The shape that arrays have together."""

from __future__ import annotations

from typing import Any

from ...core.dims import Shape
from ...core.dims import broadcast_shapes as common_shape
from ...errors import ShapeError
from ...util.memo import memoize
from ...util.messages import message
from ..ground.axes import canonical_shape


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that arrays of the given shapes have when broadcast against each other.

    Raises:
        ValueError: if two sizes of one axis differ and neither is 1.

    Example:
        >>> import morphax as jax
        >>> jax.lax.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    where = "lax.broadcast_shapes"
    return _broadcast_shapes(tuple([canonical_shape(where, shape) for shape in shapes]))


@memoize
def _broadcast_shapes(shapes: tuple[Shape, ...]) -> Shape:
    try:
        return common_shape(shapes)
    except ValueError:
        text = message(
            "lax.broadcast_shapes",
            given=f"Incompatible shapes for broadcasting: {' and '.join(map(str, shapes))}",
            expected="sizes that agree or are 1, axes counted from the last",
            fix="Insert axes of size 1 where an operand should be repeated.",
        )
        raise ShapeError(text) from None
