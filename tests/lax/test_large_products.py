"""Products of large matrices in eager mode, which threads of ours share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax.config import override
from morphax.util import threads
from morphax.util.compiled import part

native: Any = part("products")
if native is None:
    pytest.skip("without the compiled module NumPy multiplies", allow_module_level=True)

# Around the sizes of tiles, panels and blocks of all processors.
SIZES = (
    *((1, 1, 1), (3, 5, 7), (14, 256, 32), (15, 257, 33), (112, 512, 64), (113, 300, 31)),
    # Few columns: those of one panel, and those that are multiplied one by one.
    *((29, 300, 2), (200, 70, 4), (113, 600, 5), (28, 256, 16), (225, 257, 1)),
    *((200, 70, 10), (10, 70, 500), (6, 600, 8), (20, 1500, 40), (0, 5, 3), (5, 0, 3), (5, 3, 0)),
    # Vectors: around the sizes of vectors of a processor and of blocks.
    *((1, 31, 1), (1, 8193, 1), (300, 5, 1), (257, 259, 1), (1, 5, 300), (1, 259, 257)),
    *((2, 20_001, 1), (1, 20_001, 2), (5, 0, 1), (1, 0, 5), (0, 4, 1), (1, 4, 0), (1, 300_000, 1)),
)


@pytest.fixture(params=[1, 3])
def shared_by(request: Any) -> Iterator[None]:
    before = threads.num_threads()
    threads.set_num_threads(request.param)
    yield
    threads.set_num_threads(before)


def _layouts(x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    padded = np.pad(x, ((0, 1), (0, 3)))[: x.shape[0], : x.shape[1]]
    spread = np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3]
    return [x, np.asfortranarray(x), padded, spread, x[::-1, ::-1], np.broadcast_to(x[:1], x.shape)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_as_exact_as_sums(
    size: tuple[int, int, int], dtype: Any, shared_by: None
) -> None:
    rows, inner, columns = size
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(rows, inner)), draw.normal(size=(inner, columns))
    for x in _layouts(a.astype(dtype)):
        for y in _layouts(b.astype(dtype)):
            result = native.product(x, y)
            assert result.dtype == dtype
            assert result.flags.c_contiguous
            exact = x.astype(np.longdouble) @ y.astype(np.longdouble)
            bound = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64)
            assert result.shape == exact.shape
            assert (np.abs(result - exact) <= inner * np.finfo(dtype).eps * bound).all()


@pytest.mark.sampled(16)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_products_of_integers_wrap_around(
    size: tuple[int, int, int], dtype: Any, shared_by: None
) -> None:
    rows, inner, columns = size
    draw, bounds = np.random.default_rng(0), np.iinfo(dtype)
    a = draw.integers(bounds.min, bounds.max, (rows, inner), dtype, endpoint=True)
    b = draw.integers(bounds.min, bounds.max, (inner, columns), dtype, endpoint=True)
    for x in _layouts(a):
        for y in _layouts(b):
            result = native.product(x, y)
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, x @ y)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_narrow_integers_and_vectors(
    size: tuple[int, int, int], dtype: str, shared_by: None
) -> None:
    rows, inner, columns = size
    draw, bounds = np.random.default_rng(0), np.iinfo(dtype)
    a = draw.integers(bounds.min, bounds.max, (rows, inner), dtype, endpoint=True)
    b = draw.integers(bounds.min, bounds.max, (inner, columns), dtype, endpoint=True)
    a[: rows // 2], b[:, : columns // 2] = bounds.min, bounds.min
    for x in _layouts(a):
        for y in _layouts(b):
            exact = x.astype(np.int32) @ y.astype(np.int32)
            for is_wide, out in ((True, np.int32), (False, np.int16)):
                result = native.narrow_product(x, y, is_wide)
                if 1 not in (rows, columns):
                    assert result is None
                if result is not None:
                    assert result.dtype == out
                    np.testing.assert_array_equal(result, exact.astype(out))
    if 1 in (rows, columns) and 0 not in size:
        assert native.narrow_product(a, b, True) is not None


@pytest.mark.parametrize("shape", [(2, 3, 4), (30, 40, 50), (1, 300, 300), (300, 300, 1)])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_eager_products_of_integers(dtype: str, shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    draw, bounds = np.random.default_rng(0), np.iinfo(dtype)
    x = draw.integers(bounds.min, bounds.max, (5, rows, inner), dtype, endpoint=True)
    y = draw.integers(bounds.min, bounds.max, (5, inner, columns), dtype, endpoint=True)
    x[0], y[0] = bounds.min, bounds.min
    with override(enable_x64=True):
        # Modulo 2⁶⁴, and so modulo what divides it.
        exact = x.astype(np.uint64) @ y.astype(np.uint64)
        for out in map(np.dtype, (dtype, "int32", "uint32", "int64", "uint64")):
            if out.itemsize < x.itemsize:
                continue
            for i in (slice(None), 0):
                found = jnp.matmul(jnp.asarray(x[i]), jnp.asarray(y[i]), preferred_element_type=out)
                assert found.dtype == out
                np.testing.assert_array_equal(found, exact[i].astype(out))
        dotted = jnp.einsum("bij,bjk->k", jnp.asarray(x), jnp.asarray(y))
        assert dotted.dtype == dtype
        wrapped = np.einsum("bij,bjk->k", x.astype(np.uint64), y.astype(np.uint64)).astype(dtype)
        np.testing.assert_array_equal(dotted, wrapped)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (2, 300, 1), (4, 1, 257), (0, 3, 2), (2, 15, 33)])
def test_stacks(sizes: tuple[int, int, int], shared_by: None) -> None:
    rows, inner, columns = sizes
    draw = np.random.default_rng(0)
    for count in (0, 1, 7):
        x, y = draw.normal(size=(count, rows, inner)), draw.normal(size=(count, columns, inner))
        result = native.product(x, y.swapaxes(1, 2))
        each = [native.product(a, b.T) for a, b in zip(x, y, strict=True)]
        np.testing.assert_array_equal(result, np.reshape(each, (count, rows, columns)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint64])
@pytest.mark.parametrize("count", [0, 1, 63, 65, 300])
def test_pairs_of_short_rows_are_summed_in_their_order(
    count: int, dtype: Any, shared_by: None
) -> None:
    draw = np.random.default_rng(0)
    numbers = (draw.normal(size=(2, count, 15)) * 1e4).astype(np.int64).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        numbers *= dtype(1 / 3)
        special = draw.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, 1e-42], numbers.shape)
        numbers = np.where(draw.random(numbers.shape) < 0.03, special, numbers).astype(dtype)
    for terms in (0, 1, 2, 3, 7, 15):
        rows, others = numbers[..., :terms]
        with np.errstate(invalid="ignore", over="ignore"):
            sums = np.zeros(count, np.float64 if dtype == np.float32 else dtype)
            for product in (rows * others).T:
                sums += product
            expected = sums.astype(dtype)
        for x in _layouts(rows)[:4]:
            result = native.product(x[:, None], others[:, :, None])
            assert result.dtype == dtype
            np.testing.assert_array_equal(result.reshape(count), expected)
        with override(enable_x64=True):
            found = jnp.einsum("ij,ij->i", jnp.asarray(rows), jnp.asarray(others))
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("left", "right"),
    [((500, 501), (501, 502)), ((900, 901), (901, 1)), ((1, 901), (901, 900)),
     ((1, 700_001), (700_001, 1)), ((9, 200, 100), (9, 100, 50))],
)  # fmt: skip
def test_bits_do_not_depend_on_threads(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    draw = np.random.default_rng(0)
    x, y = (draw.normal(size=size).astype(np.float32) for size in (left, right))
    before, results = threads.num_threads(), []
    try:
        for count in (1, 2, 7):
            threads.set_num_threads(count)
            results.append(native.product(x, y).tobytes())
    finally:
        threads.set_num_threads(before)
    assert len(set(results)) == 1


def test_numbers_that_are_not_finite_stay_in_their_rows_and_columns() -> None:
    x, y = np.ones((100, 90), np.float32), np.ones((90, 70), np.float32)
    x[3, 5], x[50, 7], y[11, 13], x[60, :2] = np.nan, np.inf, -np.inf, (np.inf, -np.inf)
    result = np.asarray(jnp.asarray(x) @ jnp.asarray(y))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(result, x @ y)
    assert np.isnan(result[3]).all()
    assert np.isnan(result[60]).all()
    assert result[50, 0] == np.inf
    assert np.isnan(result[50, 13])


def test_eager_products_are_these() -> None:
    draw = np.random.default_rng(0)
    x, y = (draw.normal(size=(130, 131)).astype(np.float32) for _ in range(2))
    result = np.asarray(jnp.asarray(x) @ jnp.asarray(y).T)
    assert result.tobytes() == native.product(x, np.ascontiguousarray(y.T)).tobytes()


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [((600, 601), (601,), "ij,j->i"), ((601,), (601, 600), "j,ji->i"), ((600, 601), (90, 601),
     "ij,kj->ik"), ((300_001,), (300_001,), "i,i->"), ((2, 90, 80), (2, 80, 70), "bij,bjk->bik")],
)  # fmt: skip
def test_large_products_do_not_ask_the_blas(
    left: tuple[int, ...], right: tuple[int, ...], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, asked = np.random.default_rng(0), []
    x, y = (draw.normal(size=size).astype(np.float32) for size in (left, right))
    for name in ("dot", "matmul"):
        monkeypatch.setattr(np, name, lambda *_, name=name: asked.append(name))
    result = np.asarray(jnp.einsum(text, jnp.asarray(x), jnp.asarray(y)))
    monkeypatch.undo()
    assert not asked
    np.testing.assert_allclose(result, np.einsum(text, x, y), rtol=1e-3, atol=1e-3)


def test_arrays_that_do_not_fit_are_refused() -> None:
    x = np.ones((3, 4), np.float32)
    with pytest.raises(ValueError, match="do not fit"):
        native.product(x, x)
    with pytest.raises(TypeError, match="of one dtype"):
        native.product(x, x.T.astype(np.float64))
    with pytest.raises(TypeError, match="of one dtype"):
        native.product(x.astype(np.int32), x.T.astype(np.uint32))
    with pytest.raises(TypeError, match="of one dtype"):
        native.product(x.astype(np.int16), x.T.astype(np.int16))
    with pytest.raises(ValueError, match="do not fit"):
        native.product(np.stack([x, x]), np.stack([x.T]))
    with pytest.raises(TypeError, match="two or three axes"):
        native.product(x[0], x)
    narrow = x.astype(np.int8)
    column = narrow.T[:, :1]
    for other in (narrow, column.astype(np.uint8), column[None], column.astype(np.int32)):
        assert native.narrow_product(narrow, other, True) is None
