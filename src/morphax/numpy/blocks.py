"""Arrays put together from a nested list of blocks."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..engines.reference.replay import replayed
from ..util.messages import message
from .joining import concatenate
from .operands import as_array


@replayed(1)
def block(arrays: Any) -> Any:
    """The array that a nested list of blocks shows.

    Args:
        arrays: a block, or a list of blocks, joined along the last axis; a list of such lists is
            joined along the axis before it, and so on.  Blocks get leading axes of size 1 until all
            have equally many.

    Raises:
        ValueError: a list is empty, or a block is as deep as a list beside it.
        TypeError: there is a tuple.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.ones((1, 3))]])
        Array([[1., 0., 0.],
               [0., 1., 0.],
               [1., 1., 1.]], dtype=float32)
    """
    depth = _depth(arrays)
    return _joined(arrays, depth, max(_rank(arrays), depth))


def _depth(arrays: Any) -> int:
    """How deeply lists are nested, which has to be the same everywhere."""
    if isinstance(arrays, tuple):
        raise TypeError(_wrong("a tuple", "Write lists, or make an array."))
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(member) for member in arrays}
    if len(depths) != 1:
        given = "lists beside blocks that are no lists" if depths else "an empty list"
        raise ValueError(_wrong(given, "Nest lists equally deep, with a block in each."))
    return 1 + depths.pop()


def _wrong(given: str, fix: str) -> str:
    return message("jnp.block", given=given, expected="a block, or nested lists of blocks", fix=fix)


def _rank(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(map(_rank, arrays))
    return as_array("block", arrays).aval.ndim


def _joined(arrays: Any, depth: int, rank: int) -> Any:
    if isinstance(arrays, list):
        return concatenate([_joined(member, depth - 1, rank) for member in arrays], -depth)
    array = as_array("block", arrays)
    missing = rank - array.aval.ndim
    return lax.expand_dims(array, range(missing)) if missing else array
