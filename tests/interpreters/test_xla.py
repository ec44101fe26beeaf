"""Values of other people's types as operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.core import ShapedArray
from morphax.interpreters import xla

NUMBERS = np.arange(3, dtype=np.float32)


class Opaque:
    """A value that NumPy does not convert by itself."""

    def __init__(self, value: Any) -> None:
        self.value = value


class ArrayLike:
    """A value that looks like an array to NumPy."""

    shape = (3,)
    dtype = np.dtype(np.float32)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.value, dtype)


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    avals, conversions = core.pytype_aval_mappings, xla.canonicalize_dtype_handlers
    avals[Opaque] = lambda x: ShapedArray(np.shape(x.value), np.float32)
    conversions[Opaque] = lambda x: x.value
    avals[ArrayLike] = avals[np.ndarray]
    conversions[ArrayLike] = conversions[np.ndarray]
    yield
    for kind in (Opaque, ArrayLike):
        del avals[kind], conversions[kind]


WAYS: list[tuple[str, Callable[[Any], Any]]] = [
    ("bind", lambda x: lax.mul_p.bind(x, x)),
    ("lax", lambda x: lax.mul(x, x)),
    ("jnp", lambda x: jnp.multiply(x, x)),
    ("jit", lambda x: jax.jit(lambda y: y * y)(x)),
    ("closed over", lambda x: jax.jit(lambda: lax.mul(x, x))()),
    ("vmap", lambda x: jax.vmap(lambda y: y * y)(x)),
    ("jvp", lambda x: jax.jvp(lambda y: y * y, (x,), (NUMBERS,))[0]),
    ("scan", lambda x: lax.scan(lambda c, y: (c, y * y), 0.0, x)[1]),
]


@pytest.mark.parametrize("kind", [Opaque, ArrayLike])
@pytest.mark.parametrize(("name", "way"), WAYS, ids=[name for name, _ in WAYS])
def test_values_of_other_types(kind: Any, name: str, way: Any) -> None:
    np.testing.assert_array_equal(way(kind(NUMBERS)), NUMBERS * NUMBERS)


def test_without_a_conversion() -> None:
    del xla.canonicalize_dtype_handlers[Opaque]
    try:
        with pytest.raises(TypeError):
            lax.sin(Opaque(NUMBERS))
    finally:
        xla.canonicalize_dtype_handlers[Opaque] = lambda x: x.value


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.ones(2, np.float64), np.float32),
        (np.int64(3), np.int32),
        (2.0, np.float32),
        (True, np.bool_),
        (1j, np.complex64),
    ],
)
def test_the_conversions_of_built_in_types(value: Any, dtype: Any) -> None:
    converted = xla.canonicalize_dtype_handlers[type(value)](value)
    assert converted.dtype == dtype
    np.testing.assert_array_equal(converted, value)
