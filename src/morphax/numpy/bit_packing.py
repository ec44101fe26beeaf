"""Truth values as the bits of bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer
from ..util.messages import message
from .axes import canonical_axis
from .operands import as_array, as_truth
from .shaping import moveaxis, ravel

_BYTE = np.dtype(np.uint8)
_WORD = np.dtype(np.uint32)
# Elements behind an axis: of fewer, NumPy goes bit by bit as fast.
_WORTH_ROWS = 16


def _weights(name: str, bitorder: Any, shape: Any) -> Any:
    """The weight of each of eight bits, which are the last axis of `shape`.

    They are counted, not read from a constant, which XLA does not make vectors of.
    """
    if bitorder not in ("big", "little"):
        raise ValueError(
            message(
                f"jnp.{name}, argument bitorder",
                given=f"{bitorder!r:.80}",
                expected="'big' or 'little'",
                fix="Pass bitorder='big' for the first bit to be the highest.",
            )
        )
    place = lax.broadcasted_iota(_BYTE, shape, len(shape) - 1)
    if bitorder == "big":
        return lax.shift_right_logical(lax.full_like(place, 128), place)
    return lax.shift_left(lax.full_like(place, 1), place)


def _last(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    """An array with the axis of bits last, and where that axis stood."""
    if axis is None or not a.aval.ndim:
        return ravel(a), 0
    place = canonical_axis(name, axis, a.aval.ndim)
    return moveaxis(a, place, -1), place


def _packbits_of_numpy(
    out: Any, a: Any, axis: int | None = None, bitorder: Any = "big"
) -> Callable[..., Any]:
    """NumPy's own, of arrays that have the axis; where it goes bit by bit, whole rows at once.

    It is given truth values, for it looks at other numbers one by one.
    """
    along = axis if a.ndim else None
    sizes = None if along is None else _around(a.shape, along)
    if not out.size or sizes is None:
        return lambda a: np.packbits(_as_flags(a), along, bitorder)
    front, count, rest = sizes
    weights = _words(bitorder)

    def packed(a: Any) -> Any:
        bits = _as_flags(a).view(np.uint8).reshape(sizes)
        result = np.zeros((front, -(-count // 8), rest), np.uint8)
        for place, weight in enumerate(weights[:count]):
            rows = bits[:, place::8]
            weighted = result[:, : rows.shape[1]]
            np.bitwise_or(weighted, rows * weight, weighted)
        return result.reshape(out.shape)

    return packed


def _as_flags(a: Any) -> Any:
    return a if a.dtype == np.bool_ else np.not_equal(a, 0)


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int] | None:
    """The sizes in front of an axis, of it and behind it; None if rows behind it are short."""
    axis %= len(shape)
    sizes = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    return sizes if sizes[2] >= _WORTH_ROWS else None


def _words(bitorder: Any) -> Any:
    """The bytes that hold one bit each, in the order of the bits."""
    return np.packbits(np.eye(8, dtype=bool), 1, bitorder).ravel()


def _unpackbits_of_numpy(
    out: Any, a: Any, axis: int | None = None, count: int | None = None, bitorder: Any = "big"
) -> Callable[..., Any] | None:
    """NumPy's own, which leaves out no more bits than there are, and adds none to no bytes."""
    along = axis if a.ndim else None
    size = a.size if along is None else a.shape[along]
    if count is not None and (count < -8 * size or not size):
        return None
    sizes = None if along is None or count is not None else _around(a.shape, along)
    if sizes is None or not out.size:
        return lambda a: np.unpackbits(np.atleast_1d(a), along, count, bitorder)
    front, _, rest = sizes
    weights = _words(bitorder)

    def unpacked(a: Any) -> Any:
        words, bits = a.reshape(sizes), np.empty((front, 8 * size, rest), np.uint8)
        for place, weight in enumerate(weights):
            np.not_equal(words & weight, 0, bits[:, place::8].view(np.bool_))
        return bits.reshape(out.shape)

    return unpacked


@replayed(1, by_numpy=_packbits_of_numpy)
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Eight truth values along an axis to one byte; missing ones at the end count as false.

    Args:
        a: booleans or integers (..., n, ...); a number is true unless it is zero.
        axis: of the bits; by default the array is flattened.
        bitorder: ``"big"`` if the first bit of a byte is the highest, ``"little"`` if the lowest.

    Returns:
        Array (..., ⌈n / 8⌉, ...) of dtype uint8.

    Raises:
        TypeError: the numbers are not integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.packbits(jnp.array([1, 0, 1]))
        Array([160], dtype=uint8)
    """
    a = as_array("packbits", a)
    if not (a.aval.dtype == np.bool_ or dtypes.issubdtype(a.aval.dtype, np.integer)):
        raise _wrong_dtype("packbits", a, "integers or booleans", "Compare with 0 first.")
    bits, place = _last("packbits", a, axis)
    *rest, count = bits.aval.shape
    size = -(-count // 8)
    padding = [(0, 0, 0)] * len(rest) + [(0, 8 * size - count, 0)]
    bits = convert(lax.pad(as_truth("packbits", bits), np.bool_(False), padding), _BYTE)
    bits = lax.reshape(bits, (*rest, size, 8))
    # Different bits: their sum is their union.  XLA sums bytes more slowly than words.
    weighted = lax.mul(bits, _weights("packbits", bitorder, (*rest, size, 8)))
    packed = convert(lax.reduce_sum(convert(weighted, _WORD), (len(rest) + 1,)), _BYTE)
    return moveaxis(packed, -1, place)


@replayed(1, by_numpy=_unpackbits_of_numpy)
def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """The bits of bytes along an axis, each as 0 or 1.

    Args:
        a: bytes (..., n, ...) of dtype uint8.
        axis: to go along; by default the array is flattened.
        count: how many bits to give along the axis; zeros follow if there are fewer.  If negative,
            as many are left out at the end.
        bitorder: ``"big"`` if the highest bit of a byte comes first, ``"little"`` if the lowest.

    Returns:
        Array (..., 8 n, ...) of dtype uint8.

    Raises:
        TypeError: `a` has another dtype.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.unpackbits(jnp.array([160], jnp.uint8), count=3)
        Array([1, 0, 1], dtype=uint8)
    """
    a = as_array("unpackbits", a)
    if a.aval.dtype != _BYTE:
        raise _wrong_dtype("unpackbits", a, "bytes: dtype uint8", "Convert with astype('uint8').")
    packed, place = _last("unpackbits", a, axis)
    *rest, size = packed.aval.shape
    shape = (*rest, size, 8)
    packed = lax.broadcast_in_dim(packed, shape, range(len(rest) + 1))
    weights = _weights("unpackbits", bitorder, shape)
    bits = convert(lax.ne(lax.bitwise_and(packed, weights), lax.full_like(packed, 0)), _BYTE)
    bits = lax.reshape(bits, (*rest, 8 * size))
    if count is not None:
        wanted = integer("jnp.unpackbits, argument count", count)
        wanted = max(8 * size + wanted, 0) if wanted < 0 else wanted
        bits = lax.pad(bits, _BYTE.type(0), [(0, 0, 0)] * len(rest) + [(0, wanted - 8 * size, 0)])
    return moveaxis(bits, -1, place)


def _wrong_dtype(name: str, a: Any, expected: str, fix: str) -> TypeError:
    return TypeError(message(f"jnp.{name}", given=f"{a.aval}", expected=expected, fix=fix))
