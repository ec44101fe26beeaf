"""Initializers: what they draw, and how much it varies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.nn import initializers

KEY = jax.random.key(0)
# Numbers that JAX draws with this key.
KNOWN: dict[str, tuple[Any, tuple[int, ...], Any]] = {
    "he_normal": (
        initializers.he_normal(),
        (3, 2),
        [[1.3514677, 1.5916845], [-0.38305843, -0.06964843], [0.1559439, -0.84711754]],
    ),
    "glorot_uniform": (
        initializers.glorot_uniform(),
        (3, 2),
        [[0.9807893, 1.048516], [-0.36743096, -0.06864396], [0.1531185, -0.7328462]],
    ),
    "truncated_normal": (
        initializers.truncated_normal(),
        (3,),
        [0.01455959, 0.01714749, -0.00412675],
    ),
    "uniform": (initializers.uniform(), (2,), [0.00947667, 0.0097858]),
    "normal": (initializers.normal(), (2,), [0.01622642, 0.02025265]),
    "fan_geo_avg": (
        initializers.variance_scaling(2.0, "fan_geo_avg", "normal"),
        (2, 3),
        [[1.4662228, 1.8300333, -0.3917968], [-0.0710388, 0.15911609, -0.8783818]],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_numbers(name: str) -> None:
    init, shape, expected = KNOWN[name]
    for run in (init, jax.jit(init, static_argnums=1)):
        np.testing.assert_allclose(run(KEY, shape), expected, 2e-6)


@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
@pytest.mark.parametrize(
    ("mode", "size"), [("fan_in", 40), ("fan_out", 90), ("fan_avg", 65), ("fan_geo_avg", 60)]
)
def test_variance(distribution: str, mode: str, size: float) -> None:
    init = initializers.variance_scaling(3.0, mode, distribution)
    weights = np.asarray(init(KEY, (5, 8, 18)))
    np.testing.assert_allclose(weights.std(), np.sqrt(3.0 / size), 0.1)


def test_batch_axes_do_not_count() -> None:
    one = initializers.he_normal(batch_axis=0)(KEY, (1, 4, 6))
    np.testing.assert_array_equal(one[0], initializers.he_normal()(KEY, (4, 6)))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 4), (0, 3), (3, 0)])
def test_orthogonal(shape: tuple[int, ...], axis: int) -> None:
    weights = np.asarray(initializers.orthogonal(2.0, axis)(KEY, shape))
    assert weights.shape == shape
    columns = np.moveaxis(weights, axis, -1).reshape(-1, shape[axis]) if weights.size else None
    if columns is not None:
        longer = columns if columns.shape[0] >= columns.shape[1] else columns.T
        np.testing.assert_allclose(longer.T @ longer, 4 * np.eye(longer.shape[1]), atol=2e-6)
        rows, size = columns.shape
        drawn = jax.random.orthogonal(KEY, rows, m=size)
        np.testing.assert_array_equal(columns, 2 * np.asarray(drawn))


@pytest.mark.parametrize(
    ("shape", "middle"),
    [((3, 2, 4), (1,)), ((2, 4, 3, 3), (0, 1)), ((5, 3, 2, 2, 2), (2, 1, 0)), ((3, 0, 2), (1,))],
)
def test_delta_orthogonal(shape: tuple[int, ...], middle: tuple[int, ...]) -> None:
    kernel = np.asarray(initializers.delta_orthogonal(2.0)(KEY, shape)).copy()
    expected = initializers.orthogonal(2.0)(KEY, shape[-2:])
    np.testing.assert_array_equal(kernel[middle], expected)
    kernel[middle] = 0
    assert not kernel.any()


def test_shapes_without_orthogonal_matrices() -> None:
    for shape in ((), (5,)):
        with pytest.raises(ValueError, match="at least two axes"):
            initializers.orthogonal()(KEY, shape)
    with pytest.raises(ValueError, match="column_axis"):
        initializers.orthogonal(column_axis=2)(KEY, (2, 2))
    for shape in ((4, 4), (3, 4, 2), (0, 2, 2), (1, 1, 1, 1, 2, 2)):
        with pytest.raises(ValueError, match="inputs, outputs"):
            initializers.delta_orthogonal()(KEY, shape)


def test_constants() -> None:
    np.testing.assert_array_equal(initializers.zeros(KEY, (2,)), [0, 0])
    np.testing.assert_array_equal(initializers.ones(KEY, (2,), "int32"), [1, 1])
    assert initializers.constant(2.5, "float16")(KEY, (2,)).dtype == np.float16


@pytest.mark.parametrize("value", [7.0, 7, True, np.int8(7), np.float16(7)])
def test_parameters_of_one_value_are_floats_that_are_not_weak(value: Any) -> None:
    parameters = initializers.constant(value)(KEY, (2,))
    assert (parameters.dtype, parameters.weak_type) == (np.float32, False)
    assert initializers.constant(value)(KEY, (2,), "int32").dtype == np.int32


def test_dtype() -> None:
    assert initializers.normal(dtype="bfloat16")(KEY, (2,)).dtype == "bfloat16"
    assert initializers.normal(dtype="bfloat16")(KEY, (2,), "float32").dtype == "float32"


def test_errors() -> None:
    with pytest.raises(ValueError, match="argument mode"):
        initializers.variance_scaling(1.0, "fan", "normal")
    with pytest.raises(ValueError, match="argument distribution"):
        initializers.variance_scaling(1.0, "fan_in", "gamma")
    with pytest.raises(ValueError, match="two axes"):
        initializers.he_normal()(KEY, (3,))


def test_complex_weights() -> None:
    key = jax.random.key(3)
    found = [
        init()(key, (2, 2), np.complex64).ravel()[0]
        for init in (initializers.glorot_normal, initializers.glorot_uniform)
    ]
    # Those of JAX.
    expected = [0.06777702 + 0.01116947j, 0.09200792 + 0.01516265j]
    np.testing.assert_allclose(found, expected, 1e-6)
    for kind in ("normal", "truncated_normal", "uniform"):
        weights = initializers.variance_scaling(2.0, "fan_in", kind)(key, (50, 80), np.complex64)
        np.testing.assert_allclose(np.var(weights), 2 / 50, 0.05)
