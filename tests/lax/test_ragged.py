"""Products of matrices in groups of different sizes, against loops over the groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.test_util import check_grads

CONTRACTED = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])


def looped(lhs: Any, rhs: Any, sizes: Any) -> Any:
    out = np.zeros((lhs.shape[0], rhs.shape[-1]), lhs.dtype)
    start = 0
    for matrix, size in zip(rhs, sizes, strict=True):
        out[start : start + size] = lhs[start : start + size] @ matrix
        start += size
    return out


def operands(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(7, 3)).astype("f4"), rng.normal(size=(3, 3, 2)).astype("f4")


@pytest.mark.parametrize("sizes", [(2, 4, 1), (0, 3, 2), (7, 0, 0), (0, 0, 0), (3, 9, 1)])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_rows_get_the_matrix_of_their_group(sizes: tuple[int, ...], dtype: str) -> None:
    lhs, rhs = operands()
    groups = np.array(sizes, dtype)
    for function in (lax.ragged_dot, jax.jit(lax.ragged_dot)):
        given = function(lhs, rhs, groups)
        np.testing.assert_allclose(given, looped(lhs, rhs, sizes), rtol=1e-5, atol=1e-6)


def test_groups_do_not_touch_each_other() -> None:
    lhs, rhs = operands()
    rhs[0] = np.inf
    rhs[2] = np.nan
    given = np.asarray(lax.ragged_dot(lhs, rhs, np.array([2, 4, 1])))
    np.testing.assert_allclose(given[2:6], lhs[2:6] @ rhs[1], rtol=1e-5)


def test_a_contracted_axis_gives_a_sum_for_each_group() -> None:
    lhs, _ = operands()
    rhs = lhs[:, :2] + 1
    rhs[6] = np.inf
    given = lax.ragged_dot_general(lhs, rhs, np.array([2, 3, 0]), CONTRACTED)
    expected = [lhs[:2].T @ rhs[:2], lhs[2:5].T @ rhs[2:5], np.zeros((3, 2))]
    np.testing.assert_allclose(given, expected, rtol=1e-5)


def test_derivatives_and_batches() -> None:
    lhs, rhs = operands()
    sizes = np.array([2, 4, 0], np.int32)
    check_grads(lambda x, y: lax.ragged_dot(x, y, sizes), (lhs, rhs), 2, atol=1e-2, rtol=1e-2)
    many = np.stack([sizes, sizes[::-1]])
    both = jax.vmap(lax.ragged_dot, (None, None, 0))(lhs, rhs, many)
    for given, own in zip(both, many, strict=True):
        np.testing.assert_allclose(given, looped(lhs, rhs, own), rtol=1e-5, atol=1e-6)
    numbers = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1])
    pair = np.stack([lhs, 2 * lhs]), np.stack([rhs, -rhs])
    np.testing.assert_allclose(lax.ragged_dot_general(*pair, many, numbers)[0], both[0], rtol=1e-5)
    accumulated = lax.ragged_dot(
        lhs.astype("i1"), rhs.astype("i1"), sizes, preferred_element_type=jnp.int32
    )
    assert accumulated.dtype == np.int32


@pytest.mark.parametrize(
    ("lhs", "rhs", "sizes", "error", "match"),
    [
        ((4, 3), (2, 3, 4), np.ones(3, "i4"), ValueError, "an axis of rhs of size g"),
        ((4, 3), (3, 4), np.ones(2, "i4"), ValueError, r"rhs \(g, k, n\)"),
        ((4, 3), (2, 3, 4), np.ones(2, "f4"), TypeError, "integer"),
        ((4, 3), (2, 2, 4), np.ones(2, "i4"), TypeError, "contracting"),
    ],
)
def test_what_does_not_fit_is_refused(
    lhs: Any, rhs: Any, sizes: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        lax.ragged_dot(np.ones(lhs, "f4"), np.ones(rhs, "f4"), sizes)


def test_a_part_of_the_groups_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="group_offset"):
        lax.ragged_dot(*operands(), np.ones(3, "i4"), group_offset=np.array([1]))
