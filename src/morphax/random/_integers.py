"""Integers that are all equally likely.

A number below n is a random number of twice the width modulo n: with R = 2ʷ for the width w,
and two draws h and l, it is (h · (R mod n) + l) mod n, computed modulo R.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.ground.kinds import INTEGER
from ..util.messages import message
from ._arguments import drawn_shape, is_number, parameter, placed, requested_dtype
from ._generators import drawn_bits
from ._keys import keys_from, single_key


@replayed(1, arrays=("minval", "maxval"))
def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Integers evenly distributed on [minval, maxval).

    Args:
        key: one key.
        shape: of the result.
        minval: lower bound, an array that can be broadcast to `shape`.
        maxval: upper bound, exclusive, likewise; where it is not above `minval`, the result is
            `minval`.  Bounds that `dtype` cannot hold are moved to its ends, the upper one beyond
            its last number.  Floats become integers of at least 32 bits first.
        dtype: an integer dtype, by default that of Python integers.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.randint(jax.random.key(0), (5,), 0, 10)
        Array([9, 0, 2, 3, 1], dtype=int32)
    """
    typed = single_key("randint", key)
    chosen = requested_dtype("randint", dtype, INTEGER, default=int, error=TypeError)
    shape = drawn_shape("randint", shape, minval, maxval)
    width = max(dtypes.itemsize_bits(chosen), 32)
    if is_number(minval) and is_number(maxval):
        low, count = _known_range(chosen, width, minval, maxval)
    else:
        low, count = _traced_range(chosen, width, minval, maxval, len(shape))
    numbers = lax.convert_element_type(_below(typed, shape, width, count), aval_of(low).dtype)
    if not (is_number(low) and low == 0):
        numbers = lax.add(low, numbers)
    return placed(lax.convert_element_type(numbers, chosen), out_sharding)


def _known_range(dtype: Any, width: int, minval: Any, maxval: Any) -> tuple[Any, Any]:
    """First number, and how many there are, modulo 2ʷ; for bounds that are known while tracing."""
    first, last = _ends(dtype)
    beyond = last + 1
    if isinstance(maxval, (float, np.floating)):
        # Floats become numbers of the dtype to count in, as in JAX.
        beyond = min(beyond, _ends(_working(dtype, width))[1])
    low = _whole("minval", minval, first, last)
    count = max(_whole("maxval", maxval, first, beyond) - low, 1)
    return _working(dtype, width).type(low), _unsigned(width).type(count % (1 << width))


def _whole(name: str, bound: Any, first: int, last: int) -> int:
    """A known bound as an integer in [first, last]."""
    if bound != bound:
        raise ValueError(
            message(
                f"random.randint, argument {name}",
                given=f"{bound}",
                expected="a number",
                fix="Pass an integer.",
            )
        )
    return int(min(max(bound, first), last))


def _traced_range(dtype: Any, width: int, minval: Any, maxval: Any, rank: int) -> tuple[Any, Any]:
    """First number, and how many there are, modulo 2ʷ; for bounds that may be arrays."""
    first, last = _ends(dtype)
    working = _working(dtype, width)
    limit = min(last + 1, _ends(working)[1])
    low = _clamped(minval, first, last, working, rank)
    high = _clamped(maxval, first, limit, working, rank)
    count = lax.convert_element_type(lax.sub(high, low), _unsigned(width))
    if limit == last:
        count = lax.add(count, _exceeds(maxval, last, count.aval.dtype, rank))
    is_empty = lax.le(high, low)
    return low, lax.select_n(is_empty, count, lax.full_like(count, 1))


def _ends(dtype: Any) -> tuple[int, int]:
    info = dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def _unsigned(width: int) -> np.dtype[Any]:
    return np.dtype(f"uint{width}")


def _working(dtype: Any, width: int) -> np.dtype[Any]:
    """The dtype to count in: `dtype` itself, unless it is narrower than `width`."""
    return dtype if dtypes.itemsize_bits(dtype) == width else np.dtype(f"int{width}")


def _clamped(bound: Any, first: int, last: int, working: Any, rank: int) -> Any:
    """A bound moved into [first, last], in the dtype to count in."""
    if is_number(bound):
        return working.type(_whole("minval or maxval", bound, first, last))
    if aval_of(bound).dtype not in INTEGER:
        bound = lax.convert_element_type(bound, working)
    own = aval_of(bound).dtype
    own_first, own_last = _ends(own)
    ends = own.type(max(first, own_first)), own.type(min(last, own_last))
    inside = lax.clamp(ends[0], bound, ends[1])
    return parameter(inside, working, (0,) * rank)


def _exceeds(bound: Any, last: int, dtype: Any, rank: int) -> Any:
    """1 where a bound is above `last`, else 0."""
    if is_number(bound):
        return dtype.type(not isinstance(bound, (float, np.floating)) and bound > last)
    own = aval_of(bound).dtype
    if own not in INTEGER or _ends(own)[1] <= last:
        return dtype.type(0)
    return parameter(lax.gt(bound, own.type(last)), dtype, (0,) * rank)


def _below(key: Any, shape: tuple[int, ...], width: int, count: Any) -> Any:
    """Unsigned numbers below `count`, of which 0 stands for 2ʷ."""
    high, low = [functools.partial(drawn_bits, k, width, shape) for k in keys_from(key)]
    half = 1 << width // 2
    if is_number(count):
        number = int(count) or 1 << width
        carry = (half % number) ** 2 % (1 << width) % number
        if not carry:
            return lax.rem(low(), count) if count else low()
        carry = count.dtype.type(carry)
    else:
        root = lax.rem(np.asarray(half).astype(count.aval.dtype)[()], count)
        carry = lax.rem(lax.mul(root, root), count)
    total = lax.add(lax.mul(lax.rem(high(), count), carry), lax.rem(low(), count))
    return lax.rem(total, count)
