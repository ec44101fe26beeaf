"""Integer powers of arrays: all exponents, modulo what the dtype holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _operands(dtype: str) -> tuple[Any, Any]:
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    special = [info.min, info.max, info.max - 1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 65, 100, 127]
    bases = [*special, info.min + 1, *rng.integers(info.min, info.max, 40, dtype)]
    exponents = [*special, *rng.integers(0, 100, 20), *rng.integers(info.min, info.max, 20, dtype)]
    return np.array(bases, dtype)[:, None], np.array(exponents, dtype)


def _by_python(x: Any, y: Any) -> Any:
    modulus = 1 << np.iinfo(x.dtype).bits
    powers = [[pow(int(a) % modulus, int(b) % modulus, modulus) for b in y] for a in x[:, 0]]
    return np.array(powers, f"u{x.dtype.name.removeprefix('u')}").view(x.dtype)


@pytest.mark.parametrize("engine", ["xla", "native"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_powers_are_those_of_python(dtype: str, engine: str) -> None:
    x, y = _operands(dtype)
    with jax.enable_x64(True), jax.cpu_engine(engine):
        out = jax.jit(lambda x, y: jnp.power(x, y))(x, y)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, _by_python(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eager_powers_are_those_of_python(dtype: str) -> None:
    x, y = _operands(dtype)
    expected = _by_python(x, y)
    x, y = np.broadcast_arrays(x, y)
    with jax.enable_x64(True):
        bases, exponents = jnp.asarray(x), jnp.asarray(y)
        np.testing.assert_array_equal(jnp.power(bases, exponents), expected)
        np.testing.assert_array_equal(jnp.power(bases[:, :1], exponents), expected)
        np.testing.assert_array_equal(
            jnp.power(bases, exponents[0, 1]), expected[:, [1] * len(y[0])]
        )
        np.testing.assert_array_equal(jnp.power(bases[3, 0], exponents), expected[[3] * len(x)])


def test_powers_in_a_batch_and_of_booleans() -> None:
    x, y = _operands("int32")
    out = jax.jit(jax.vmap(lambda a, b: jnp.power(a, b), (None, 0)))(x, y)
    np.testing.assert_array_equal(out[:, :, 0].T, _by_python(x, y))
    flags = np.array([False, True])
    powers = jax.jit(lambda a, b: jnp.power(a, b))(flags[:, None], flags)
    assert powers.dtype == np.int32
    np.testing.assert_array_equal(powers, [[1, 0], [1, 1]])


def test_no_exponent_makes_a_loop() -> None:
    """A loop takes as many rounds as the largest exponent has bits, for all."""
    numbers = np.arange(4, dtype=np.int32)
    text = str(jax.make_jaxpr(jnp.power)(numbers, numbers))
    assert "while" not in text
