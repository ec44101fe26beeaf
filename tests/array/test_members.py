"""Members of arrays beside shape and numbers: bytes, memory, copies, hashing."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import numpy as jnp
from morphax.core import Format, Layout
from morphax.runtime.client import extension

DTYPES = ("bool", "int8", "uint16", "int32", "float16", "float32", "complex64")


@pytest.mark.parametrize("compile", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_byteswap(dtype: str, compile: bool) -> None:
    x = (np.arange(6).reshape(2, 3) % 2 if dtype == "bool" else np.arange(6).reshape(2, 3)).astype(
        dtype
    )

    def swap(x: Any) -> Any:
        return x.byteswap()

    got = np.asarray((jax.jit(swap) if compile else swap)(jnp.asarray(x)))
    assert got.dtype == x.dtype
    assert got.tobytes() == x.byteswap().tobytes()


def test_byteswap_of_bfloat16() -> None:
    x = jnp.array([1.0, -2.5], jnp.bfloat16)
    assert np.asarray(x.byteswap()).tobytes() == np.asarray(x).byteswap().tobytes()
    assert (x.byteswap().byteswap() == x).all()


def test_flat() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    assert [float(v) for v in x.flat] == list(range(6))
    assert float(x.flat[4]) == 4.0
    assert jax.jit(lambda x: x.flat[1:3])(x).tolist() == [1.0, 2.0]


def test_clones_live_apart() -> None:
    computed = jax.jit(lambda x: x + 1.0)(jnp.zeros(3))
    for x in (jnp.ones(3), computed, jax.device_put(1.0, jax.devices("cpu")[1])):
        y = x.clone()
        assert (y.aval, y.committed, y.devices()) == (x.aval, x.committed, x.devices())
        x.delete()
        assert (y == 1.0).all()
        with pytest.raises(RuntimeError, match="deleted"):
            x.clone()


def test_format() -> None:
    x = jnp.ones((2, 3))
    expected = Format(Layout((0, 1), ()), x.sharding)
    assert x.format == expected
    assert jax.jit(lambda x: x.T + 1.0)(x).format == expected
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        assert x.format


def test_traceback() -> None:
    assert jnp.ones(3).traceback is None
    # Buffers of the runtime know where they were made, arrays in host memory do not.
    f = jax.jit(lambda x: x + 1.0, compiler_options={"jax_cpu_engine": "xla"})
    assert f(2.0).traceback is None
    extension().set_tracebacks_enabled(True)
    try:
        assert "test_members.py" in str(f(2.0).traceback)
    finally:
        extension().set_tracebacks_enabled(False)


def test_only_gpu_arrays_show_themselves_to_cuda() -> None:
    x = jnp.ones(3)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"CpuDevice[\s\S]*device_put, or use DLPack"):
        assert x.__cuda_array_interface__


def test_arrays_cannot_be_keys() -> None:
    x = jnp.ones(3)
    assert not isinstance(x, Hashable)
    assert jax.Array.__hash__ is None
    with pytest.raises(TypeError, match="unhashable type: 'Array'"):
        hash(x)
    with pytest.raises(TypeError, match="unhashable"):
        jax.make_jaxpr(hash)(x)
