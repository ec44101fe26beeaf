"""Keys that are rows of words in programs: whatever moves keys does so with each of their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.lax.random.generators import PRNGImpl

random = jax.random
WORDS = np.random.default_rng(0).integers(0, 2**32, (2, 3, 6), np.uint32)
FIVE = np.array([2, 0, 7])


def unused(*args: Any) -> Any:
    raise AssertionError("keys are only moved here")


MATRIX = PRNGImpl((2, 3), unused, unused, unused, unused, "matrix", "mat")


def keys_of(words: Any) -> Any:
    return random.wrap_key_data(words.reshape(*words.shape[:-1], 2, 3), impl=MATRIX)


def words_of(keys: Any) -> np.ndarray[Any, Any]:
    words = np.asarray(random.key_data(keys))
    return words.reshape(*keys.shape, 6)


def loop(k: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1][::-1]), (0, k))[1]


MOVES: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda k: k.reshape(3, 2),
    "ravel": lambda k: k.ravel(),
    "transpose": lambda k: k.T,
    "index": lambda k: k[1, 2],
    "slice": lambda k: k[:, ::2],
    "reverse": lambda k: k[::-1],
    "no element": lambda k: k[:0],
    "gather": lambda k: k[:, FIVE],
    "gather, filled": lambda k: k.at[:, FIVE].get(mode="fill"),
    "gather, clipped": lambda k: k.at[:, FIVE].get(mode="clip"),
    "take": lambda k: jnp.take(k, FIVE, axis=1),
    "take along axis": lambda k: jnp.take_along_axis(k, np.array([[0], [2]]), 1),
    "scatter": lambda k: k.at[1, np.array([0, 2])].set(k[0, :2]),
    "scatter one": lambda k: k.at[0].set(k[1]),
    "dynamic slice": lambda k: lax.dynamic_slice(k, (np.int32(1), np.int32(0)), (1, 2)),
    "dynamic update": lambda k: lax.dynamic_update_slice(k, k[:1, :1], (np.int32(1), np.int32(2))),
    "where": lambda k: jnp.where(np.array([True, False, True]), k, k[::-1]),
    "select": lambda k: lax.select_n(np.array([[0, 1, 1], [2, 0, 1]]), k, k[::-1], k[:, ::-1]),
    "select all": lambda k: lax.select_n(np.bool_(True), k, k[::-1]),
    "concatenate": lambda k: jnp.concatenate([k, k[:, :1]], 1),
    "stack": lambda k: jnp.stack([k, k], 1),
    "split": lambda k: lax.split(k, (1, 2), axis=1)[1],
    "unstack": lambda k: lax.unstack(k, axis=1)[1],
    "tile": lambda k: jnp.tile(k, (2, 2)),
    "repeat": lambda k: jnp.repeat(k, 2, axis=1),
    "roll": lambda k: jnp.roll(k, 1, axis=1),
    "pad": lambda k: lax.pad(k, k[0, 0], [(1, 0, 1), (0, 2, 0)]),
    "broadcast": lambda k: jnp.broadcast_to(k, (5, 2, 3)),
    "broadcast one": lambda k: jnp.broadcast_to(k[0, 0], (5,)),
    "squeeze": lambda k: jnp.squeeze(k[:, :1]),
    "sort by numbers": lambda k: lax.sort((np.array([[3, 1, 2], [1, 3, 2]]), k), num_keys=1)[1],
    "copy": lambda k: jnp.copy(k),
    "barrier": lax.optimization_barrier,
    "device_put": lambda k: jax.device_put(k),
    "branch": lambda k: lax.cond(np.bool_(True), lambda k: k[0], lambda k: k[1], k),
    "loop": loop,
    "scan": lambda k: lax.scan(lambda c, x: (x, c), k[0], k[::-1])[1],
    "unrolled scan": lambda k: lax.scan(lambda c, x: (x, c), k[0], k, reverse=True, unroll=2)[0],
    "vmap": lambda k: jax.vmap(lambda k: k[1], 1)(k),
    "jit": lambda k: jax.jit(lambda k: k[1])(k),
    "checkpoint": lambda k: jax.checkpoint(lambda k: k[1])(k),
}
MODES: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "eager": lambda f: f,
    "compiled": jax.jit,
    "batched": lambda f: lambda k: jax.vmap(f)(k[None])[0],
    "compiled batch": lambda f: jax.jit(lambda k: jax.vmap(f, 2)(k[..., None])[0]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("move", MOVES)
def test_keys_move_word_by_word(move: str, mode: str) -> None:
    moved = MODES[mode](MOVES[move])(keys_of(WORDS))
    expected = [np.asarray(MOVES[move](jnp.asarray(WORDS[..., i]))) for i in range(6)]
    assert moved.dtype == MATRIX.key_dtype
    np.testing.assert_array_equal(words_of(moved), np.stack(expected, -1))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_keys_are_equal_if_all_words_are(wrap: Any) -> None:
    other = WORDS.copy()
    other[0, 1, 4] += 1
    keys, others = keys_of(WORDS), keys_of(other)
    expected = np.array([[True, False, True], [True] * 3])
    np.testing.assert_array_equal(wrap(lambda x, y: x == y)(keys, others), expected)
    np.testing.assert_array_equal(wrap(lambda x, y: x != y)(keys, others), ~expected)
    np.testing.assert_array_equal(wrap(lambda x: x == x[0, 1])(keys)[0], [False, True, False])
    assert wrap(lambda x: x[0, 0] == x[0, 0])(keys)


def test_constants() -> None:
    """Small ones are written into the module, large ones are operands."""
    for words in (WORDS, np.resize(WORDS, (3000, 6))):
        keys = keys_of(words)
        for function in (lambda k=keys: k[::-1], lambda k=keys: k):
            expected = words_of(function())
            np.testing.assert_array_equal(words_of(jax.jit(function)()), expected)
    stacked = jax.jit(lambda x: lax.scan(lambda c, k: (c, k), x, keys_of(WORDS)[0])[1])
    np.testing.assert_array_equal(words_of(stacked(1.0)), WORDS[0])


def test_the_same_memory_holds_words_and_keys() -> None:
    keys = jax.jit(lambda k: k[::-1])(keys_of(WORDS))
    pointer = keys.unsafe_buffer_pointer()
    assert keys.to_host().__array_interface__["data"][0] == pointer
    assert (keys.nbytes, keys.dtype.itemsize, keys.on_device_size_in_bytes()) == (144, 24, 144)
    assert "tensor<2x3x6xui32>" in jax.jit(lambda k: k[0]).lower(keys).as_text()


def test_callbacks_are_given_keys(capfd: Any) -> None:
    shape = jax.ShapeDtypeStruct((6,), np.uint32)

    def read(k: Any) -> Any:
        return jax.pure_callback(lambda k: random.key_data(k).ravel(), shape, k)

    key = keys_of(WORDS)[0, 1]
    for call in (read, jax.jit(read)):
        np.testing.assert_array_equal(call(key), WORDS[0, 1])
    jax.jit(lambda k: jax.debug.print("{}", k))(key)
    jax.effects_barrier()
    assert capfd.readouterr().out == f"{key}\n"


def test_donated_and_differentiated() -> None:
    keys = jnp.copy(keys_of(WORDS))
    assert words_of(jax.jit(lambda k: k[::-1], donate_argnums=0)(keys)).shape == WORDS.shape
    assert keys.is_deleted()
    grad = jax.grad(lambda x, k: lax.convert_element_type(k[0] == k[1], x.dtype) * x)
    assert jax.jit(grad)(2.0, keys_of(WORDS)[0]) == 0.0
