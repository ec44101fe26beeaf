"""Keys: layout, long streams, batches of keys and error text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.lax.random.random_bits import threefry_prng_impl
from morphax.lax.random.threefry import BLOCK, encrypt_integers
from morphax.util.compiled import part

SEED = 5_000_000_000


def key(seed: int = SEED) -> Any:
    return lax.random_seed_p.bind(np.uint64(seed), impl=threefry_prng_impl)


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Any:
    with jax.enable_x64(True):
        yield


def bits(keys: Any, width: int, *shape: int) -> Any:
    return lax.random_bits_p.bind(keys, bit_width=width, shape=shape)


def test_a_key_is_its_words_first_word_high() -> None:
    assert key().to_host() == SEED
    expected = [SEED >> 32, SEED & 0xFFFFFFFF]
    for unwrap in (lax.random_unwrap_p.bind, jax.jit(lax.random_unwrap_p.bind)):
        np.testing.assert_array_equal(unwrap(key()), expected)


def test_keys_split_off_are_the_64_bit_numbers_of_the_stream() -> None:
    split = lax.random_split_p.bind(key(), shape=(2, 20)).to_host()
    np.testing.assert_array_equal(split, bits(key(), 64, 2, 20).to_host())
    assert split[1, 3] == encrypt_integers(SEED, 23)


@pytest.mark.parametrize("count", [3, 2000])
def test_compiled_keys(count: int) -> None:
    """Native code splits; elsewhere few keys are a loop over rounds, many a loop over keys."""

    def family(key: Any) -> Any:
        keys = lax.random_split_p.bind(key, shape=(count,))
        return keys, lax.random_fold_in_p.bind(keys, np.arange(count, dtype=np.uint32))

    for compiled, eager in zip(jax.jit(family)(key()), family(key()), strict=True):
        np.testing.assert_array_equal(compiled.to_host(), eager.to_host())
    loops = jax.jit(family).lower(key()).as_text().count("stablehlo.while")
    splits = part("random_bits") is None
    assert loops == (1 + splits if count == 3 else 0)


@pytest.mark.parametrize("count", [BLOCK - 1, BLOCK, 2 * BLOCK + 3])
def test_streams_longer_than_a_block(count: int) -> None:
    drawn = bits(key(), 64, count).to_host()
    np.testing.assert_array_equal(drawn, jax.jit(lambda k: bits(k, 64, count))(key()))
    for n in {0, BLOCK - 2, count - 1}:
        assert drawn[n] == encrypt_integers(SEED, n)


@pytest.mark.parametrize("count", [3, 700, BLOCK + 1])
def test_each_key_of_an_array_has_its_own_stream(count: int) -> None:
    keys = lax.random_split_p.bind(key(), shape=(50,) if count < BLOCK else (2,))
    drawn = bits(keys, 32, count).to_host()
    np.testing.assert_array_equal(drawn, jax.jit(lambda k: bits(k, 32, count))(keys))
    for i in (0, len(drawn) - 1):
        alone = lax.random_wrap_p.bind(
            lax.random_unwrap_p.bind(keys).to_host()[i], impl=threefry_prng_impl
        )
        np.testing.assert_array_equal(drawn[i], bits(alone, 32, count))


def test_counters_that_need_64_bits_are_made_in_64_bits() -> None:
    def text(*shape: int) -> str:
        # Programs that stay in this process call native code for few bits.
        return jax.export.export(jax.jit(lambda k: bits(k, 32, *shape)))(key()).mlir_module()

    assert "iota" in text(2, 3)
    assert "x3xui64" not in text(2, 3)
    assert "stablehlo.iota" in text(2**16, 2**16)
    assert f"{2**16}x{2**16}xui64" in text(2**16, 2**16)


def test_jaxprs_print_as_in_jax() -> None:
    def function(seed: Any) -> Any:
        a, b = lax.unstack(
            lax.random_split_p.bind(
                lax.random_seed_p.bind(seed, impl=threefry_prng_impl), shape=(2,)
            )
        )
        return bits(lax.random_fold_in_p.bind(a, np.uint32(3)), 8, 2), lax.random_unwrap_p.bind(b)

    text = str(jax.make_jaxpr(function)(np.int32(1)))
    for line in (
        ":key<fry>[] = random_seed[impl=fry] a",
        ":key<fry>[2] = random_split[shape=(2,)] b",
        " 3:u32[]",
        ":u8[2] = random_bits[bit_width=8 shape=(2,)] ",
        ":u32[2] = random_unwrap ",
    ):
        assert line in text


WRONG = (
    (lambda: bits(np.zeros(2, np.uint32), 32), TypeError, "random_bits, operand 0.*random key"),
    (lambda: bits(key(), 7), ValueError, "bit_width.*given: +7.*8, 16, 32 or 64"),
    (
        lambda: lax.random_wrap_p.bind(np.zeros(3, np.uint32), impl=threefry_prng_impl),
        TypeError,
        r"random key data.*uint32\[3\].*uint32\[\.\.\., 2\].*jax.random.key",
    ),
    (
        lambda: lax.random_fold_in_p.bind(key(), np.int32(3)),
        TypeError,
        "random_fold_in, operand 1.*int32.*uint32.*jax.random.fold_in",
    ),
    (
        lambda: lax.random_seed_p.bind(1.5, impl=threefry_prng_impl),
        TypeError,
        "random_seed, operand 0.*float.*integer",
    ),
    (lambda: lax.random_split_p.bind(3, shape=(2,)), TypeError, "random_split, operand 0"),
)


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_wrong_operands_are_explained(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}"):
        call()


def test_a_key_has_no_derivative() -> None:
    def loss(x: Any) -> Any:
        word = lax.convert_element_type(x, np.uint32)
        pair = lax.broadcast(word, (2,))
        return lax.convert_element_type(
            bits(lax.random_wrap_p.bind(pair, impl=threefry_prng_impl), 32), np.float64
        )

    assert jax.grad(loss)(3.0) == 0.0
