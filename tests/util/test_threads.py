"""Eager operations on many numbers: the same bits in parts, by any number of threads, as in one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.util import threads
from morphax.util.compiled import part

MANY = threads.WORTH_SHARING
# Around the sizes where parts and vectors begin, and where work is shared at all.
SIZES = (MANY - 1, MANY, MANY + 1, MANY + 4095, MANY + 4097, 3 * MANY + 17)
UNARY = (lax.exp, lax.log, lax.tanh, lax.sin, lax.sqrt, lax.neg, lax.abs, lax.floor, lax.is_finite)
BINARY = (lax.add, lax.mul, lax.div, lax.pow, lax.atan2, lax.max, lax.min, lax.rem, lax.lt)

needs_threads = pytest.mark.skipif(part("workers") is None, reason="the twin has one thread")


@contextmanager
def sharing(count: int) -> Iterator[None]:
    before = threads.num_threads()
    threads.set_num_threads(count)
    try:
        yield
    finally:
        threads.set_num_threads(before)


def numbers(size: int, dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        return rng.integers(-(2**31), 2**31 - 1, size).astype(dtype)
    x = (rng.normal(size=size) * 10.0 ** rng.uniform(-30, 30, size)).astype(dtype)
    for position, special in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-40)):
        x[position :: 97 + position] = special
    return x


def bits(result: Any) -> bytes:
    return np.asarray(result).tobytes()


@needs_threads
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("size", SIZES)
def test_parts_have_the_bits_of_the_whole(size: int, dtype: Any, wide_types: None) -> None:
    x, y = (jnp.asarray(numbers(size, dtype, seed)) for seed in (1, 2))
    calls: list[Any] = []
    if np.dtype(dtype).kind == "f":
        calls += [lambda f=f: f(x) for f in UNARY]
        calls += [lambda: lax.convert_element_type(x, np.int32), lambda: lax.sign(x)]
        calls += [lambda: lax.erf(x), lambda: jnp.clip(x, 0, 1), lambda: lax.clamp(0.5, x, 1.5)]
        calls += [lambda: jnp.nan_to_num(x) * 2 + jnp.abs(y)]
        binary: tuple[Any, ...] = BINARY
    else:
        binary = (lax.add, lax.mul, lax.max, lax.lt, lax.bitwise_xor, lax.rem)
    calls += [lambda f=f: f(x, y) for f in binary]
    calls += [lambda f=f: f(x, y[0]) for f in binary]
    calls += [lambda: jnp.where(x < y, x, y), lambda: jnp.where(x < y, x[3], y)]
    for number, call in enumerate(calls):
        with sharing(1):
            alone = bits(call())
        for count in (2, 5):
            with sharing(count):
                assert bits(call()) == alone, f"call {number} by {count} threads"


@needs_threads
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [100_001, MANY - 1])
def test_what_took_long_is_shared_and_keeps_its_bits(
    size: int, dtype: Any, wide_types: None
) -> None:
    x = jnp.asarray(numbers(size, dtype, 3))
    calls = (
        lambda: lax.exp(x),
        lambda: lax.erf(x) * lax.exp(-x * x) + lax.tanh(x),
        lambda: lax.lgamma(lax.abs(x)) - lax.log1p(x * x),
    )
    for call in calls:
        with sharing(1):
            alone = bits(call())
        with sharing(2):
            found = {bits(call()) for _ in range(12)}
        assert found == {alone}


@pytest.fixture
def wide_types() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@needs_threads
def test_draws_do_not_depend_on_threads() -> None:
    key = jax.random.key(3)
    for draw in (jax.random.normal, jax.random.uniform, jax.random.bits):
        with sharing(1):
            alone = bits(draw(key, (3 * MANY + 5,)))
        with sharing(4):
            assert bits(draw(key, (3 * MANY + 5,))) == alone


@needs_threads
def test_transforms_of_rows_do_not_depend_on_threads() -> None:
    x = jnp.asarray(numbers(MANY, np.float32, 5)).reshape(512, -1)
    x = jnp.where(jnp.isfinite(x), x, 0.0)
    for function in (jnp.fft.rfft, jnp.fft.fft, jnp.fft.fft2, jnp.fft.rfft2):
        with sharing(1):
            alone = bits(function(x))
        with sharing(3):
            assert bits(function(x)) == alone


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("count", [1, 3])
def test_transposed_copies(dtype: Any, count: int, wide_types: None) -> None:
    rng = np.random.default_rng(7)
    sizes = (1, 2, 3, 5, 15, 16, 17, 33, 64)
    shapes = [tuple(rng.choice(sizes, size=rng.integers(1, 6)).tolist()) for _ in range(60)]
    shapes = [shape for shape in shapes if np.prod(shape) < 200_000]
    shapes += [(1024, 300), (0, 3, 2), (64, 70, 90), (3, 90_000), (90_000, 3)]
    with sharing(count):
        for shape in shapes:
            x = rng.integers(0, 250, size=shape).astype(dtype)
            order = tuple(rng.permutation(len(shape)).tolist())
            ours = np.asarray(lax.transpose(jnp.asarray(x), order))
            np.testing.assert_array_equal(ours, x.transpose(order))
            assert ours.dtype == x.dtype


def test_transposed_copies_of_elements_without_bytes() -> None:
    none = np.zeros((3, 100), jax.float0)
    for x in (none, none.reshape(100, 3), none.reshape(1, 300), none[:0]):
        turned = lax.transpose(x, (1, 0))
        assert (turned.shape, turned.dtype) == (x.shape[::-1], jax.float0)


@needs_threads
def test_threads_of_users_share_the_workers() -> None:
    x = jnp.asarray(numbers(2 * MANY, np.float32, 11))
    expected = bits(lax.exp(x))
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(i for i in range(5) if bits(lax.exp(x)) != expected)

    with sharing(3):
        users = [threading.Thread(target=work) for _ in range(4)]
        for user in users:
            user.start()
        for user in users:
            user.join()
    assert not wrong


@needs_threads
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    x = jnp.asarray(numbers(2 * MANY, np.float32, 13))
    with sharing(3):
        expected = bits(lax.tanh(x))
        child = os.fork()
        if child == 0:
            os._exit(0 if bits(lax.tanh(x)) == expected else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_number_of_threads() -> None:
    assert threads.wanted_threads(None, 2) == 2
    assert threads.wanted_threads("", 64) == 8
    assert threads.wanted_threads("12", 2) == 12
    for wrong in ("0", "-1", "two", "1.5"):
        with pytest.raises(ValueError, match="MORPHAX_EAGER_THREADS"):
            threads.wanted_threads(wrong, 2)
    assert threads.threads_for(MANY - 1) == 1
