"""Members that are taken along the first axis, windows along several: native code, and its twin."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import lax
from morphax.core import ShapedArray
from morphax.lax.indexing import element_places, scatter_rules
from morphax.lax.indexing.gather import gather_p, scatter_add_p
from morphax.lax.indexing.scatter import scatter_p

pytestmark = pytest.mark.skipif(element_places._native is None, reason="native code is not there")

_PLACES = np.array([0, 3, 6, 7, -1, -7, 2, 2**31 - 1, -(2**31)])
_WIDE = np.append(_PLACES, [2**63 - 1, -(2**63), 2**32, -(2**32)])


def _aval(x: Any) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype)


def _params(x: Any, mode: str, fill_value: Any = None) -> dict[str, Any]:
    numbers = lax.GatherDimensionNumbers(tuple(range(1, x.ndim)), (0,), (0,))
    fills = lax.GatherScatterMode.from_any(mode) is lax.GatherScatterMode.FILL_OR_DROP
    return {
        "dimension_numbers": numbers,
        "slice_sizes": (1, *x.shape[1:]),
        "mode": lax.GatherScatterMode.from_any(mode),
        "fill_value": (np.nan if fill_value is None else fill_value) if fills else None,
        "indices_are_sorted": False,
        "unique_indices": False,
    }


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "bfloat16", "float16", "int8", "complex64", "complex128"]
)
@pytest.mark.parametrize("tail", [(), (3,), (5, 1, 2)])
@pytest.mark.parametrize("places", [_PLACES.astype(np.int32), _WIDE])
@pytest.mark.parametrize("mode", ["fill", "clip", "promise_in_bounds"])
def test_members_are_those_of_the_twin(
    dtype: str, tail: tuple[int, ...], places: Any, mode: str
) -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(7, *tail)) * 50).astype(jnp.dtype(dtype))
    params = _params(x, mode, 7 if dtype == "int8" else None)
    for at in (places[:, None], places[:8].reshape(2, 4, 1), places[::-2, None]):
        numbers = params["dimension_numbers"]
        offset = tuple(range(at.ndim - 1, at.ndim - 1 + len(tail)))
        given = params | {"dimension_numbers": numbers._replace(offset_dims=offset)}
        kernel = gather_p.kernel(_aval(x), _aval(at), **given)
        assert kernel is not None
        twin = gather_p.evaluate(x, at, **given)
        for operand in (x, np.asfortranarray(x), x[::-1][::-1]):
            result = kernel(operand, at)
            assert result.dtype == x.dtype
            assert result.tobytes() == twin.tobytes()


def test_many_members() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=1000).astype(np.float32)
    at = rng.integers(-50, 1050, (2**18 + 77, 1)).astype(np.int32)
    params = _params(x, "fill", 0.5)
    kernel = gather_p.kernel(_aval(x), _aval(at), **params)
    assert kernel is not None
    assert kernel(x, at).tobytes() == gather_p.evaluate(x, at, **params).tobytes()


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "bfloat16", "int8", "int32", "uint64", "complex64", "bool"]
)
@pytest.mark.parametrize("tail", [(), (3,), (5, 1, 2)])
@pytest.mark.parametrize("places", [_PLACES.astype(np.int32), _WIDE, np.arange(9, dtype=np.uint8)])
@pytest.mark.parametrize("mode", ["drop", "clip"])
@pytest.mark.parametrize("scatter", [scatter_p, scatter_add_p])
def test_members_are_changed_as_the_twin_changes_them(
    dtype: str,
    tail: tuple[int, ...],
    places: Any,
    mode: str,
    scatter: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if dtype == "bool" and scatter is scatter_add_p:
        return
    rng = np.random.default_rng(0)
    draws = [rng.choice([0.0, -0.0, 1.5, 7.0, -3.25, 100.0], (n, *tail)) for n in (7, 9)]
    if jnp.issubdtype(dtype, jnp.inexact):
        draws[0].flat[:3], draws[1].flat[1:4] = (np.inf, -np.inf, np.nan), (np.nan, np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        x, updates = [draw.astype(jnp.dtype(dtype)) for draw in draws]
    window = tuple(range(1, x.ndim))
    numbers = lax.ScatterDimensionNumbers(window, (0,), (0,))
    params = {
        "dimension_numbers": numbers,
        "mode": lax.GatherScatterMode.from_any(mode),
        "indices_are_sorted": False,
        "unique_indices": False,
        "update_jaxpr": None,
        "update_consts": (),
    }
    at = np.resize(places, 9)[:, None]
    for operands in ((x, at, updates), (np.asfortranarray(x), at[::-1], updates[::-1])):
        before = [operand.tobytes() for operand in operands]
        result = scatter.evaluate(*operands, **params)
        assert [operand.tobytes() for operand in operands] == before
        with monkeypatch.context() as without:
            without.setattr(scatter_rules, "_native", None)
            twin = scatter.evaluate(*operands, **params)
        assert (result.dtype, result.shape) == (twin.dtype, twin.shape)
        are_same = (result == twin) | ((result != result) & (twin != twin))
        assert are_same.all()
        if scatter is scatter_p:
            assert result.tobytes() == twin.tobytes()
        else:
            assert (np.signbit(result.real) == np.signbit(twin.real)).all()


# Sizes of the operand's axes and of windows along them.  All axes are indexed.
_WINDOWS = [
    ((7, 5), (1, 1)),
    ((7, 5), (1, 5)),
    ((7, 5), (3, 2)),
    ((6, 4, 5), (1, 1, 1)),
    ((6, 4, 5), (1, 2, 5)),
    ((3, 4, 2, 5), (1, 1, 2, 3)),
]


@pytest.mark.parametrize(("shape", "sizes"), _WINDOWS)
@pytest.mark.parametrize("dtype", ["int8", "uint32", "int32", "int64", "uint64"])
@pytest.mark.parametrize("mode", ["fill", "clip"])
@pytest.mark.parametrize("batch", [(), (600,), (0,), (3, 2)])
def test_windows_start_where_numbers_say(
    shape: tuple[int, ...], sizes: tuple[int, ...], dtype: str, mode: str, batch: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(2)
    x, ends = rng.normal(size=shape).astype(np.float32), np.iinfo(dtype)
    at = rng.integers(max(-3, ends.min), 9, (*batch, len(shape))).astype(dtype)
    extremes = rng.choice(np.array([ends.min, ends.max], dtype), at.shape)
    at = np.where(rng.random(at.shape) < 0.1, extremes, at)
    window = tuple(range(len(batch), len(batch) + len(shape)))
    numbers = lax.GatherDimensionNumbers(window, (), tuple(range(len(shape))))
    params = _params(x, mode) | {"dimension_numbers": numbers, "slice_sizes": sizes}
    expected = np.full((*batch, *sizes), np.nan, np.float32)
    for i in np.ndindex(batch):
        asked = at[i].tolist()
        start = [min(max(a, 0), n - k) for a, n, k in zip(asked, shape, sizes, strict=True)]
        if mode == "clip" or asked == start:
            at_start = [slice(a, a + k) for a, k in zip(start, sizes, strict=True)]
            expected[i] = x[tuple(at_start)]
    kernel = gather_p.kernel(_aval(x), _aval(at), **params)
    assert (kernel is None) == (0 in batch)
    for evaluate in (kernel, functools.partial(gather_p.evaluate, **params)):
        for operand in (x, np.asfortranarray(x)):
            if evaluate is not None:
                np.testing.assert_array_equal(evaluate(operand, at), expected)


@pytest.mark.parametrize("places", [np.int32, np.int64])
@pytest.mark.parametrize("counts", [np.int32, np.int64])
@pytest.mark.parametrize("axes", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("marks", [False, True])
def test_numbers_of_rows(places: Any, counts: Any, axes: int, marks: bool) -> None:
    rng = np.random.default_rng(axes)
    limits, weights = rng.integers(0, 40, (2, axes)).astype(counts)
    at = rng.integers(-30, 70, (700, axes)).astype(places)
    near = np.clip(at.astype(int), 0, limits)
    expected = near @ weights
    dtype = np.promote_types(places, counts)
    if marks:
        expected[(near != at).any(axis=-1)] = np.iinfo(dtype).min
    rows = element_places.starting_rows(at, limits, weights, marks)
    assert rows.dtype == dtype
    np.testing.assert_array_equal(rows, expected)


def test_what_numbers_no_rows_is_refused() -> None:
    at, two, three = np.zeros((4, 2), np.int32), np.zeros(2, np.int32), np.zeros(3, np.int32)
    for places, limits, weights, error in (
        (at, three, two, ValueError),
        (at, two, three, ValueError),
        (np.zeros((), np.int32), two, two, ValueError),
        (at.astype(np.uint32), two, two, ValueError),
        (at.astype(np.int16), two, two, ValueError),
        (at, two, two.astype(float), ValueError),
        ([[0, 0]], two, two, TypeError),
    ):
        with pytest.raises(error):
            element_places._native.starting_rows(places, limits, weights, True)


def test_what_has_no_members_is_refused() -> None:
    native, places = element_places._native, np.zeros(2, np.int32)
    for x, at, fill, error in (
        (np.zeros(()), places, None, ValueError),
        (np.zeros((0, 3)), places, None, ValueError),
        (np.zeros(3), places.astype(np.uint32), None, ValueError),
        (np.zeros(3), places.astype(np.int16), None, ValueError),
        (np.zeros(3), places, b"1234", ValueError),
        ([1, 2], places, None, TypeError),
    ):
        with pytest.raises(error):
            native.taken(x, at, fill)
