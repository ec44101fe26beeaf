"""`ShapeDtypeStruct`: what it knows, how it changes, and what it is made like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import numpy as jnp
from morphax.core import Format, Layout

Struct = jax.ShapeDtypeStruct
PLACE = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
COLUMN_MAJOR = Format(Layout((1, 0)), PLACE)


def test_facts() -> None:
    struct = Struct((2, 3), "float32", weak_type=True)
    assert (struct.shape, struct.dtype, struct.ndim, struct.size) == ((2, 3), np.float32, 2, 6)
    assert len(struct) == 2
    assert (struct.weak_type, struct.is_ref, struct.manual_axis_type) == (True, False, None)
    assert struct.format == Format()


def test_a_format_is_a_sharding_and_a_layout() -> None:
    struct = Struct((2, 3), "float32", sharding=COLUMN_MAJOR)
    assert struct.sharding == PLACE
    assert struct.format == COLUMN_MAJOR
    assert struct != Struct((2, 3), "float32", sharding=PLACE)
    assert struct.update(dtype="int32").format == COLUMN_MAJOR
    assert struct.update(sharding=None).format == Format()


TEXTS = {
    "plain": (Struct((2,), "float32"), "ShapeDtypeStruct(shape=(2,), dtype=float32)"),
    "weak": (
        Struct((), "int32", weak_type=True),
        "ShapeDtypeStruct(shape=(), dtype=int32, weak_type=True)",
    ),
    "format": (
        Struct((2, 3), "float32", sharding=COLUMN_MAJOR),
        f"ShapeDtypeStruct(shape=(2, 3), dtype=float32, sharding={PLACE}, "
        f"format={COLUMN_MAJOR.layout})",
    ),
    "reference": (
        Struct((2,), "float32", is_ref=True),
        "ShapeDtypeStruct(shape=(2,), dtype=float32, is_ref=True)",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    struct, text = TEXTS[name]
    assert repr(struct) == text


def test_equal_structures_hash_alike() -> None:
    one, other = (Struct((2,), "float32", sharding=PLACE) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Struct((2,), "float32")
    assert one != (2,)


LIKE: dict[str, tuple[Any, Struct]] = {
    "NumPy array": (np.ones((2, 3), np.int8), Struct((2, 3), "int8")),
    "array": (jnp.ones(3), Struct((3,), "float32")),
    "weak array": (jnp.asarray(2.0), Struct((), "float32", weak_type=True)),
    "committed array": (
        jax.device_put(np.ones(3, np.float32), PLACE),
        Struct((3,), "float32", sharding=PLACE),
    ),
    "aval": (jax.typeof(jnp.ones(3)), Struct((3,), "float32")),
    "structure": (
        Struct((2, 3), "float32", sharding=PLACE, is_ref=True),
        Struct((2, 3), "float32", sharding=PLACE, is_ref=True),
    ),
}


@pytest.mark.parametrize("name", LIKE)
def test_like(name: str) -> None:
    x, expected = LIKE[name]
    assert Struct.like(x) == expected


def test_like_a_traced_value() -> None:
    seen = []
    jax.make_jaxpr(lambda x: seen.append(Struct.like(x)) or x)(jnp.ones((2, 3)))
    assert seen == [Struct((2, 3), "float32")]


def test_refusals() -> None:
    with pytest.raises(TypeError, match=r"like, argument x[\s\S]*3 of type int[\s\S]*asarray"):
        Struct.like(3)
    with pytest.raises(ValueError, match=r"argument dtype[\s\S]*Name it"):
        Struct((2,), None)
    with pytest.raises(TypeError, match="shade"):
        Struct((2,), "float32").update(shade="blue")
