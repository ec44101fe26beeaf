"""`rng_bit_generator`: known answers, long streams, batches and error text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from tests.cases.bit_generator import philox

STATE = np.array([1, 2, 3, 4], np.uint32)

# From the test vectors of the authors' library Random123: key, counter, image.
KNOWN = (
    (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (2**64 - 1, 2**128 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        0x299F31D0A4093822,
        0x0370734413198A2E85A308D3243F6A88,
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)


@pytest.mark.parametrize(("key", "counter", "image"), KNOWN)
def test_known_answers_of_philox(key: int, counter: int, image: tuple[int, ...]) -> None:
    assert philox(key, counter) == image
    if counter >> 64 == key:  # XLA's counters are of this kind.
        state = np.array([key, counter % 2**64], np.uint64).view(np.uint32)
        assert tuple(lax.rng_bit_generator(state, (4,))[1].tolist()) == image


@pytest.mark.parametrize("algorithm", lax.RandomAlgorithm)
@pytest.mark.parametrize("state", [(3, 2**64 - 9000), (2**64 - 1, 2**64 - 9000)])
def test_long_streams(algorithm: Any, state: tuple[int, int]) -> None:
    """Streams longer than a block of the reference engine, with counters that overflow in them."""

    def draw(state: Any) -> Any:
        return lax.rng_bit_generator(state, (100_003,), "uint16", algorithm)

    words = np.array(state, np.uint64).view(np.uint32)
    for eager, compiled in zip(draw(words), jax.jit(draw)(words), strict=True):
        np.testing.assert_array_equal(eager, compiled)


SHAPES = ((), (1,), (2,), (5,), (0,), (3, 0), (3, 5), (2, 3), (3, 4, 5), (7, 1, 3), (33, 2))


@pytest.mark.parametrize("algorithm", lax.RandomAlgorithm)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_machine_code_draws_the_same_bits(dtype: str, algorithm: Any) -> None:
    """The state too, with counters that overflow, in a loop that draws into one array."""

    def draw(state: Any) -> Any:
        found = []
        for shape in SHAPES:
            state, bits = lax.rng_bit_generator(state, shape, dtype, algorithm)
            found.append(bits)
        step = lambda s, _: lax.rng_bit_generator(s, (3,), dtype, algorithm)  # noqa: E731
        return found, lax.scan(step, state, None, length=4)

    with jax.enable_x64(True):
        for state in ((3, 2**64 - 40), (2**64 - 1, 2**64 - 3), (2**33 + 1, 2**32 - 5)):
            wide = np.array(state, np.uint64)
            for words in (wide, wide.view(np.uint32)):
                with jax.cpu_engine("native"):
                    found = jax.jit(draw)(words)
                with jax.disable_jit():
                    expected = draw(words)
                pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
                for mine, theirs in pairs:
                    np.testing.assert_array_equal(mine, theirs, strict=True)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_exported_programs_draw_the_same_bits(dtype: str) -> None:
    """They leave it to XLA, others on the CPU to native code."""

    def draw(state: Any) -> Any:
        return lax.rng_bit_generator(state, (7, 1001), dtype)

    with jax.enable_x64(True):
        words = np.array([3, 2**64 - 500], np.uint64)
        exported = jax.export.export(jax.jit(draw))(words).call(words)
        for portable, compiled in zip(exported, jax.jit(draw)(words), strict=True):
            np.testing.assert_array_equal(portable, compiled)


@pytest.mark.parametrize("in_axis", [0, 1])
def test_the_first_of_a_batch_of_states_gives_the_bits(in_axis: int) -> None:
    states = np.stack([STATE, STATE + 1], in_axis)
    after, bits = jax.vmap(lambda s: lax.rng_bit_generator(s, (3,)), in_axis)(states)
    first, expected = lax.rng_bit_generator(STATE, (2, 3))
    np.testing.assert_array_equal(bits, expected)
    np.testing.assert_array_equal(after, [first, STATE + 1])
    after, bits = jax.vmap(lambda s: lax.rng_bit_generator(s, (3,)))(np.zeros((0, 4), np.uint32))
    assert (after.shape, bits.shape) == ((0, 4), (0, 3))


def test_its_text() -> None:
    def draw(state: Any) -> Any:
        return lax.rng_bit_generator(state, (3,), algorithm=lax.RandomAlgorithm.RNG_PHILOX)

    params = "algorithm=RNG_PHILOX\n      dtype=uint32\n      out_sharding=None\n      shape=(3,)"
    assert f"= rng_bit_generator[\n      {params}\n    ] a" in str(jax.make_jaxpr(draw)(STATE))
    assert "philox" in jax.jit(draw).lower(STATE).as_text().lower()
    assert lax.rng_bit_generator(STATE, 3, algorithm=1)[1].shape == (3,)


def test_bits_have_no_derivative() -> None:
    def loss(x: Any) -> Any:
        state = lax.broadcast(lax.convert_element_type(x, np.uint32), (4,))
        return lax.convert_element_type(lax.rng_bit_generator(state, ())[1], np.float32) * x

    bits = lax.rng_bit_generator(np.full(4, 3, np.uint32), ())[1]
    assert jax.grad(loss)(3.0) == np.float32(bits)


WRONG = (
    (lambda: lax.rng_bit_generator(STATE[:3], 3), TypeError, r"argument key.*uint32\[3\]"),
    (lambda: lax.rng_bit_generator(jax.random.key(0), 3), TypeError, r"key<fry>.*jax\.random"),
    (lambda: lax.rng_bit_generator(STATE, 3, "int32"), TypeError, "argument dtype.*int32.*uint64"),
    (lambda: lax.rng_bit_generator(STATE, (-3,)), ValueError, r"argument shape.*\(-3,\)"),
    (
        lambda: lax.rng_bit_generator(STATE, 3, algorithm="philox"),
        ValueError,
        "argument algorithm.*'philox'.*RNG_THREE_FRY",
    ),
)


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_wrong_arguments_are_explained(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}"):
        call()
