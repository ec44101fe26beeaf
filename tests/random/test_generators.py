"""The generators rbg and unsafe_rbg, whose numbers are those of JAX 0.10.1, and those of users."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import override
from morphax.extend.random import (
    define_prng_impl,
    random_seed,
    rbg_prng_impl,
    seed_with_impl,
    threefry_prng_impl,
    unsafe_rbg_prng_impl,
)

random = jax.random

# Of the key with the words 1, 2, 3, 4, and, under vmap, of the two keys split from it.
GOLDEN: dict[str, dict[str, Any]] = {
    "rbg": {
        "seed": [0, 4294967291, 0, 4294967291],
        "split": [
            [[629071667, 2343584484, 1144503774, 142997786]],
            [[629003988, 1317161160, 1441834994, 695621559]],
        ],
        "fold_in": [3427225942, 3095793599, 3360624042, 2998217454],
        "bits of 8": [100, 215, 190],
        "bits of 32": [[512747620, 1298009047], [1267190206, 761827841]],
        "randint": [178, 862, 531],
        "permutation": [1, 5, 0, 4, 3, 2],
        "bits, mapped": [[3280628599, 460599477], [1445315269, 2550286549]],
        "split, mapped": [
            [[4284104437, 3664408472, 796080102, 318099126]],
            [[3093522318, 964062516, 4087341159, 1339941583]],
        ],
        "fold_in, mapped": [
            [4284104437, 3664408472, 796080102, 318099126],
            [2334755390, 3877424997, 504616650, 2626587963],
        ],
    },
    "unsafe_rbg": {
        "seed": [0, 4294967291, 0, 4294967291],
        "split": [
            [[512747620, 1298009047, 1267190206, 761827841]],
            [[2117349439, 2738932741, 2107557141, 1903717071]],
        ],
        "fold_in": [2104303641, 250182025, 1106406589, 1983638450],
        "bits of 8": [100, 215, 190],
        "bits of 32": [[512747620, 1298009047], [1267190206, 761827841]],
        "randint": [458, 92, 421],
        "permutation": [3, 2, 4, 5, 1, 0],
        "bits, mapped": [[3026836921, 2895255799], [211222031, 1930738209]],
        "split, mapped": [
            [[3026836921, 2895255799, 211222031, 1930738209]],
            [[3882738634, 2226312912, 2471660794, 1262843515]],
        ],
        "fold_in, mapped": [
            [2288445912, 1736718445, 3120386691, 912941779],
            [3737920750, 2592283336, 2114310502, 3947502087],
        ],
    },
}
DRAWS: dict[str, Any] = {
    "split": lambda k: random.key_data(random.split(k, (2, 1))),
    "fold_in": lambda k: random.key_data(random.fold_in(k, 7)),
    "bits of 8": lambda k: random.bits(k, (3,), "uint8"),
    "bits of 32": lambda k: random.bits(k, (2, 2)),
    "randint": lambda k: random.randint(k, (3,), 0, 1000),
    "permutation": lambda k: random.permutation(k, 6),
    "bits, mapped": lambda k: jax.vmap(lambda k: random.bits(k, (2,)))(random.split(k)),
    "split, mapped": lambda k: random.key_data(
        jax.vmap(lambda k: random.split(k, 1))(random.split(k))
    ),
    "fold_in, mapped": lambda k: random.key_data(
        jax.vmap(random.fold_in)(random.split(k), jnp.arange(2))
    ),
}


def key_of(impl: str) -> Any:
    return random.wrap_key_data(np.array([1, 2, 3, 4], np.uint32), impl=impl)


@pytest.mark.parametrize("impl", GOLDEN)
@pytest.mark.parametrize("draw", DRAWS)
def test_numbers_are_those_of_jax(draw: str, impl: str) -> None:
    for run in (DRAWS[draw], jax.jit(DRAWS[draw])):
        np.testing.assert_array_equal(run(key_of(impl)), GOLDEN[impl][draw])


@pytest.mark.parametrize("impl", GOLDEN)
def test_seeds(impl: str) -> None:
    expected = GOLDEN[impl]["seed"]
    for make in (random.key, jax.jit(random.key, static_argnames="impl")):
        np.testing.assert_array_equal(random.key_data(make(-5, impl=impl)), expected)
    np.testing.assert_array_equal(random.PRNGKey(-5, impl=impl), expected)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(random.PRNGKey(2**40 + 7, impl=impl), [256, 7, 256, 7])
        wide = random.bits(key_of(impl), (2,), "uint64")
        np.testing.assert_array_equal(wide, [5574906407289874532, 3272025663544478142])


@pytest.mark.parametrize(
    ("impl", "tag", "generator"),
    [("rbg", "rbg", rbg_prng_impl), ("unsafe_rbg", "urbg", unsafe_rbg_prng_impl)],
)
def test_names(impl: str, tag: str, generator: Any) -> None:
    key = random.key(3, impl=impl)
    assert str(key.dtype) == f"key<{tag}>"
    assert (str(generator), generator.name, generator.key_shape) == (tag, impl, (4,))
    assert random.key_impl(key) == impl
    assert random.key_dtype(impl) == key.dtype == random.key(0, dtype=key.dtype).dtype
    assert repr(key) == f"Array((), dtype=key<{tag}>) overlaying:\n[0 3 0 3]"
    assert pickle.loads(pickle.dumps(key)).dtype is copy.deepcopy(key).dtype is key.dtype
    np.testing.assert_array_equal(
        random.key_data(random_seed(np.arange(2), generator)), [[0, 0, 0, 0], [0, 1, 0, 1]]
    )


@pytest.mark.parametrize("impl", GOLDEN)
def test_raw_keys_belong_to_the_default_generator(impl: str) -> None:
    raw = random.PRNGKey(5, impl=impl)
    with override(default_prng_impl=impl):
        assert random.key(5).dtype == random.key_dtype(impl)
        assert random.PRNGKey(5).shape == random.split(raw, 3).shape[1:] == (4,)
        np.testing.assert_array_equal(random.normal(raw, (3,)), random.normal(random.key(5), (3,)))
        with pytest.raises(TypeError, match=r"(?s)uint32\[2\].*words of one, uint32\[4\]"):
            random.bits(raw[:2])
    with pytest.raises(TypeError, match=r"(?s)uint32\[4\].*words of one, uint32\[2\]"):
        random.bits(raw)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("impl", GOLDEN)
@pytest.mark.parametrize(
    "draw",
    [
        lambda k: random.normal(k, (5,)),
        lambda k: random.gamma(k, 2.0, (2, 3)),
        lambda k: random.multinomial(k, 10.0, np.array([0.2, 0.3, 0.5])),
        lambda k: random.poisson(k, 3.0, (4,)),
        lambda k: random.choice(k, 7, (3,), replace=False),
        lambda k: jax.vmap(lambda k: random.beta(k, 2.0, 3.0))(random.split(k, 3)),
    ],
)
def test_distributions(draw: Any, impl: str) -> None:
    key = random.key(1, impl=impl)
    np.testing.assert_allclose(draw(key), jax.jit(draw)(key), rtol=1e-5)
    again = draw(random.key(2, impl=impl))
    assert not np.array_equal(draw(key), again)


def test_threefry_as_functions_of_words() -> None:
    words = np.array([1, 2], np.uint32)
    key = random.wrap_key_data(words)
    impl = threefry_prng_impl
    np.testing.assert_array_equal(impl.seed(np.int32(7)), [0, 7])
    np.testing.assert_array_equal(impl.split(words, (3,)), random.key_data(random.split(key, 3)))
    np.testing.assert_array_equal(
        impl.fold_in(words, np.uint32(5)), random.key_data(random.fold_in(key, 5))
    )
    np.testing.assert_array_equal(impl.random_bits(words, 16, (3,)), random.bits(key, (3,), "u2"))


# Generators of users.


def seed(seed: Any) -> Any:
    return jnp.full((2, 3), seed, "uint32")


def split(words: Any, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape))
    return words + jnp.arange(count, dtype="uint32").reshape(*shape, 1, 1)


def random_bits(words: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    return jnp.full(shape, words.sum(dtype="uint32").astype(f"uint{bit_width}"))


def fold_in(words: Any, data: Any) -> Any:
    return words + data


FUNCTIONS = {"seed": seed, "split": split, "random_bits": random_bits, "fold_in": fold_in}
MINE = define_prng_impl(key_shape=(2, 3), **FUNCTIONS, name="mine", tag="mi")


def test_a_generator_of_the_user() -> None:
    key = random.key(5, impl=MINE)
    assert repr(key) == "Array((), dtype=key<mi>) overlaying:\n[[5 5 5]\n [5 5 5]]"
    assert random.key_impl(key) is MINE
    assert random.key(5, impl=random.key_impl(key)) == seed_with_impl(MINE, 5) == key
    np.testing.assert_array_equal(random.PRNGKey(5, impl=MINE), np.full((2, 3), 5))
    assert random.split(key, (2, 2)).shape == (2, 2)
    for run in (lambda f: f, jax.jit):
        assert run(lambda k: random.bits(k, dtype="uint8"))(key) == 30
        keys = run(lambda k: random.split(k, 3))(key)
        np.testing.assert_array_equal(random.key_data(keys)[:, 0, 0], [5, 6, 7])
        drawn = run(jax.vmap(lambda k: random.bits(random.fold_in(k, 1), (2,))))(keys)
        np.testing.assert_array_equal(drawn, [[36, 36], [42, 42], [48, 48]])
        assert run(lambda k: random.uniform(k, (2,)))(key).shape == (2,)
    np.testing.assert_array_equal(
        random.key_data(random_seed(np.arange(3), MINE))[2], np.full((2, 3), 2)
    )


def test_generators_are_the_same_if_their_functions_are() -> None:
    again = define_prng_impl(key_shape=(2, 3), **FUNCTIONS, name="mine", tag="mi")
    assert again == MINE == pickle.loads(pickle.dumps(MINE))
    assert again.key_dtype is MINE.key_dtype is pickle.loads(pickle.dumps(MINE.key_dtype))
    key = pickle.loads(pickle.dumps(random.key(5, impl=MINE)))
    assert key == random.key(5, impl=again)
    first, second = (define_prng_impl(key_shape=(n,), **FUNCTIONS) for n in (2, 3))
    assert str(first.key_dtype) == str(second.key_dtype) == "key<?>"
    assert first.key_dtype != second.key_dtype


@pytest.mark.parametrize("key_shape", [(), (1,), (2,), (5,), (1, 2)])
def test_keys_of_any_shape(key_shape: tuple[int, ...]) -> None:
    generator = define_prng_impl(
        key_shape=key_shape,
        seed=lambda s: jnp.full(key_shape, s, "uint32"),
        split=lambda words, shape: jnp.broadcast_to(words, shape + key_shape),
        random_bits=random_bits,
        fold_in=fold_in,
    )

    def function(key: Any) -> Any:
        keys = random.split(random.fold_in(key, 2), 3)
        return random.key_data(jnp.concatenate([keys[1:], key[None]])), keys[0] == keys[1]

    for run in (function, jax.jit(function), jax.checkpoint(function)):
        data, same = run(random.key(4, impl=generator))
        expected = np.broadcast_to(np.reshape([6, 6, 4], (3, *[1] * len(key_shape))), data.shape)
        np.testing.assert_array_equal(data, expected)
        assert data.shape == (3, *key_shape)
        assert same


SHORT = define_prng_impl(
    key_shape=(3,),
    **FUNCTIONS | {"seed": lambda s: jnp.zeros(2, "uint32"), "random_bits": lambda k, n, s: k},
    name="short",
)
WRONG = (
    (lambda: random.key(0, impl="mine"), ValueError, "'mine'.*'threefry2x32', 'rbg', 'unsafe_rbg'"),
    (lambda: random.key(0, impl=SHORT), TypeError, r"given: +uint32\[2\].*uint32\[..., 3\]"),
    (
        lambda: random.bits(random.wrap_key_data(np.zeros(3, np.uint32), impl=SHORT), (2,)),
        TypeError,
        r"generator short, result of random_bits.*uint32\[3\].*uint32\[2\]",
    ),
    (
        lambda: define_prng_impl(key_shape=(2, 0), **FUNCTIONS),
        ValueError,
        r"argument key_shape.*\(2, 0\).*one word or more",
    ),
    (
        lambda: random.wrap_key_data(np.zeros((4, 3), np.uint32), impl=MINE),
        TypeError,
        r"uint32\[4,3\].*uint32\[..., 2, 3\], the words of mine keys",
    ),
    (
        lambda: jax.lax.random_bits_p.bind(key_of("rbg"), bit_width=32, shape=()),
        TypeError,
        r"operation random_bits.*key<rbg>\[\].*threefry2x32.*jax\.random",
    ),
    (
        lambda: jax.lax.random_seed_p.bind(np.int32(0), impl=MINE),
        TypeError,
        r"operation random_seed.*key<mi>\[\]",
    ),
)


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_wrong_generators_are_explained(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}"):
        call()


def test_keys_that_do_not_depend_on_anything_are_made_eagerly() -> None:
    def split(key: Any, shape: tuple[int, ...]) -> Any:
        return jnp.zeros((*shape, 5), np.uint32)

    constant = define_prng_impl(
        key_shape=(5,),
        seed=lambda seed: jnp.zeros(5, np.uint32),
        split=split,
        random_bits=lambda key, width, shape: jnp.zeros(shape, np.uint32),
        fold_in=lambda key, number: key,
    )
    keys = random.split(random.key(1, impl=constant), (2, 3))
    assert (keys.shape, random.key_data(keys).tolist()) == ((2, 3), np.zeros((2, 3, 5)).tolist())
