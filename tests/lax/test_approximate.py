"""The k largest or smallest elements, nearly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax

X = np.random.default_rng(0).normal(size=(3, 50)).astype("f4")


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_search_is_exact(axis: int, dtype: str) -> None:
    x = X.astype(dtype)
    for function, order in ((lax.approx_max_k, -1), (lax.approx_min_k, 1)):
        values, places = jax.jit(lambda x, f=function: f(x, 2, axis))(x)
        np.testing.assert_array_equal(values, order * np.sort(order * x, axis).take([0, 1], axis))
        np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(places), axis), values)


def test_derivatives_go_to_where_the_elements_came_from() -> None:
    x = np.float32([3, 1, 2])
    np.testing.assert_array_equal(jax.grad(lambda x: lax.approx_max_k(x, 2)[0].sum())(x), [1, 0, 1])
    np.testing.assert_array_equal(jax.grad(lambda x: lax.approx_min_k(x, 1)[0][0])(x), [0, 1, 0])


# Shape, k and recall, and the candidates that XLA has for them.
CANDIDATES = [
    ((2, 50), 4, 0.95, 50),
    ((2, 129), 1, 0.5, 128),
    ((2, 5000), 10, 0.95, 384),
    ((2, 100_000), 10, 0.95, 256),
    ((5000,), 1, 0.95, 1024),
    ((5000,), 2, 0.95, 2048),
]


@pytest.mark.parametrize(("shape", "k", "recall", "count"), CANDIDATES)
def test_the_number_of_candidates(shape: Any, k: int, recall: float, count: int) -> None:
    x = jax.ShapeDtypeStruct(shape, np.float32)
    options = {"recall_target": recall, "aggregate_to_topk": False}
    values, _ = jax.eval_shape(lambda x: lax.approx_max_k(x, k, **options), x)
    assert values.shape == (*shape[:-1], count)


@pytest.mark.parametrize(
    ("x", "options"),
    [
        (np.arange(5), {"k": 2}),
        (X, {"k": 51}),
        (X, {"k": 0}),
        (X, {"k": 1, "recall_target": 1.5}),
        (X, {"k": 1, "reduction_input_size_override": 10}),
    ],
)
def test_what_is_refused(x: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"lax\.approx_min_k"):
        lax.approx_min_k(x, **options)


def test_the_equation() -> None:
    (eqn,) = jax.make_jaxpr(lambda x: lax.approx_min_k(x, 2))(X).eqns
    assert eqn.primitive is lax.approx_top_k_p
    assert eqn.params == {
        "aggregate_to_topk": True,
        "is_max_k": False,
        "k": 2,
        "recall_target": 0.95,
        "reduction_dimension": -1,
        "reduction_input_size_override": -1,
    }


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("function", [lax.approx_max_k, lax.approx_min_k])
def test_a_batch_has_the_candidates_of_its_members(function: Any, aggregate: bool) -> None:
    x = np.random.default_rng(1).normal(size=(2, 3000)).astype("f4")

    def found(x: Any) -> Any:
        return function(x, 2, aggregate_to_topk=aggregate)

    for given, member in zip(jax.vmap(found)(x), zip(*map(found, x), strict=True), strict=True):
        np.testing.assert_array_equal(given, np.stack(member))
