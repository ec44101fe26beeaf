"""Numbers that are all equally likely: bits, floats, coins.

A float in [1, 2) has a fixed exponent and a mantissa of random bits; 1 less, it is uniform on
[0, 1), with as many bits as the mantissa has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.ground.kinds import FLOATING, NUMBER, UNSIGNED
from ..util.memo import memoize
from ..util.messages import message
from ._arguments import drawn_shape, parameter, placed, requested_dtype
from ._generators import drawn_bits
from ._keys import single_key
from ._ranges import check_probability

_WIDTHS = (8, 16, 32, 64)


@replayed(1)
def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Random bits, as unsigned integers.

    Args:
        key: one key.
        shape: of the result.
        dtype: an unsigned integer dtype; uint32 if `None`, with ``jax_enable_x64`` uint64.
        out_sharding: layout of the result over devices.

    Returns:
        Array of the given shape, each number equally likely.

    Example:
        >>> import morphax as jax
        >>> jax.random.bits(jax.random.key(0), (2,), "uint8")
        Array([167, 146], dtype=uint8)
    """
    chosen = requested_dtype("bits", dtype, UNSIGNED, default=np.uint)
    width = dtypes.itemsize_bits(chosen)
    shape = drawn_shape("bits", shape)
    drawn = drawn_bits(single_key("bits", key), max(width, 8), shape)
    return placed(lax.convert_element_type(drawn, chosen), out_sharding)


class _Format(NamedTuple):
    """How to make numbers of a floating dtype in [1, 2) of bits."""

    word: np.dtype[Any]
    drawn_width: int
    surplus: np.unsignedinteger[Any]
    one: Any
    bits_of_one: Any


@memoize
def _format(dtype: Any) -> _Format:
    info = dtypes.finfo(dtype)
    if info.bits not in _WIDTHS:
        raise TypeError(
            message(
                "random numbers, argument dtype",
                given=f"{dtype}",
                expected="a floating dtype of 8, 16, 32 or 64 bits",
                fix="Draw in float32 and convert the numbers.",
            )
        )
    word = np.dtype(f"uint{info.bits}")
    drawn_width = 8 if info.nmant < 8 else info.bits
    one = np.ones((), dtype)
    return _Format(
        word, drawn_width, word.type(drawn_width - info.nmant), one[()], one.view(word)[()]
    )


def unit_interval(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers in [0, 1), for a typed key: random mantissas, with the exponent of 1."""
    word, drawn_width, surplus, one, bits_of_one = _format(dtype)
    drawn = drawn_bits(key, drawn_width, shape)
    mantissa = lax.shift_right_logical(lax.convert_element_type(drawn, word), surplus)
    in_1_2 = lax.bitcast_convert_type(lax.bitwise_or(mantissa, bits_of_one), dtype)
    return lax.sub(in_1_2, one)


def uniform_between(key: Any, shape: tuple[int, ...], dtype: Any, minval: Any, maxval: Any) -> Any:
    """Numbers in [minval, maxval), for a typed key and bounds made by `parameter`."""
    unit = unit_interval(key, shape, dtype)
    are_known = isinstance(minval, np.generic) and isinstance(maxval, np.generic)
    if are_known and (minval, maxval) == (0, 1):
        return unit
    # The maximum matters where the compiler rounds differently, and where maxval is below minval.
    width = maxval - minval if are_known else lax.sub(maxval, minval)
    return lax.max(minval, lax.add(lax.mul(unit, width), minval))


@replayed(1, arrays=("minval", "maxval"))
def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers evenly distributed on [minval, maxval).

    Args:
        key: one key.
        shape: of the result.
        dtype: a floating dtype.
        minval: lower bound, an array that can be broadcast to `shape`.
        maxval: upper bound, likewise.  Rounding may let it occur, unless the bounds are 0 and 1.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.uniform(jax.random.key(0), (3,))
        Array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
    """
    typed = single_key("uniform", key)
    chosen = requested_dtype("uniform", dtype, FLOATING)
    shape = drawn_shape("uniform", shape, minval, maxval)
    bounds = [parameter(bound, chosen, shape) for bound in (minval, maxval)]
    return placed(uniform_between(typed, shape, chosen, *bounds), out_sharding)


def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """True with probability `p`.

    Args:
        key: one key.
        p: the probability, a floating array (...).
        shape: of the result; that of `p` if `None`.
        mode: ``"low"`` draws one number of the dtype of `p` per result, which makes probabilities
            below its precision zero; ``"high"`` draws two.
        out_sharding: layout of the result over devices.

    Returns:
        Array of booleans.

    Raises:
        TypeError: `p` is not floating.
        ValueError: `p` is known and not in [0, 1].

    Example:
        >>> import morphax as jax
        >>> jax.random.bernoulli(jax.random.key(0), 0.9, (3,))
        Array([False, False,  True], dtype=bool)
    """
    check_probability("bernoulli", p)
    return coins(key, p, shape, mode, out_sharding=out_sharding)


@replayed(2)
def coins(key: Any, p: Any, shape: Any, mode: str, *, out_sharding: Any = None) -> Any:
    """Truth values as `bernoulli` gives them, for any `p`."""
    typed = single_key("bernoulli", key)
    dtype = aval_of(p).dtype
    if dtype not in FLOATING:
        raise TypeError(
            message(
                "random.bernoulli, argument p",
                given=aval_of(p).str_short(short_dtypes=False),
                expected="a probability of floating dtype",
                fix="Pass a float, for instance 1.0 instead of 1.",
            )
        )
    check_mode("bernoulli", mode)
    shape = drawn_shape("bernoulli", shape, p)
    probability = parameter(p, dtype, shape)
    if mode == "low":
        drawn = lax.lt(unit_interval(typed, shape, dtype), probability)
    else:
        first, rest = two_digits(typed, shape, dtype)
        drawn = lax.lt(rest, lax.sub(probability, first))
    return placed(drawn, out_sharding)


def two_digits(key: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Two parts of numbers in [0, 1): what one draw gives, and the digits that follow."""
    pair = unit_interval(key, (2, *shape), dtype)
    first, second = lax.unstack(pair)
    return first, lax.mul(second, dtypes.finfo(dtype).eps)


def check_mode(function: str, mode: Any) -> None:
    """Raise `ValueError` unless `mode` is one of the two precisions of a draw."""
    if mode not in ("low", "high"):
        raise ValueError(
            message(
                f"random.{function}, argument mode",
                given=f"{mode!r}",
                expected="'low' or 'high'",
                fix="Leave the argument out.",
            )
        )


@replayed(1)
def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """−1 or 1, equally likely.

    Args:
        key: one key.
        shape: of the result.
        dtype: a numeric dtype, by default that of Python integers.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.rademacher(jax.random.key(0), (4,))
        Array([-1, -1,  1,  1], dtype=int32)
    """
    chosen = requested_dtype("rademacher", dtype, NUMBER, default=int)
    heads = lax.convert_element_type(
        coins(key, 0.5, drawn_shape("rademacher", shape), "low"), chosen
    )
    two, one = (np.asarray(n).astype(chosen)[()] for n in (2, 1))
    return placed(lax.sub(lax.mul(two, heads), one), out_sharding)
