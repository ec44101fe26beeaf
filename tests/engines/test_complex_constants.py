"""Complex numbers that a program knows: machine code and C read them as eager mode does."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from tests.engines.c_library import CLibrary

NUMBERS = (1j, 2 + 1j, -0.0j, complex(0, np.inf), complex(np.nan, 1))
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "real": jnp.real,
    "imag": jnp.imag,
    "abs": jnp.abs,
    "angle": jnp.angle,
    "conj": jnp.conj,
    "to bool": lambda z: z.astype(bool),
    "to float": lambda z: z.real.astype("float32"),
    "not zero": lambda z: z != 0,
    "equal": lambda z: z == z,
    "other order": lambda z: 0 == z,
    "chosen": lambda z: jnp.where(z != 0, 1.0, 2.0),
    "parts again": lambda z: jax.lax.complex(z.imag, z.real),
    "sum": lambda z: jnp.sum(jnp.broadcast_to(z, (3,))).imag,
    "branch": lambda z: jax.lax.cond((z != 0).all(), lambda: 1.0, lambda: 2.0),
}


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_known_numbers(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    with jax.enable_x64(True), np.errstate(invalid="ignore"):
        for number in NUMBERS:
            z = jnp.full(shape, number, dtype)
            expected = np.asarray(FUNCTIONS[name](z))
            with jax.cpu_engine("native"):
                result = np.asarray(jax.jit(lambda z=z: FUNCTIONS[name](z))())
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_known_numbers_in_c(tmp_path: Path) -> None:
    library = CLibrary(tmp_path)
    z = jnp.full((1,), 2 + 1j)
    chosen = [name for name in FUNCTIONS if zlib.crc32(name.encode()) % 2]
    names = {name: library.add(lambda name=name: FUNCTIONS[name](z)) for name in chosen}
    for name, called in names.items():
        np.testing.assert_allclose(library.call(called)[0], np.asarray(FUNCTIONS[name](z)), 1e-6)
