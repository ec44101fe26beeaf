"""Counts: of events in a time (Poisson), of successes in trials (binomial, multinomial)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..control.loops.scans import scan
from ..core import aval_of, current_trace
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.ground.kinds import FLOATING, INTEGER, REAL
from ..util.messages import message
from ._approximations import is_approximate, poisson_number
from ._arguments import fitted_shape, placed, prepared, repeated, requested_dtype
from ._count_numbers import random_binomial_p, random_poisson_p
from ._generators import split_keys
from ._keys import single_key
from ._ranges import check_rate, check_weights

_FEW_OUTCOMES = range(1, 1001)
"""Drawn one after another in eager mode; to draw more it compiles a loop."""


def poisson(
    key: Any,
    lam: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """How many events there are in a time in which `lam` are expected.

    Args:
        key: one key.
        lam: the expected number, an array (...).
        shape: of the result.
        dtype: an integer dtype, by default that of Python integers.
        method: ``"exact"``, by rejection, or ``"approximate"``: by a formula without loops, of
            which the total variation distance from the distribution is below 10⁻⁴.
        out_sharding: layout of the result over devices.

    Raises:
        ValueError: `lam` is known, and negative or infinite, or `method` is unknown.

    Example:
        >>> import morphax as jax
        >>> jax.random.poisson(jax.random.key(0), 3.0, (4,)).dtype
        dtype('int32')
    """
    check_rate("poisson", "lam", lam)
    if is_approximate("poisson", method):
        return _approximate_counts(key, lam, shape, dtype, out_sharding=out_sharding)
    return _counts(key, lam, shape, dtype, out_sharding=out_sharding)


@replayed(2)
def _counts(key: Any, lam: Any, shape: Any, dtype: Any, *, out_sharding: Any) -> Any:
    integer = requested_dtype("poisson", dtype, INTEGER, default=int)
    # In single precision, as in JAX, whatever ``jax_enable_x64`` says.
    typed, shape, _, lam = prepared("poisson", key, shape, np.float32, lam)
    if not math.prod(shape):
        return placed(lax.full(shape, 0, integer), out_sharding)
    # Counts do not change with the parameter, except by jumps.
    numbers = random_poisson_p.drawn(typed, lax.stop_gradient(repeated(lam, shape)))
    return placed(lax.convert_element_type(numbers, integer), out_sharding)


@replayed(2)
def _approximate_counts(key: Any, lam: Any, shape: Any, dtype: Any, *, out_sharding: Any) -> Any:
    integer = requested_dtype("poisson", dtype, INTEGER, default=int)
    typed, shape, floating, lam = prepared("poisson", key, shape, None, lam)
    numbers = poisson_number(typed, lax.stop_gradient(lam), shape, floating)
    return placed(lax.convert_element_type(numbers, integer), out_sharding)


@replayed(3)
def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """How many of `n` trials succeed, if each does with probability `p`.

    Args:
        key: one key.
        n: the number of trials, an array (...).
        p: the probability, an array (...).
        shape: of the result.
        dtype: a floating dtype.

    Returns:
        Array of whole numbers of floating dtype; NaN where `n` or `p` is NaN or negative.

    Example:
        >>> import morphax as jax
        >>> jax.random.binomial(jax.random.key(0), 10, 0.5, (4,)).dtype
        dtype('float32')
    """
    chosen = requested_dtype("binomial", dtype, FLOATING)
    typed, shape, _, n, p = prepared("binomial", key, shape, _precision(n, p), n, p)
    if not math.prod(shape):
        return lax.full(shape, 0, chosen)
    parameters = [lax.stop_gradient(repeated(x, shape)) for x in (n, p)]
    return lax.convert_element_type(random_binomial_p.drawn(typed, *parameters), chosen)


def _precision(*parameters: Any) -> Any:
    """The dtype to draw in: that of the parameters, as in JAX, whatever dtype is asked for."""
    common = dtypes.result_type(*parameters)
    common = common if common in FLOATING else dtypes.canonicalize(float)
    # Halves are drawn in single precision: they do not hold the candidates.
    return common if common.itemsize >= 4 else np.dtype(np.float32)


def multinomial(
    key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1
) -> Any:
    """How many of `n` trials have each of several outcomes.

    Args:
        key: one key.
        n: the number of trials, an array (...).
        p: the probabilities of the outcomes, an array (..., k); only their ratios matter.
        shape: of the result without its last axis, (...); that of `p` if `None`.
        dtype: a floating or integer dtype.
        unroll: outcomes per step of the compiled loop, as in `lax.scan`.

    Returns:
        Array (..., k) of whole numbers, floats by default, whose sums over the last axis are `n`.

    Raises:
        ShapeError: `p` has no axis, or `shape` is none to which `n` and ``p[..., 0]`` broadcast.
        ValueError: `p` is known and has negative numbers in it.

    Example:
        >>> import morphax as jax
        >>> jax.random.multinomial(jax.random.key(0), 10, jax.numpy.array([0.5, 0.5, 0.0])).sum()
        Array(10., dtype=float32)
    """
    check_weights("multinomial", p)
    typed = single_key("multinomial", key)
    sizes = _shape_of_counts(shape, aval_of(n).shape, aval_of(p).shape)
    chosen, precision = requested_dtype("multinomial", dtype, REAL), _precision(n, p)
    *_, p = prepared("multinomial", key, sizes, precision, p)
    *_, n = prepared("multinomial", key, sizes[:-1], precision, n)
    left, shares = _shares(n, p, sizes, precision)
    steps = shares, split_keys(typed, sizes[-1:])
    if current_trace().stages or sizes[-1] not in _FEW_OUTCOMES:
        _, counts = scan(lambda left, step: _outcome(left, *step), left, steps, unroll=unroll)
    else:
        rows = []
        for step in zip(*map(lax.unstack, steps), strict=True):
            left, count = _outcome(left, *step)
            rows.append(lax.expand_dims(count, (0,)))
        counts = lax.concatenate(rows, 0)
    counts = lax.convert_element_type(counts, chosen)
    return lax.transpose(counts, (*range(1, len(sizes)), 0))


def _shape_of_counts(
    shape: Any, trials: tuple[int, ...], probabilities: tuple[int, ...]
) -> tuple[int, ...]:
    if not probabilities:
        raise ShapeError(
            message(
                "random.multinomial, argument p",
                given="a number",
                expected="an array whose last axis has the probabilities of all outcomes",
                fix="Pass the probabilities of the other outcomes too: they decide how many.",
            )
        )
    batch = probabilities[:-1]
    sizes = fitted_shape("multinomial", batch if shape is None else shape, trials, batch)
    return *sizes, probabilities[-1]


@replayed(2)
def _shares(n: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """The trials, and of each outcome its share in what it and those after it have."""
    batch = shape[:-1]
    outcomes = lax.transpose(repeated(p, shape), (len(batch), *range(len(batch))))
    remaining = lax.cumsum(outcomes, axis=0, reverse=True)
    is_zero = lax.eq(remaining, dtype.type(0))
    shares = lax.div(outcomes, lax.select(is_zero, lax.full_like(remaining, 1), remaining))
    return repeated(n, batch), lax.clamp(dtype.type(0), shares, dtype.type(1))


@replayed(3)
def _outcome(left: Any, share: Any, key: Any) -> tuple[Any, Any]:
    """The trials that an outcome leaves, and how many have it."""
    count = random_binomial_p.drawn(key, lax.stop_gradient(left), lax.stop_gradient(share))
    return lax.sub(left, count), count
