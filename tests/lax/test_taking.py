"""Members that are taken along the first axis: native code, and its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import lax
from morphax.core import ShapedArray
from morphax.lax.indexing import element_places
from morphax.lax.indexing.gather import gather_p

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
