"""`jax.ops`: reductions over segments, compared with loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import numpy as jnp
from morphax import ops

IDS = np.array([2, 0, 2, 5, 0, -1, 1, 7])
REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[Any], Any]]] = {
    "sum": (ops.segment_sum, np.add, lambda dtype: 0),
    "prod": (ops.segment_prod, np.multiply, lambda dtype: 1),
    "max": (ops.segment_max, np.maximum, lambda dtype: _bound(dtype, least=True)),
    "min": (ops.segment_min, np.minimum, lambda dtype: _bound(dtype, least=False)),
}
EVERY = pytest.mark.parametrize("name", REDUCTIONS)


def _bound(dtype: Any, *, least: bool) -> Any:
    if np.dtype(dtype).kind == "f":
        return -np.inf if least else np.inf
    return np.iinfo(dtype).min if least else np.iinfo(dtype).max


def looped(name: str, data: np.ndarray[Any, Any], ids: Any, count: int) -> np.ndarray[Any, Any]:
    _, combine, identity = REDUCTIONS[name]
    out = np.full((count, *data.shape[1:]), identity(data.dtype), data.dtype)
    for k, x in zip(ids, data, strict=True):
        if 0 <= k < count:
            out[k] = combine(out[k], x)
    return out


def data_of(dtype: str, *trailing: int) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(0).integers(1, 5, (len(IDS), *trailing))
    return values.astype(dtype)


@EVERY
@pytest.mark.parametrize("compile", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("count", [0, 3, 6, 9])
@pytest.mark.parametrize(
    "data", [data_of("float32"), data_of("int32", 2), data_of("uint8", 0)], ids=["f32", "i32", "u8"]
)
def test_values(name: str, data: Any, count: int, compile: bool) -> None:
    function = REDUCTIONS[name][0]
    reduce = jax.jit(function, static_argnums=2) if compile else function
    got = reduce(jnp.asarray(data), jnp.asarray(IDS), count)
    assert got.dtype == data.dtype
    np.testing.assert_array_equal(got, looped(name, data, IDS, count))


@EVERY
def test_segments_are_counted(name: str) -> None:
    got = REDUCTIONS[name][0](jnp.asarray(data_of("float32")), IDS)
    np.testing.assert_array_equal(got, looped(name, data_of("float32"), IDS, 8))


@EVERY
@pytest.mark.parametrize("bucket_size", [1, 3, 8, 100])
def test_buckets(name: str, bucket_size: int) -> None:
    data = data_of("float32", 2)
    got = REDUCTIONS[name][0](jnp.asarray(data), IDS, 6, bucket_size=bucket_size)
    np.testing.assert_array_equal(got, looped(name, data, IDS, 6))


def test_buckets_keep_long_sums_accurate() -> None:
    x = jnp.full(1 << 15, 0.1, jnp.float16)
    ids = jnp.zeros(1 << 15, jnp.int32)
    exact = (1 << 15) * float(np.float16(0.1))
    total = jax.jit(ops.segment_sum, static_argnames=("num_segments", "bucket_size"))
    errors = [
        abs(float(total(x, ids, num_segments=1, bucket_size=size)[0]) - exact)
        for size in (None, 128)
    ]
    assert errors[1] < 50 < 1000 < errors[0]


@EVERY
def test_promises_do_not_change_results(name: str) -> None:
    function, data = REDUCTIONS[name][0], jnp.array([3.0, 1.0, 2.0])
    plain = function(data, jnp.array([0, 1, 2]), 4)
    promised = function(data, jnp.array([0, 1, 2]), 4, indices_are_sorted=True, unique_indices=True)
    assert plain.tolist() == promised.tolist()


@pytest.mark.parametrize(("mode", "expected"), [("drop", [2.0, 0.0]), ("clip", [3.0, 4.0])])
def test_modes(mode: str, expected: list[float]) -> None:
    data, ids = jnp.array([1.0, 2.0, 4.0]), jnp.array([-3, 0, 9])
    assert ops.segment_sum(data, ids, 2, mode=mode).tolist() == expected


def test_out_sharding() -> None:
    place = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[1])
    assert ops.segment_sum(jnp.ones(2), jnp.zeros(2, int), 1, out_sharding=place).sharding == place


def test_scalars_and_empty_data() -> None:
    assert ops.segment_sum(3.0, 0, 2).tolist() == [3.0, 0.0]
    empty = jnp.zeros((0, 2)), jnp.zeros(0, jnp.int32)
    for bucket_size in (None, 3):
        assert ops.segment_min(*empty, 1, bucket_size=bucket_size).tolist() == [[np.inf, np.inf]]


def test_derivatives() -> None:
    data, ids = jnp.asarray(data_of("float32")), jnp.asarray(IDS)
    weights = jnp.arange(6.0)
    got = jax.grad(lambda x: ops.segment_sum(x, ids, 6) @ weights)(data)
    assert got.tolist() == [2.0, 0.0, 2.0, 5.0, 0.0, 0.0, 1.0, 0.0]
    _, tangent = jax.jvp(lambda x: ops.segment_max(x, ids, 3), (data,), (jnp.ones(8),))
    assert tangent.tolist() == [1.0, 1.0, 1.0]


def test_vmap_and_scan() -> None:
    data, ids = jnp.asarray(data_of("float32", 3)), jnp.asarray(IDS)
    mapped = jax.vmap(lambda x: ops.segment_sum(x, ids, 6), 1, 1)(data)
    np.testing.assert_array_equal(mapped, ops.segment_sum(data, ids, 6))
    _, scanned = jax.lax.scan(lambda _, x: (_, ops.segment_sum(x, ids, 6)), 0, data.T)
    np.testing.assert_array_equal(scanned, mapped.T)


@pytest.mark.parametrize("bucket_size", [None, 3])
@pytest.mark.parametrize("shape", [(), (1,), (1, 2)])
@pytest.mark.parametrize("ids", [(4,), (4, 1), (2, 2), (0,)])
def test_one_element_for_all_ids(
    shape: tuple[int, ...], ids: tuple[int, ...], bucket_size: int | None
) -> None:
    numbers = np.array([3, 0, 3, 1])[: np.prod(ids)].reshape(ids)
    data = 2 + np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = ops.segment_sum(data, numbers, 4, bucket_size=bucket_size)
    counts = np.bincount(numbers.ravel(), minlength=4)
    expected = counts.reshape(4, *(1 for _ in shape[1:])) * data.reshape(1, *shape[1:])
    np.testing.assert_array_equal(found, expected)


VECTOR = jnp.ones(3)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "floating ids": (
        lambda: ops.segment_sum(VECTOR, VECTOR),
        TypeError,
        r"ops\.segment_sum, argument segment_ids[\s\S]*astype\('int32'\)",
    ),
    "other length": (
        lambda: ops.segment_max(VECTOR, jnp.array([0, 1])),
        ValueError,
        r"int32\[2\] for data float32\[3\][\s\S]*shape \(3,\)",
    ),
    "matrix of ids": (
        lambda: ops.segment_max(jnp.ones((2, 2)), jnp.zeros((2, 2), int)),
        ValueError,
        r"shape \(2,\)",
    ),
    "negative count": (
        lambda: ops.segment_sum(VECTOR, jnp.array([0, 1, 1]), -1),
        ValueError,
        r"num_segments[\s\S]*-1",
    ),
    "nothing to count": (
        lambda: ops.segment_sum(jnp.ones(0), jnp.zeros(0, int)),
        ValueError,
        "no segment_ids to count from",
    ),
    "traced ids": (
        lambda: jax.jit(ops.segment_prod)(VECTOR, jnp.array([0, 1, 1])),
        jax.errors.ConcretizationTypeError,
        r"ops\.segment_prod[\s\S]*Pass num_segments=",
    ),
    "no bucket": (
        lambda: ops.segment_sum(VECTOR, jnp.array([0, 1, 1]), bucket_size=0),
        ValueError,
        "bucket_size",
    ),
    "mode": (
        lambda: ops.segment_sum(VECTOR, jnp.array([0, 1, 1]), mode="wrong"),
        ValueError,
        "wrong",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()
