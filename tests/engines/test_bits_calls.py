"""Random bits by native code in XLA's programs: those of eager mode, and of XLA without it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.xla import bits_calls
from morphax.runtime.native_calls import BITS_TARGET
from morphax.util.compiled import part

KEY = jax.random.fold_in(jax.random.key(7), 3)
# Few, around what is left to XLA in loops, blocks, and what threads share; keys in rows.
SHAPES = [(1,), (5,), (255,), (256,), (1023,), (1024,), (1025,), (31, 33), (40_001,), (0,), ()]
STACKS = [
    ((9,), (2,)),
    ((3,), (300,)),
    ((2, 2), (1025,)),
    ((7,), (5001,)),
    ((300,), (2,)),
    ((0,), (300,)),
]


@pytest.fixture(params=[True, False], ids=["native", "XLA"])
def is_native(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(bits_calls, "part", lambda name: None)
    return bool(request.param) and part("random_bits") is not None


def _check(draw: Any, keys: Any, *, calls: bool) -> None:
    with jax.cpu_engine("xla"):
        program = jax.jit(draw)
        assert (BITS_TARGET in program.lower(keys).as_text()) is calls
        found = program(keys)
    np.testing.assert_array_equal(found, draw(keys), strict=True)


@pytest.mark.parametrize("width", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_of_a_key(shape: tuple[int, ...], width: str, is_native: bool) -> None:
    calls = is_native and math.prod(shape) > 0
    _check(lambda key: jax.random.bits(key, shape, width), KEY, calls=calls)


@pytest.mark.parametrize(("rows", "shape"), STACKS, ids=str)
def test_bits_of_arrays_of_keys(
    rows: tuple[int, ...], shape: tuple[int, ...], is_native: bool
) -> None:
    keys = jax.random.split(KEY, rows)

    def draw(keys: Any) -> Any:
        one = lambda key: jax.random.bits(key, shape)  # noqa: E731
        return jax.vmap(one)(keys.reshape(-1)).reshape(*rows, *shape)

    _check(draw, keys, calls=is_native and rows not in [(300,), (0,)])


def test_keys_and_wide_bits(is_native: bool) -> None:
    _check(lambda key: jax.random.key_data(jax.random.split(key, 700)), KEY, calls=is_native)
    with jax.enable_x64(True):
        _check(lambda key: jax.random.bits(key, (700,), "uint64"), KEY, calls=is_native)


@pytest.mark.parametrize("shape", [(1,), (2,), (8,), (2, 3), (0,)], ids=str)
@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
def test_few_keys(generator: str, shape: tuple[int, ...], is_native: bool) -> None:
    def split(key: Any) -> Any:
        return jax.random.key_data(jax.random.split(key, shape))

    key = jax.random.key(7, impl=generator)
    _check(split, key, calls=is_native and shape != (0,))
    _check(jax.vmap(split), jax.random.split(key, 5), calls=is_native and shape != (0,))


def test_few_keys_in_a_loop(is_native: bool) -> None:
    def step(key: Any, _: Any) -> Any:
        key, own = jax.random.split(key)
        return key, jax.random.bits(own)

    draw = lambda key: jax.lax.scan(step, key, None, 20)[1]  # noqa: E731
    _check(draw, KEY, calls=False)


def test_transformed_programs() -> None:
    def loss(scale: Any, key: Any) -> Any:
        return jnp.sum(jnp.sin(scale * jax.random.normal(key, (500,))))

    with jax.cpu_engine("xla"):
        gradients = jax.jit(jax.vmap(jax.grad(loss), (None, 0)))
        found = gradients(2.0, jax.random.split(KEY, 3))
    expected = [jax.grad(loss)(2.0, key) for key in jax.random.split(KEY, 3)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_portable_programs_have_no_native_code() -> None:
    draw = jax.jit(lambda key: jax.random.bits(key, (700,)))
    exported = jax.export.export(draw, platforms=["cpu"])(KEY)
    assert BITS_TARGET not in exported.mlir_module()
    np.testing.assert_array_equal(exported.call(KEY), draw(KEY))
