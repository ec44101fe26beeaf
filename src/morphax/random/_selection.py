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
from ..lax.axes import canonical_axis, canonical_shape
from ..lax.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..lax.kinds import FLOATING, INTEGER
from ..lax.random_bits import random_bits_p
from ..util.messages import message
from ._arguments import drawn_shape, parameter, placed
from ._integers import randint
from ._inversion import gumbel_numbers
from ._keys import single_key, two_keys
from ._uniform import unit_interval


def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """The elements of `x`, or the numbers below `x`, in random order.

    Args:
        x: an array, or an integer n, which stands for 0, 1, …, n − 1.
        axis: along which the order changes.
        independent: whether each line along `axis` gets an order of its own; otherwise slices
            stay together.

    Returns:
        Array of the shape of `x`, or (n,).

    Raises:
        TypeError: `x` is neither an array of rank 1 at least nor an integer.

    Example:
        >>> import morphax as jax
        >>> jax.random.permutation(jax.random.key(0), 5)
        Array([1, 4, 3, 0, 2], dtype=int32)
    """
    typed = single_key("permutation", key)
    aval = aval_of(x)
    if not aval.shape and aval.dtype not in INTEGER:
        raise TypeError(
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
        return placed(_shuffled(typed, _numbers_below(max(index(x), 0)), 0), out_sharding)
    if independent or aval.ndim == 1:
        return placed(_shuffled(typed, x, axis), out_sharding)
    order = _shuffled(typed, _numbers_below(aval.shape[axis]), 0)
    return placed(_taken(x, order, axis), out_sharding)


def _numbers_below(count: int) -> Any:
    return lax.iota(dtypes.canonicalize(int), count)


def _shuffled(key: Any, x: Any, axis: int) -> Any:
    """`x` sorted by random numbers along an axis, as often as it takes to make ties harmless.

    After r rounds two elements are in the order they came in if all their r pairs of 32-bit numbers
    were equal.  With n elements and n³ below 2³²ʳ, hardly any pair is.
    """
    shape = aval_of(x).shape
    size = math.prod(shape)
    rounds = math.ceil(3 * math.log(max(size, 1)) / math.log((1 << 32) - 1))
    for _ in range(rounds):
        key, subkey = two_keys(key)
        sort_keys = random_bits_p.bind(subkey, bit_width=32, shape=shape)
        _, x = lax.sort((sort_keys, x), dimension=axis, is_stable=True, num_keys=1)
    return x


def _taken(x: Any, indices: Any, axis: int) -> Any:
    """Slices of `x` along `axis`; the axes of `indices`, all in bounds, take its place."""
    shape, rank = aval_of(x).shape, aval_of(indices).ndim
    before, after = range(axis), range(axis + rank, len(shape) - 1 + rank)
    numbers = GatherDimensionNumbers(
        offset_dims=(*before, *after), collapsed_slice_dims=(axis,), start_index_map=(axis,)
    )
    return lax.gather(
        x,
        lax.expand_dims(indices, (rank,)),
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
            not one probability per element.

    Example:
        >>> import morphax as jax
        >>> jax.random.choice(jax.random.key(0), 5, (3,), replace=False)
        Array([1, 4, 3], dtype=int32)
    """
    typed = single_key("choice", key)
    aval = aval_of(a)
    sizes = canonical_shape("random.choice, argument shape", shape)
    axis = canonical_axis("random.choice, argument axis", axis, max(aval.ndim, 1))
    population = aval.shape[axis] if aval.shape else index(a)
    sample = math.prod(sizes)
    _check_sample(population, sample, replace)
    if not sample:
        chosen = lax.full(sizes, 0, dtypes.canonicalize(int))
    elif p is not None:
        chosen = _chosen_by_weight(typed, _weights(p, population), sizes, replace, mode)
    elif replace:
        chosen = randint(typed, sizes, 0, population)
    else:
        order = _shuffled(typed, _numbers_below(population), 0)
        chosen = lax.reshape(lax.slice_in_dim(order, 0, sample), sizes)
    return _taken(a, chosen, axis) if aval.shape else chosen
