"""Keys: kinds, configuration, transformations and error text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.config import override

random = jax.random
WIDE = np.array([[1, 2], [3, 4], [5, 6]], np.uint32)


def data(keys: Any) -> np.ndarray[Any, Any]:
    return np.asarray(random.key_data(keys))


def test_raw_keys_give_raw_keys_and_the_same_numbers() -> None:
    typed, raw = random.key(5), random.PRNGKey(5)
    assert raw.dtype == np.uint32
    assert random.key_impl(raw) == random.key_impl(typed) == "threefry2x32"
    for function in (random.split, lambda k: random.fold_in(k, 3), random.clone):
        assert function(raw).dtype == np.uint32
        np.testing.assert_array_equal(function(raw), data(function(typed)))
    np.testing.assert_array_equal(random.normal(raw, (3,)), random.normal(typed, (3,)))
    np.testing.assert_array_equal(random.bits(np.asarray(raw)), random.bits(typed))


def test_words_and_keys_are_each_others_inverse() -> None:
    keys = random.wrap_key_data(WIDE)
    assert keys.shape == (3,)
    assert keys.dtype == random.key_dtype() == random.key_dtype("threefry2x32")
    np.testing.assert_array_equal(data(keys), WIDE)
    np.testing.assert_array_equal(data(random.clone(keys)), WIDE)


@pytest.mark.parametrize("dtype", [np.uint64, np.int64])
def test_words_of_64_bits_are_refused_where_they_would_be_narrowed(dtype: Any) -> None:
    words = np.array([2**32, 1], dtype)
    key = random.key(0)
    for draw in (random.bits, random.split, random.key_data, lambda k: random.gamma(k, 1.0)):
        draw(key)
        for _ in range(2):
            with pytest.raises(TypeError, match=rf"given: +{words.dtype}\[2\]"):
                draw(words)
            with pytest.raises(TypeError, match="given"):
                jax.jit(lambda draw=draw: draw(words))()
    for _ in range(2):
        with pytest.raises(TypeError, match=f"given: +words of dtype {words.dtype}"):
            random.wrap_key_data(words)
        with pytest.raises(TypeError, match=f"given: +words of dtype {words.dtype}"):
            jax.vmap(random.wrap_key_data)(words[None])
    with pytest.raises(TypeError, match=f"given: +{words.dtype}"):
        jax.vmap(random.bits)(words[None])
    with pytest.raises(TypeError, match=f"given: +{words.dtype}"):
        jax.vmap(jax.vmap(random.bits, 1))(words[None, :, None])


def test_generators_are_named_in_several_ways() -> None:
    dtype = random.key_dtype()
    expected = data(random.key(3))
    for named in ({"impl": "threefry2x32"}, {"impl": dtype}, {"dtype": dtype}):
        np.testing.assert_array_equal(data(random.key(3, **named)), expected)


def test_transformations_of_keys() -> None:
    keys = random.split(random.key(1), 4)
    draws = jax.vmap(lambda k: random.uniform(k, (3,)))(keys)
    for i in range(4):
        np.testing.assert_array_equal(draws[i], random.uniform(keys[i], (3,)))
    folded = jax.vmap(random.fold_in, in_axes=(None, 0))(keys[0], np.arange(5))
    np.testing.assert_array_equal(data(folded[3]), data(random.fold_in(keys[0], 3)))
    seeded = jax.jit(jax.vmap(random.key))(np.arange(5))
    np.testing.assert_array_equal(data(seeded[3]), data(random.key(3)))
    split_in_jit = jax.jit(random.split)(keys[0])
    np.testing.assert_array_equal(data(split_in_jit), data(random.split(keys[0])))


def test_configuration_of_keys() -> None:
    with override(enable_custom_prng=True):
        assert random.PRNGKey(3).dtype == random.key_dtype()
    raw = random.PRNGKey(3)
    with (
        override(legacy_prng_key="error"),
        pytest.raises(ValueError, match=r"(?s)raw words.*PRNGKey"),
    ):
        random.uniform(raw)
    with override(legacy_prng_key="warn"), pytest.warns(UserWarning, match="raw words") as caught:
        random.uniform(raw)
    assert caught[0].filename == __file__


def test_the_offset_of_seeds() -> None:
    with override(random_seed_offset=5):
        np.testing.assert_array_equal(random.PRNGKey(-3), [0, 2])
        np.testing.assert_array_equal(data(jax.jit(random.key)(np.int8(3))), [0, 8])


WRONG = (
    (lambda: random.key(1.5), TypeError, "key, argument seed.*float32.*one integer"),
    (lambda: random.key(np.arange(3)), TypeError, r"key, argument seed.*int32\[3\].*vmap"),
    (lambda: random.key(random.key(0)), TypeError, r"argument seed.*key<fry>"),
    (lambda: random.PRNGKey(np.bool_(True)), TypeError, "PRNGKey, argument seed.*bool"),
    (lambda: random.key(2**64), OverflowError, "argument seed.*at most 64 bits"),
    (lambda: random.key(0, impl="fast"), ValueError, "random.key.*'fast'.*'threefry2x32'"),
    (lambda: random.key(0, dtype=np.float32), TypeError, "random.key.*float32.*'threefry2x32'"),
    (
        lambda: random.key(0, impl="threefry2x32", dtype=random.key_dtype()),
        ValueError,
        "both impl='threefry2x32' and dtype=key<fry>",
    ),
    (lambda: random.uniform(0), TypeError, r"uniform, argument key.*given: +int32\[\].*key\(seed"),
    (lambda: random.normal([0, 1]), TypeError, r"normal, argument key.*given: +\[0, 1\]"),
    (lambda: random.bits(None), TypeError, "bits, argument key.*given: +None"),
    (lambda: random.split(np.zeros(2, np.int32)), TypeError, r"split, argument key.*int32\[2\]"),
    (lambda: random.split(WIDE), ValueError, r"split, argument key.*shape \(3,\).*vmap"),
    (
        lambda: random.gumbel(random.split(random.key(0)), (2,)),
        ValueError,
        r"gumbel, argument key.*shape \(2,\).*one key.*vmap",
    ),
    (lambda: random.split(random.key(0), -1), ValueError, "split, argument num.*-1"),
    (lambda: random.split(random.key(0), 1.5), TypeError, "split, argument num.*1.5"),
    (lambda: random.fold_in(random.key(0), -1), OverflowError, r"data.*-1.*\[0, 2\*\*32\)"),
    (lambda: random.fold_in(random.key(0), np.arange(2)), TypeError, r"data.*int32\[2\].*vmap"),
    (lambda: random.key_data(3), TypeError, "key_data, argument key"),
)


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_wrong_arguments_are_explained(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}") as caught:
        call()
    assert __file__ in str(caught.value)
