"""Elements of eager arrays that are read and written at once: as by the operations for it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import override
from morphax.engines.reference import known_parts
from tests.descriptions import described

DTYPES = ["float32", "int32", "uint8", "bool", "complex64", "float16", "bfloat16", "int4", "int8"]
SHAPES = [(), (1,), (5,), (0,), (3, 4), (2, 1, 3), (0, 2), (3, 0), (1, 1), (70, 70)]
UPDATES = ["set", "add", "subtract", "multiply", "min", "max", "divide"]


def some_array(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 3e38, 1e-40])
    if dtype in ("float32", "complex64"):
        numbers = rng.choice(special, shape) if rng.random() < 0.5 else rng.normal(size=shape)
    else:
        numbers = rng.integers(0, 3 if dtype == "int4" else 90, shape)
    x = jnp.asarray(np.asarray(numbers).astype(jnp.dtype(dtype)))
    return jax.lax.convert_element_type(1, dtype) * x if rng.random() < 0.2 else x


def some_part(rng: Any, size: int) -> Any:
    def place() -> int:
        return int(rng.integers(-size - 1, size + 2))

    def bound() -> int | None:
        return None if rng.random() < 0.4 else int(rng.integers(-size - 2, size + 3))

    kind = rng.integers(0, 9)
    if kind <= 1:
        return place()
    if kind <= 3:
        return slice(bound(), bound(), [None, 1, 2, -1, -2, 10**30][rng.integers(0, 6)])
    if kind == 4:
        shape = [(), (1,), (3,), (2, 2), (0,)][rng.integers(0, 5)]
        places = rng.integers(-size - (rng.random() < 0.3), size + (rng.random() < 0.3) + 1, shape)
        return jnp.asarray(places, ["int32", "int8", "uint8"][rng.integers(0, 3)])
    if kind == 5:
        return jnp.asarray(rng.random(size + (rng.random() < 0.1)) < 0.5)
    others = [None, ..., True, np.int64(place()), np.array([0]), [0], 1.0, jnp.asarray(True)]
    return others[rng.integers(0, len(others))] if kind == 6 else [None, ..., 0][kind - 7]


def some_index(rng: Any, shape: tuple[int, ...]) -> Any:
    parts = [some_part(rng, n) for n in shape[: rng.integers(0, len(shape) + 1)]]
    for extra in (None, ...):
        if rng.random() < 0.2:
            parts.insert(int(rng.integers(0, len(parts) + 1)), extra)
    return parts[0] if len(parts) == 1 and rng.random() < 0.8 else tuple(parts)


def some_values(rng: Any, x: Any, shape: tuple[int, ...], dtype: str) -> Any:
    kind = rng.integers(0, 6)
    if kind == 0:
        return [0, 1, -1, 100, 101, 300][rng.integers(0, 6)]
    if kind == 1:
        return [0.0, -0.0, 0.1, -2.5, 100.0, float("nan"), float("inf"), 1e300][rng.integers(0, 8)]
    if kind == 2:
        return [True, 1j, np.float32(2), np.int8(-3), np.ones(1), [1]][rng.integers(0, 6)]
    shape = [shape, (), shape[1:], (1, *shape)][rng.integers(0, 4)]
    return some_array(rng, shape, dtype if rng.random() < 0.8 else "float32")


def outcome(call: Any) -> list[Any]:
    """What a call gives, or the class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call()
        except Exception as error:
            return [type(error)]
    assert np.asarray(result).flags.c_contiguous
    return [result.aval, described(result)]


def both_ways(call: Any) -> None:
    found = outcome(call)
    with override(known_parts=False):
        assert found == outcome(call)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many elements were read at once."""
    count = [0]
    found = known_parts.known_part

    def known_part(*arguments: Any) -> Any:
        result = found(*arguments)
        count[0] += result is not None
        return result

    monkeypatch.setattr(known_parts, "known_part", known_part)
    return count


@pytest.mark.parametrize("seed", range(8))
def test_parts_are_those_of_operations(seed: int, counted: list[int]) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(150):
        shape, dtype = SHAPES[rng.integers(0, len(SHAPES))], DTYPES[rng.integers(0, len(DTYPES))]
        x, index = some_array(rng, shape, dtype), some_index(rng, shape)
        both_ways(lambda x=x, index=index: x[index])
    assert counted[0] > 30


@pytest.mark.parametrize("seed", range(8))
def test_updates_are_those_of_operations(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    changed = 0
    for _ in range(150):
        shape, dtype = SHAPES[rng.integers(0, len(SHAPES))], DTYPES[rng.integers(0, len(DTYPES))]
        x, index = some_array(rng, shape, dtype), some_index(rng, shape)
        name = UPDATES[rng.integers(0, len(UPDATES))]
        try:
            places = np.zeros(shape)[index if type(index) is tuple else (index,)].shape
        except Exception:
            places = ()
        values = some_values(rng, x, places, dtype)
        before = np.asarray(x).tobytes()
        both_ways(lambda x=x, i=index, n=name, v=values: getattr(x.at[i], n)(v))
        assert np.asarray(x).tobytes() == before
        changed += known_parts.known_update(x, index, None, values) is not None
    assert changed > 9


def test_what_was_read_is_a_copy() -> None:
    x = jnp.arange(6.0)
    part = x[1:3]
    donated = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert part.tolist() == [1.0, 2.0]
    assert donated.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    with pytest.raises(RuntimeError):
        x[0]
    with pytest.raises(RuntimeError):
        part.at[0].set(x[2])


def test_elsewhere_operations_are_applied() -> None:
    x = jnp.arange(4.0)
    there = jax.device_put(x, jax.devices()[0])
    assert there[1].committed
    assert there.at[1].set(2.0).committed
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jnp.array([1.0, np.nan])[1]
    with override(check_static_indices=True), pytest.raises(IndexError):
        x[4]
    assert str(jax.make_jaxpr(lambda: x[1])()).count("slice") == 1
    assert jax.grad(lambda y: y.at[1].set(y[0] * x[3])[1])(x).tolist() == [3.0, 0.0, 0.0, 0.0]
    keys = jax.random.split(jax.random.key(0), 3)
    assert keys[1].dtype == keys.dtype
    assert keys[1:].shape == (2,)
    assert x[2].weak_type is False
    assert jnp.asarray(2.0)[None].weak_type is True
