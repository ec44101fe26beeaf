"""Edges of gather and scatter: indices outside, ties, many updates of one place, error texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import grad, jit, jvp, lax, make_jaxpr
from morphax.array import Array
from morphax.core import ShapedArray
from morphax.dtypes import KeyType
from tests.lax.engines import array, check_all_agree, check_engines_agree

GATHER, SCATTER = lax.GatherDimensionNumbers, lax.ScatterDimensionNumbers
ROWS = ((1,), (0,), (0,))
ELEMENTS = ((), (0,), (0,))
BLOCKS = ((1, 2), (), (0, 1))
X = np.arange(12, dtype=np.float32).reshape(3, 4)
OUTSIDE = np.array([[5], [-1], [1]], np.int32)
SCATTERS = ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")

FILLED = [
    ("float32", np.nan),
    ("bfloat16", np.nan),
    ("float8_e4m3fn", np.nan),
    ("complex64", np.nan),
    ("int8", -128),
    ("int4", -8),
    ("uint8", 255),
    ("bool", True),
]


@pytest.mark.parametrize(("dtype", "filler"), FILLED)
def test_windows_outside_are_filled(dtype: str, filler: Any) -> None:
    def rows(x: Any, i: Any) -> Any:
        return lax.gather(x, i, GATHER(*ROWS), (1, 4), mode="fill")

    x = array(np.arange(12).reshape(3, 4) % 8, dtype)
    result = check_engines_agree(rows, x, OUTSIDE)
    wide = "complex64" if dtype == "complex64" else "float64"
    np.testing.assert_array_equal(result[:2].astype(wide), np.full((2, 4), filler, wide))
    np.testing.assert_array_equal(result[2], x[1])


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (2.7, 2), (np.int8(5), 5)])
def test_fill_values_are_converted(value: Any, expected: int) -> None:
    def rows(x: Any, i: Any) -> Any:
        return lax.gather(x, i, GATHER(*ROWS), (1, 4), mode="fill", fill_value=value)

    assert check_engines_agree(rows, X.astype(np.int8), OUTSIDE)[0].tolist() == [expected] * 4


def test_fill_values_out_of_range_are_refused() -> None:
    with pytest.raises(OverflowError, match="300"):
        lax.gather(X.astype(np.int8), OUTSIDE, GATHER(*ROWS), (1, 4), mode="fill", fill_value=300)


def test_each_nan_is_the_same_fill_value() -> None:
    def traced(nan: float) -> Any:
        rows = GATHER(*ROWS)
        call = lambda x: lax.gather(x, OUTSIDE, rows, (1, 4), mode="fill", fill_value=nan)  # noqa: E731
        return make_jaxpr(call)(X).eqns[-1].params["fill_value"]

    assert traced(float("nan")) is traced(float("inf") - float("inf"))


def test_random_keys_are_gathered_and_scattered() -> None:
    dtype = KeyType("fry", (2,), np.uint64)
    keys = Array(ShapedArray((3,), dtype), np.array([1, 2, 3], np.uint64))

    def found(keys: Any, i: Any) -> Any:
        return lax.gather(keys, i, GATHER(*ELEMENTS), (1,), mode="fill")

    def put(keys: Any, i: Any) -> Any:
        return lax.scatter(keys, i, keys, SCATTER(*ELEMENTS))

    for function, expected in ((found, [2**64 - 1, 2**64 - 1, 2]), (put, [1, 3, 3])):
        eager, compiled = function(keys, OUTSIDE), jit(function)(keys, OUTSIDE)
        assert eager.aval.dtype is compiled.aval.dtype is dtype
        assert eager.to_host().tolist() == compiled.to_host().tolist() == expected


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8", "uint32", "uint64"])
def test_indices_of_any_dtype(dtype: str, mode: str) -> None:
    info = np.iinfo(dtype)
    x = np.arange(300, dtype=np.float32)
    i = np.array([[info.min], [info.max], [info.max // 2 + 1], [0], [100]], dtype)

    def found(x: Any, i: Any) -> Any:
        return lax.gather(x, i, GATHER(*ELEMENTS), (1,), mode=mode)

    result = check_engines_agree(found, x, i)
    inside = [0 <= int(p) < 300 for (p,) in i]
    nearest = [float(min(max(int(p), 0), 299)) for (p,) in i]
    filled = [near if ok else np.nan for near, ok in zip(nearest, inside, strict=True)]
    np.testing.assert_array_equal(result, filled if mode == "fill" else nearest)

    def put(x: Any, i: Any) -> Any:
        updates = np.arange(-5, 0, dtype=np.float32)
        return lax.scatter(x, i, updates, SCATTER(*ELEMENTS), mode=mode)

    check_engines_agree(put, x, i)


@pytest.mark.parametrize("name", SCATTERS)
def test_a_window_partly_outside_is_dropped_whole(name: str) -> None:
    def call(x: Any, i: Any, u: Any) -> Any:
        return getattr(lax, name)(x, i, u, SCATTER(*BLOCKS))

    i = np.array([[-1, 0], [2, 1], [0, 3], [1, 2]], np.int32)
    changed = check_engines_agree(call, X, i, np.full((4, 2, 2), 5.5, np.float32)) != X
    assert not changed[0].any()
    assert not changed[:, :2].any()


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint32", "int4", "complex64"])
def test_many_updates_of_one_place(name: str, dtype: str) -> None:
    def call(x: Any, i: Any, u: Any) -> Any:
        return getattr(lax, name)(x, i, u, SCATTER(*ELEMENTS))

    x, u = array([3, 1, 2], dtype), array([1, 2, 3, 2, 1, 1], dtype)
    i = np.array([[0], [2], [0], [0], [9], [2]], np.int32)
    check_engines_agree(call, x, i, u)


@pytest.mark.parametrize("name", SCATTERS)
def test_windows_that_overlap(name: str) -> None:
    def call(x: Any, i: Any, u: Any) -> Any:
        return getattr(lax, name)(x, i, u, SCATTER(*BLOCKS), mode="clip")

    i = np.array([[0, 0], [0, 1], [1, 1], [0, 0]], np.int32)
    check_engines_agree(call, X, i, np.arange(16, dtype=np.float32).reshape(4, 2, 2))


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_many_windows_without_an_index(name: str, shape: tuple[int, ...]) -> None:
    numbers = SCATTER((), tuple(range(len(shape))), ())

    def call(x: Any, i: Any, u: Any) -> Any:
        return getattr(lax, name)(x, i, u, numbers)

    i = np.zeros((2, 0), np.int32)
    result = check_engines_agree(call, np.full(shape, 3.0), i, np.array([5.0, 2.0]))
    expected = dict(zip(SCATTERS, (2, 10, -4, 30, 2, 5), strict=True))[name]
    assert result.reshape(-1)[0] == expected


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_extremes_of_zeros_and_nan(dtype: str) -> None:
    edges = array([0.0, -0.0, np.nan, 1.0, -1.0, np.inf, -np.inf], dtype)
    x, u = (np.ascontiguousarray(v).ravel() for v in np.meshgrid(edges, edges, indexing="ij"))
    i = np.arange(len(x), dtype=np.int32)[:, None]

    def call(name: str) -> Callable[..., Any]:
        return lambda x, i, u: getattr(lax, name)(x, i, u, SCATTER(*ELEMENTS))

    check_all_agree({n: call(n) for n in ("scatter_max", "scatter_min")}, x, i, u)


@pytest.mark.parametrize("name", SCATTERS)
def test_empty_operands(name: str) -> None:
    def call(x: Any, u: Any) -> Any:
        return getattr(lax, name)(x, np.array([[0], [1]]), u, SCATTER(*ROWS), unique_indices=True)

    u = np.ones((2, 4), np.float32)
    assert check_engines_agree(call, X[:0], u).shape == (0, 4)
    pulled = grad(lambda u: lax.reduce_sum(call(X[:0], u), (0, 1)))(u)
    assert not pulled.to_host().any()


def test_operands_are_left_alone() -> None:
    x = lax.full((3, 4), 1.0)
    for name in SCATTERS:
        getattr(lax, name)(x, OUTSIDE, X, SCATTER(*ROWS))
    assert (x.to_host() == 1).all()


def test_the_update_that_stays_has_the_derivative() -> None:
    i = np.array([[0], [1], [0], [7]], np.int32)
    x, u = np.zeros(3, np.float32), np.arange(1, 5, dtype=np.float32)

    def put(x: Any, u: Any) -> Any:
        return lax.scatter(x, i, u, SCATTER(*ELEMENTS))

    out, tangent = jvp(put, (x, u), (x + 10, u))
    assert out.to_host().tolist() == [3.0, 2.0, 0.0]
    assert tangent.to_host().tolist() == [3.0, 2.0, 10.0]
    pulled = grad(lambda u: lax.reduce_sum(put(x, u), (0,)))(u)
    assert pulled.to_host().tolist() == [0.0, 1.0, 1.0, 0.0]


def test_ties_share_the_derivative() -> None:
    i = np.array([[0], [0], [1]], np.int32)
    x, u = np.array([2, 0, 9], np.float32), np.array([2, 2, 0.5], np.float32)
    for name, sign in (("scatter_max", 1), ("scatter_min", -1)):

        def total(x: Any, u: Any, name: str = name, sign: int = sign) -> Any:
            out = getattr(lax, name)(sign * x, i, sign * u, SCATTER(*ELEMENTS))
            return lax.reduce_sum(out, (0,))

        pulled = [g.to_host() * sign for g in grad(total, (0, 1))(x, u)]
        np.testing.assert_allclose(pulled[0], [1 / 3, 0, 1], rtol=1e-6)
        np.testing.assert_allclose(pulled[1], [1 / 3, 1 / 3, 1], rtol=1e-6)


def test_product_at_places_that_may_coincide_has_no_derivative() -> None:
    def total(u: Any) -> Any:
        return lax.reduce_sum(lax.scatter_mul(X, OUTSIDE, u, SCATTER(*ROWS)), (0, 1))

    with pytest.raises(NotImplementedError, match=r"lax\.scatter_mul[\s\S]*unique_indices=True"):
        grad(total)(X)


def test_applied_function_of_many_steps() -> None:
    def call(x: Any, i: Any) -> Any:
        halved = lambda v: lax.div(lax.broadcast(v, ()), lax.full((), 2.0, np.float32))  # noqa: E731
        return lax.scatter_apply(x, i, halved, SCATTER(*ELEMENTS), update_shape=(3,))

    i = np.array([[0], [0], [2]], np.int32)
    assert check_engines_agree(call, np.full(3, 8, np.float32), i).tolist() == [2.0, 8.0, 4.0]


def test_nothing_inside() -> None:
    i = np.array([[7], [-1]], np.int32)
    numbers = SCATTER(*ELEMENTS)

    def applied(x: Any, i: Any) -> Any:
        return lax.scatter_apply(x, i, lambda v: lax.mul(v, v), numbers, update_shape=(2,))

    def largest(x: Any, i: Any) -> Any:
        return lax.scatter_max(x, i, lax.full((2,), 9, x.dtype), numbers)

    x = np.array([2 + 1j, 3], np.complex64)
    for result in check_all_agree({"apply": applied, "max": largest}, x, i).values():
        np.testing.assert_array_equal(result, x)


def test_modes() -> None:
    mode = lax.GatherScatterMode
    names = {"clip": 1, "fill": 2, "drop": 2, "promise_in_bounds": 3, "one_hot": 4, None: 2}
    assert all(mode.from_any(name) is mode(value) for name, value in names.items())
    assert str(mode.CLIP) == "GatherScatterMode.CLIP"
    with pytest.raises(ValueError, match=r"'wrap'[\s\S]*one of 'clip'"):
        mode.from_any("wrap")


def gathered(indices: Any, *fields: Any, sizes: Any, **options: Any) -> Any:
    return lax.gather(X, indices, GATHER(*fields), sizes, **options)


def scattered(indices: Any, updates: Any, *fields: Any) -> Any:
    return lax.scatter_add(X, indices, updates, SCATTER(*fields))


AT = OUTSIDE
BATCHED = np.zeros((2, 1), np.int32)
REFUSED = [
    (lambda: gathered(AT * 0.5, *ROWS, sizes=(1, 4)), TypeError, r"start_indices[\s\S]*integers"),
    (lambda: gathered(np.int32(1), *ROWS, sizes=(1, 4)), ValueError, r"start_indices[\s\S]*last"),
    (lambda: gathered(AT, *ROWS, sizes=(1,)), ValueError, r"slice_sizes[\s\S]*2 sizes"),
    (lambda: gathered(AT, *ROWS, sizes=(1, 5)), ValueError, r"slice_sizes[\s\S]*no larger"),
    (lambda: gathered(AT, *ROWS, sizes=(2, 4)), ValueError, r"collapsed_slice_dims[\s\S]*size 1"),
    (lambda: gathered(AT, (3,), (0,), (0,), sizes=(1, 4)), ValueError, r"offset_dims[\s\S]*incre"),
    (lambda: gathered(AT, (1, 0), (), (0,), sizes=(1, 4)), ValueError, r"offset_dims[\s\S]*incre"),
    (lambda: gathered(AT, (1,), (0, 0), (0,), sizes=(1, 4)), ValueError, r"collapsed[\s\S]*incre"),
    (lambda: gathered(AT, (0, 1), (0,), (0,), sizes=(1, 4)), ValueError, r"offset_dims[\s\S]*1 ax"),
    (
        lambda: gathered(AT, (1,), (0,), (2,), sizes=(1, 4)),
        ValueError,
        r"start_index_map[\s\S]*dif",
    ),
    (
        lambda: gathered(AT, (1,), (0,), (0, 1), sizes=(1, 4)),
        ValueError,
        r"map[\s\S]*1 axes, one p",
    ),
    (
        lambda: gathered(BATCHED, (), (1,), (1,), (0,), (0,), sizes=(1, 1)),
        ValueError,
        r"start_indices_batching_dims[\s\S]*same sizes",
    ),
    (
        lambda: gathered(BATCHED, (1,), (0,), (1,), (0,), (0,), sizes=(1, 1)),
        ValueError,
        r"operand_batching_dims[\s\S]*not among collapsed_slice_dims",
    ),
    (
        lambda: gathered(BATCHED, (1,), (), (0,), (0,), (0,), sizes=(1, 4)),
        ValueError,
        r"start_index_map[\s\S]*not among operand_batching_dims",
    ),
    (
        lambda: gathered(AT, *ROWS, sizes=(1, 4), mode="one_hot"),
        ValueError,
        r"lax\.gather, argument mode[\s\S]*one_hot",
    ),
    (lambda: scattered(AT * 0.5, X, *ROWS), TypeError, r"scatter_indices[\s\S]*integers"),
    (lambda: scattered(AT, X.astype(int), *ROWS), TypeError, r"updates[\s\S]*float32\[3,4\]"),
    (lambda: scattered(AT, X[:2], *ROWS), ValueError, r"updates[\s\S]*float32\[3,4\]"),
    (lambda: scattered(AT, X, (1,), (), (0,)), ValueError, r"update_window_dims[\s\S]*2 axes"),
    (lambda: scattered(AT, X, (5,), (0,), (0,)), ValueError, r"update_window_dims[\s\S]*1 axes"),
    (
        lambda: scattered(AT, np.ones((3, 5), np.float32), *ROWS),
        ValueError,
        r"slice_sizes[\s\S]*no larger",
    ),
    (
        lambda: lax.scatter_add(X > 1, AT, X > 1, SCATTER(*ROWS)),
        TypeError,
        r"lax\.add, operand 0[\s\S]*dtype",
    ),
    (
        lambda: lax.scatter_apply(X, AT, lambda v: lax.gt(v, v), SCATTER(*ROWS)),
        TypeError,
        r"lax\.scatter_apply, argument func[\s\S]*f32\[\] to bool\[\]",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_wrong_calls_are_refused(
    call: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


def test_updates_made_of_what_was_gathered_read_what_was_there_before() -> None:
    def update(x: Any, i: Any) -> Any:
        rows = lax.gather(x, i, GATHER(*ROWS), (1, 4), mode="clip")
        return lax.dynamic_update_slice(rows, lax.slice_in_dim(rows, 0, 2) * 2, (1, 0))

    i = np.array([[0], [1], [2]], np.int32)
    got = check_engines_agree(update, X.astype(np.int32), i)
    assert got[2].tolist() == (2 * X[1]).astype(np.int32).tolist()
