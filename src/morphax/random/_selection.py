"""Choosing among things: permutations, samples of a population, categories.

To shuffle is to sort by random numbers.  To choose category i with probability proportional to e^ℓᵢ
is to take the largest ℓᵢ + gᵢ, where the gᵢ are Gumbel numbers; the k largest are k choices without
replacement.

Reference: Yellott, "The relationship between Luce's choice axiom, Thurstone's theory of comparative
judgment, and the double exponential distribution", J. Math. Psychology 15 (1977).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.ground.axes import canonical_axis, canonical_shape, integer
from ..lax.ground.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..lax.ground.kinds import FLOATING, INTEGER
from ..lax.ground.linear_structure import moved_axis
from ..util.messages import message
from ._arguments import placed, requested_dtype
from ._generators import drawn_bits
from ._integers import randint
from ._inversion import gumbel_numbers
from ._keys import keys_from, single_key
from ._ranges import check_weights
from ._uniform import unit_interval


def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """The elements of `x`, or the numbers below `x`, in random order.

    Args:
        key: one key.
        x: an array, or an integer n, which stands for 0, 1, …, n − 1.
        axis: along which the order changes.
        independent: whether each line along `axis` gets an order of its own; otherwise slices
            stay together.
        out_sharding: layout of the result over devices.

    Returns:
        Array of the shape of `x`, or (n,).

    Raises:
        TypeError: `x` is neither an array of rank 1 at least nor an integer.

    Example:
        >>> import morphax as jax
        >>> jax.random.permutation(jax.random.key(0), 5)
        Array([0, 1, 4, 3, 2], dtype=int32)
    """
    typed = single_key("permutation", key)
    aval = aval_of(x)
    if not aval.shape and aval.dtype not in INTEGER:
        raise ShapeError(
            message(
                "random.permutation, argument x",
                given=aval.str_short(short_dtypes=False),
                expected="an integer, or an array of rank 1 at least",
                fix="Pass the number of things, or an array of them.",
            )
        )
    where = "random.permutation, argument axis"
    axis = canonical_axis(where, axis, max(aval.ndim, 1))
    if not aval.shape:
        return placed(_shuffled_numbers(typed, max(index(x), 0)), out_sharding)
    if independent or aval.ndim == 1:
        return placed(_shuffled(typed, x, axis), out_sharding)
    order = _shuffled_numbers(typed, aval.shape[axis])
    return placed(_taken(x, order, axis), out_sharding)


@replayed(1)
def _shuffled_numbers(key: Any, count: int) -> Any:
    return _shuffled(key, _numbers_below(count), 0)


def _numbers_below(count: int) -> Any:
    return lax.iota(dtypes.canonicalize(int), count)


@replayed(2)
def _shuffled(key: Any, x: Any, axis: int) -> Any:
    """`x` sorted by random numbers along an axis, as often as it takes to make ties harmless.

    Two elements keep their order if they draw equal 32-bit numbers in each of r rounds; where n³ is
    below 2³²ʳ, hardly any two of n elements do.
    """
    shape = aval_of(x).shape
    size = math.prod(shape)
    rounds = math.ceil(3 * math.log(max(size, 1)) / math.log((1 << 32) - 1))
    for _ in range(rounds):
        key, subkey = keys_from(key)
        sort_keys = drawn_bits(subkey, 32, shape)
        _, x = lax.sort((sort_keys, x), dimension=axis, is_stable=True, num_keys=1)
    return x


@replayed(2)
def _taken(x: Any, indices: Any, axis: int) -> Any:
    """Slices of `x` along `axis`; the axes of `indices`, all in bounds, take its place."""
    shape, own = aval_of(x).shape, aval_of(indices).shape
    if 0 in own:
        nothing = lax.slice_in_dim(x, 0, 0, axis=axis)
        return lax.reshape(nothing, (*shape[:axis], *own, *shape[axis + 1 :]))
    before, after = range(axis), range(axis + len(own), len(shape) - 1 + len(own))
    numbers = GatherDimensionNumbers(
        offset_dims=(*before, *after), collapsed_slice_dims=(axis,), start_index_map=(axis,)
    )
    return lax.gather(
        x,
        lax.expand_dims(indices, (len(own),)),
        numbers,
        slice_sizes=(*shape[:axis], 1, *shape[axis + 1 :]),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def choice(
    key: Any,
    a: Any,
    shape: Sequence[int] = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: Any = None,
) -> Any:
    """Elements chosen at random.

    Args:
        key: one key.
        a: an array, or an integer n, which stands for 0, 1, …, n − 1.
        shape: of the sample.
        replace: whether an element may be chosen again.
        p: how probable each element is, an array (n,) of sum 1; all equally if `None`.
        axis: of `a`, along which slices are chosen.
        mode: as in `gumbel`, for a choice with `p` and without replacement.

    Returns:
        Array of the shape of `a` with `shape` in the place of `axis`.

    Raises:
        ValueError: there is nothing to choose from, the sample exceeds the population, or `p` has
            not one probability per element, or is known and has negative ones.

    Example:
        >>> import morphax as jax
        >>> jax.random.choice(jax.random.key(0), 5, (3,), replace=False)
        Array([0, 1, 4], dtype=int32)
    """
    typed = single_key("choice", key)
    aval = aval_of(a)
    sizes = canonical_shape("random.choice, argument shape", shape)
    axis = canonical_axis("random.choice, argument axis", axis, max(aval.ndim, 1))
    population = aval.shape[axis] if aval.shape else integer("random.choice, argument a", a)
    sample = math.prod(sizes)
    _check_sample(population, sample, replace)
    if not sample:
        chosen = lax.full(sizes, 0, dtypes.canonicalize(int))
    elif p is not None:
        check_weights("choice", p)
        chosen = _chosen_by_weight(typed, _weights(p, population), sizes, replace, mode)
    elif replace:
        chosen = randint(typed, sizes, 0, population)
    else:
        order = _shuffled_numbers(typed, population)
        chosen = lax.reshape(lax.slice_in_dim(order, 0, sample), sizes)
    return _taken(a, chosen, axis) if aval.shape else chosen


def _check_sample(population: int, sample: int, replace: bool) -> None:
    if sample and population < 1:
        expected, fix = "at least one element to choose from", "Pass an array that is not empty."
    elif not replace and sample > population:
        expected, fix = "a sample no larger than the population", "Pass replace=True."
    else:
        return
    raise ValueError(
        message(
            "random.choice",
            given=f"a population of {population}, a sample of {sample}, replace={replace}",
            expected=expected,
            fix=fix,
        )
    )


def _weights(p: Any, population: int) -> Any:
    """The probabilities in a floating dtype; one for each element of the population."""
    aval = aval_of(p)
    if aval.shape != (population,):
        raise ShapeError(
            message(
                "random.choice, argument p",
                given=aval.str_short(short_dtypes=False),
                expected=f"one probability for each of the {population} elements",
                fix="Pass an array of rank 1 with the length of the axis.",
            )
        )
    return p if aval.dtype in FLOATING else lax.convert_element_type(p, float)


@replayed(2)
def _chosen_by_weight(key: Any, p: Any, shape: tuple[int, ...], replace: bool, mode: Any) -> Any:
    dtype = aval_of(p).dtype
    if not replace:
        weighted = lax.add(gumbel_numbers("choice", key, aval_of(p).shape, dtype, mode), lax.log(p))
        _, chosen = lax.top_k(weighted, math.prod(shape))
        return lax.convert_element_type(lax.reshape(chosen, shape), int)
    sums = lax.cumsum(p)
    total = lax.index_in_dim(sums, -1, keepdims=False)
    # 1 − u lies in (0, 1]: an element of probability 0 is never chosen.
    points = lax.mul(total, lax.sub(dtype.type(1), unit_interval(key, shape, dtype)))
    return lax.convert_element_type(_count_below(sums, points), int)


def _count_below(ascending: Any, points: Any) -> Any:
    """How many of the ascending numbers lie below each point, by bisection."""
    (size,) = aval_of(ascending).shape
    count = lax.full_like(points, 0, np.int32)
    for exponent in reversed(range(size.bit_length())):
        longer = lax.add(count, np.int32(1 << exponent))
        last = lax.min(longer, np.int32(size))
        is_below = lax.lt(_taken(ascending, lax.sub(last, np.int32(1)), 0), points)
        fits = lax.bitwise_and(is_below, lax.le(longer, np.int32(size)))
        count = lax.select(fits, longer, count)
    return count


@replayed(1, arrays=("logits",))
def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers of categories, category i with probability proportional to e^(logitsᵢ).

    Args:
        key: one key.
        logits: floating array whose axis `axis` runs over the categories.
        axis: of `logits`.
        shape: of the result; its last axes are those of `logits` without `axis`, to which they can
            be broadcast.  Those alone if `None`.
        replace: whether the samples along the leading axes of `shape` may repeat a category.
        mode: as in `gumbel`.
        out_sharding: layout of the result over devices.

    Returns:
        Array of integers of the given shape.

    Raises:
        ValueError: the shape does not fit, or there are more samples without replacement than
            categories.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.random.categorical(jax.random.key(0), jnp.array([0.0, 1.0, 2.0]), shape=(4,))
        Array([1, 1, 2, 1], dtype=int32)
    """
    typed = single_key("categorical", key)
    aval = aval_of(logits)
    axis = canonical_axis("random.categorical, argument axis", axis, aval.ndim)
    batch = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    sizes = batch if shape is None else canonical_shape("random.categorical, argument shape", shape)
    if not _ends_with(sizes, batch):
        raise ShapeError(
            message(
                "random.categorical, argument shape",
                given=f"{sizes} for logits of shape {aval.shape} with categories along axis {axis}",
                expected=f"a shape to which {batch} can be broadcast",
                fix="Put the number of samples in front of the axes of the logits.",
            )
        )
    requested_dtype("categorical", aval.dtype, FLOATING)
    draw = _categories if replace else _different_categories
    return placed(draw(typed, logits, axis, sizes, mode), out_sharding)


