"""The memory of arrays, read as bytes: what views say, and that it outlives the array."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.util.compiled import part

pytestmark = pytest.mark.skipif(
    part("buffers") is None and sys.version_info < (3, 12),
    reason="before Python 3.12 this is a matter of the compiled part",
)
FORMATS = {
    **{"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i"},
    **{"uint32": "I", "float16": "e", "float32": "f", "complex64": "Zf"},
}


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)], ids=str)
def test_what_a_view_says(dtype: str, shape: tuple[int, ...]) -> None:
    x = jnp.ones(shape, dtype)
    view = memoryview(x)  # type: ignore[arg-type]
    assert (view.format, view.shape, view.nbytes) == (FORMATS[dtype], shape, x.nbytes)
    assert view.readonly
    assert view.c_contiguous
    np.testing.assert_array_equal(np.asarray(view), np.asarray(x), strict=True)


def test_who_reads_bytes_reads_arrays() -> None:
    x: Any = jnp.arange(3.0)
    assert bytes(x) == np.arange(3, dtype=np.float32).tobytes()
    assert io.BytesIO().write(x) == 12
    np.testing.assert_array_equal(np.frombuffer(x, np.float32), [0, 1, 2])
    np.testing.assert_array_equal(jnp.frombuffer(x, "float32"), [0, 1, 2])


def test_the_twin_gives_the_same_view() -> None:
    x: Any = jnp.arange(6.0).reshape(2, 3)
    assert x.__buffer__(0) == memoryview(x)


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "float8_e4m3fn"])
def test_dtypes_without_a_name(dtype: str) -> None:
    x: Any = jnp.ones(3, dtype)
    for read in (memoryview, lambda x: x.__buffer__(0)):
        with pytest.raises(BufferError, match="a dtype that Python has no name for"):
            read(x)
    assert np.asarray(x).dtype == x.dtype


def test_keys_are_no_numbers() -> None:
    key: Any = jax.random.key(0)
    with pytest.raises(TypeError, match="key_data"):
        memoryview(key)


def test_nobody_writes_there() -> None:
    x: Any = jnp.zeros(3)
    with pytest.raises(TypeError, match="read-only"):
        memoryview(x).cast("B")[0] = 1
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"abcd").readinto(x)
    assert not np.asarray(x).flags.writeable


def test_what_is_traced_has_no_memory() -> None:
    with pytest.raises(TypeError, match="bytes-like"):
        jax.jit(lambda x: memoryview(x))(1.0)


MAKERS: list[Callable[[], Any]] = [
    lambda: jnp.arange(40_000.0),
    jax.jit(lambda: jnp.arange(40_000.0)),
    lambda: jnp.asarray(np.arange(40_000, dtype=np.float32)),
    lambda: jax.device_put(jnp.arange(40_000.0)),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("end", ["delete", "donate", "forget"])
def test_a_view_outlives_the_array(make: Callable[[], Any], end: str) -> None:
    x = make()
    view, numbers = memoryview(x), np.frombuffer(x, np.float32)
    result = None
    if end == "delete":
        x.delete()
        with pytest.raises(RuntimeError, match="deleted array"):
            memoryview(x)
    elif end == "donate":
        result = jax.jit(lambda x: x * 0 - 7, donate_argnums=0)(x).block_until_ready()
    del x
    gc.collect()
    others = [jnp.full(40_000, -1.0 - i) for i in range(3)]
    assert len(others) == 3
    assert view[39_999] == numbers[-1] == 39_999
    np.testing.assert_array_equal(numbers, np.arange(40_000))
    assert result is None or (result == -7).all()
