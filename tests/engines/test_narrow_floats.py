"""float16 and bfloat16 in native programs: each result is rounded, as by the other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops import NotALoopProgram

DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
ALL_BITS = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)


@pytest.fixture(autouse=True)
def _native() -> Iterator[None]:
    with jax.cpu_engine("native"):
        yield


def bits(x: Any) -> np.ndarray[Any, Any]:
    """The bits of an array, NaN as one of them."""
    array = np.asarray(x)
    whole = array.view(np.uint16) if array.dtype in DTYPES else array
    return np.where(np.isnan(array.astype(np.float32)), np.uint16(0x7FFF), whole)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_numbers_are_read_and_written(dtype: Any) -> None:
    x = ALL_BITS.view(dtype)
    np.testing.assert_array_equal(
        np.asarray(jax.jit(lambda x: jnp.negative(-x))(x)).view(np.uint16), ALL_BITS
    )
    wide = jax.jit(lambda x: x.astype(jnp.float32))(x)
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    for integers in (np.int16, np.uint8):
        read = jax.jit(lambda x, integers=integers: lax.bitcast_convert_type(x, integers))
        expected = x.view(integers).reshape(np.asarray(read(x)).shape)
        np.testing.assert_array_equal(read(x), expected)
    written = jax.jit(lambda x: lax.bitcast_convert_type(x, dtype))(ALL_BITS)
    np.testing.assert_array_equal(np.asarray(written).view(np.uint16), ALL_BITS)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rounding_is_to_the_nearest_and_of_ties_to_the_even_one(dtype: Any) -> None:
    exact = ALL_BITS.view(dtype).astype(np.float32)
    with np.errstate(all="ignore"):
        middle = ((exact[:-1].astype(np.float64) + exact[1:]) / 2).astype(np.float32)
        beside = [np.nextafter(middle, np.float32(end)) for end in (np.inf, -np.inf)]
        x = np.concatenate([exact, middle, *beside, np.float32([3.4e38, -3.4e38, 1e-45])])
        expected = x.astype(dtype)
    found = jax.jit(lambda x: x.astype(dtype))(x)
    np.testing.assert_array_equal(bits(found), bits(expected))


def test_no_quiet_bit_is_lost() -> None:
    """NaN whose highest bits alone would be infinity stays NaN."""
    x = np.array([0x7F800001, 0xFF800001], np.uint32).view(np.float32)
    for dtype in DTYPES:
        assert np.isnan(np.asarray(jax.jit(lambda x, d=dtype: x.astype(d))(x), np.float32)).all()


def _counted(x: Any) -> Any:
    return lax.fori_loop(0, 1000, lambda _, s: s + x[1], x[0])


def _halves(x: Any) -> Any:
    return (
        lax.while_loop(lambda s: s > 0, lambda s: s / 2, x[1])
        + lax.scan(lambda s, v: (s * v + 1, s), x[0], x)[1]
    )


EXACT: dict[str, Callable[[Any], Any]] = {
    "each sum is rounded": lambda x: (x + 1000) - 1000,
    "each product is rounded": lambda x: x * 3 * x,
    "quotients": lambda x: x / 3 / 7,
    "overflow": lambda x: x * 60000 * 60000 / 60000,
    "underflow": lambda x: x * 1e-4 * 1e-4 * 1e4,
    "square root": lambda x: jnp.sqrt(jnp.abs(x)) + 0.1,
    "sum in a loop stands still": _counted,
    "loops": _halves,
    "known numbers": lambda x: x + jnp.asarray(0.1, x.dtype) + np.asarray([0.3] * 8, x.dtype),
    "branches": lambda x: lax.cond(x[0] < 1, lambda x: x * 1.1, lambda x: x - 1.1, x),
    "written in place": lambda x: lax.fori_loop(
        0, 5, lambda i, x: x.at[i].set(x[i + 1] * 1.7).at[2].multiply(1.3), x
    ),
    "order": lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argmax(x), lax.top_k(x, 3)[0]),
    "to integers": lambda x: ((x * 1000).astype(jnp.int8), (x * 1000).astype(jnp.uint32)),
    "from integers": lambda x: jnp.arange(2040, 2070).astype(x.dtype) + x[0],
    "counted": lambda x: lax.iota(x.dtype, 3000),
    "from one to the other": lambda x: (x * 300).astype(DTYPES[0]).astype(DTYPES[1]) * 1.1,
    "gathers and joins": lambda x: jnp.concatenate([x[::-1], jnp.pad(x[2:5], 2), x[jnp.arange(3)]]),
    "mapped loops": lambda x: jax.vmap(
        lambda v: lax.while_loop(lambda s: s < 100, lambda s: s * 1.9 + 1, v)
    )(jnp.abs(x)),
    "returned": lambda x: (x, x + 1, x),
    "empty": lambda x: (x[:0] * 2, jnp.sum(x[:0])),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_are_those_of_the_reference(name: str, dtype: Any) -> None:
    function = EXACT[name]
    x = np.array([0.7, 0.2, -1.3, 2.0, -0.1, 0.33, 1.5, -0.0]).astype(dtype)
    compiled = jax.jit(lambda x: function(x)).lower(x).compile()
    assert compiled.as_text("engine").startswith("engine native")
    found = jax.tree.leaves(compiled(x))
    with np.errstate(all="ignore"):
        expected = jax.tree.leaves(function(jnp.asarray(x)))
    for given, truth in zip(found, expected, strict=True):
        assert (given.dtype, given.shape) == (truth.dtype, truth.shape)
        np.testing.assert_array_equal(bits(given), bits(truth))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_sum_into_an_element_is_rounded(dtype: Any) -> None:
    """As in programs of XLA: from some number on, 1 is lost."""
    x, places = np.zeros(2, dtype), np.zeros(3000, np.int32)
    results = []
    for engine in ("native", "xla"):
        with jax.cpu_engine(engine):
            results.append(jax.jit(lambda x, i: x.at[i].add(1))(x, places))
    np.testing.assert_array_equal(*map(bits, results))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients(dtype: Any) -> None:
    def loss(w: Any, x: Any) -> Any:
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    rng = np.random.default_rng(3)
    w, x = [rng.normal(size=shape).astype(dtype) for shape in ((5, 3), (4, 5))]
    found = jax.jit(jax.grad(loss))(w, x)
    expected = jax.grad(loss)(w.astype(np.float32), x.astype(np.float32))
    assert found.dtype == dtype
    np.testing.assert_allclose(np.asarray(found, np.float32), expected, rtol=0.05, atol=0.05)


def test_what_depends_on_the_format_is_refused() -> None:
    x = np.ones(3, np.float16)
    for function in (lambda x: lax.nextafter(x, x), lambda x: lax.reduce_precision(x, 4, 3)):
        with pytest.raises(NotALoopProgram, match="float16 and bfloat16 have no form of loops"):
            jax.jit(function)(x)


def test_donated_operands_and_numpy_arrays() -> None:
    step = jax.jit(lambda x: x * 2, donate_argnums=0)
    x = jnp.arange(64, dtype=jnp.bfloat16)
    result = step(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(np.asarray(result, np.float32), np.arange(64) * 2)
