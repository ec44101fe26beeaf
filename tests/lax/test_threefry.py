"""The cipher: known answers, and agreement of its three forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.lax.random import threefry
from morphax.lax.random.threefry import encrypt_integers, images, threefry2x32_p

# From the test vectors of the authors' library Random123: key, counter, image.
KNOWN = (
    (0x0000000000000000, 0x0000000000000000, 0x6B20015999BA4EFE),
    (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x1CB996FCBB002BE7),
    (0x13198A2E03707344, 0x243F6A8885A308D3, 0xC4923A9C483DF7A0),
)


def words(number: int) -> tuple[np.uint32, np.uint32]:
    return np.uint32(number >> 32), np.uint32(number & 0xFFFFFFFF)


@pytest.mark.parametrize(("key", "counter", "image"), KNOWN)
def test_known_answers(key: int, counter: int, image: int) -> None:
    assert encrypt_integers(key, counter) == image
    expected = np.array(words(image))
    for run in (threefry2x32_p.bind, jax.jit(threefry2x32_p.bind)):
        np.testing.assert_array_equal(run(*words(key), *words(counter)), expected)


@pytest.mark.parametrize("count", [1, 12, 13, 100, threefry.BLOCK + 5])
@pytest.mark.parametrize("one_key", [True, False])
def test_arrays_agree_with_integers(count: int, one_key: bool) -> None:
    rng = np.random.default_rng(count)
    keys = np.asarray(rng.integers(0, 2**64, () if one_key else count, np.uint64))
    pairs = rng.integers(0, 2**64, count, np.uint64)
    x0, x1 = images(keys, *threefry.words_of(pairs))
    for i in {0, count // 2, count - 1}:
        expected = encrypt_integers(int(keys if one_key else keys[i]), int(pairs[i]))
        assert (int(x0[i]) << 32 | int(x1[i])) == expected


def test_operands_are_not_written_to() -> None:
    operands: list[Any] = [np.arange(40, dtype=np.uint32) for _ in range(4)]
    for operand in operands:
        operand.flags.writeable = False
    threefry2x32_p.bind(*operands)


def test_words_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match=r"(?s)threefry2x32, operand 2.*int32.*uint32"):
        threefry2x32_p.bind(*words(0), np.int32(0), np.uint32(0))