def _ends_with(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    ends = shape[len(shape) - len(batch) :] if len(shape) >= len(batch) else None
    return ends is not None and all(b in (1, n) for b, n in zip(batch, ends, strict=True))


def _categories(key: Any, logits: Any, axis: int, shape: tuple[int, ...], mode: Any) -> Any:
    aval = aval_of(logits)
    place = axis + len(shape) - (aval.ndim - 1)
    drawn = (*shape[:place], aval.shape[axis], *shape[place:])
    noise = gumbel_numbers("categorical", key, drawn, aval.dtype, mode)
    total = lax.add(noise, lax.broadcast_to_rank(logits, len(drawn)))
    return lax.argmax(total, place, dtypes.canonicalize(int))


def _different_categories(
    key: Any, logits: Any, axis: int, shape: tuple[int, ...], mode: Any
) -> Any:
    aval = aval_of(logits)
    samples = shape[: len(shape) - (aval.ndim - 1)]
    batch = shape[len(samples) :]
    count, categories = math.prod(samples), aval.shape[axis]
    if count > categories:
        raise ValueError(
            message(
                "random.categorical, argument shape",
                given=f"{count} samples of {categories} categories, with replace=False",
                expected="no more samples than categories",
                fix="Pass replace=True.",
            )
        )
    drawn = (*batch[:axis], categories, *batch[axis:])
    noise = gumbel_numbers("categorical", key, drawn, aval.dtype, mode)
    total = moved_axis(lax.add(logits, noise), axis, len(batch))
    _, chosen = lax.top_k(total, count)
    return lax.reshape(moved_axis(chosen, len(batch), 0), shape)
