"""Arrays of 64 bits that have outlived the block of `enable_x64` that made them."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

NUMBERS = [0.25, 0.5, 0.75, 0.375]

OF_ONE = [
    "abs", "arccosh", "arctan", "around", "average", "cbrt", "cov", "cumprod", "cumsum", "deg2rad",
    "diff", "exp", "expm1", "gradient", "log1p", "max", "mean", "median", "min", "nan_to_num",
    "nanmedian", "nansum", "poly", "polyder", "prod", "ptp", "reciprocal", "sin", "sinc", "sort",
    "sqrt", "square", "std", "sum", "tan", "tanh", "trapezoid", "unwrap", "var",
]  # fmt: skip
SMOOTH = sorted({*OF_ONE} - {"around", "poly", "arccosh"})
COUNTS = ["all", "any", "argwhere", "count_nonzero", "flatnonzero", "isreal", "logical_not"]


@pytest.fixture
def wide():
    with jax.enable_x64(True):
        return jnp.asarray(NUMBERS)


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_a_wide_array(wide, name):
    function, x = getattr(jnp, name), wide + 1 if name == "arccosh" else wide
    found = [function(x), jax.jit(function)(x)]
    expected = function(jnp.asarray(NUMBERS) + (1 if name == "arccosh" else 0))
    for result in found:
        assert result.dtype in (np.float64, np.float32)
        np.testing.assert_allclose(np.asarray(result), np.asarray(expected), 1e-5, 1e-6)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128"])
def test_truth_of_wide_arrays(name, dtype):
    with jax.enable_x64(True):
        x = jnp.asarray([0, 1, 2], dtype)
    result = getattr(jnp, name)(x)
    assert result.dtype in (bool, np.int32)
    np.testing.assert_array_equal(result, getattr(jnp, name)(jnp.asarray([0, 1, 2])))


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_have_the_dtype_of_their_operand(wide, name):
    def total(x):
        return jnp.sum(getattr(jnp, name)(x)) if name != "gradient" else jnp.sum(jnp.gradient(x))

    expected = jax.grad(total)(jnp.asarray(NUMBERS))
    for gradient in (jax.grad(total)(wide), jax.jit(jax.grad(total))(wide)):
        assert gradient.dtype == np.float64
        np.testing.assert_allclose(np.asarray(gradient), np.asarray(expected), 1e-4, 1e-5)


def test_derivatives_keep_the_digits(wide):
    x = np.asarray(wide)
    with np.errstate(all="raise"):
        np.testing.assert_allclose(jax.grad(lambda x: (x**3).sum())(wide), 3 * x**2, 1e-15)
        hessian = jax.hessian(lambda x: (x**3).sum())(wide)
        np.testing.assert_allclose(hessian, np.diag(6 * x), 1e-15)
        np.testing.assert_allclose(jax.jacfwd(jnp.sin)(wide), np.diag(np.cos(x)), 1e-15)


def test_numbers_of_numpy_beside_wide_arrays_keep_their_dtype(wide):
    third = np.float64(1) / 3
    product = np.asarray(wide) * third
    for multiply in (lax.mul, jax.jit(lax.mul, static_argnums=1)):
        np.testing.assert_array_equal(multiply(wide, third), product)
    np.testing.assert_array_equal(jax.jit(lambda x: lax.mul(x, third))(wide), product)
    # Beside narrow arrays they are narrowed.
    assert lax.mul(jnp.ones(2), third).dtype == np.float32


def test_narrow_and_wide_arrays_combine_in_32_bits(wide):
    narrow = jnp.ones(4)
    assert lax.add(wide, narrow).dtype == np.float32
    assert lax.select(wide > 0.3, narrow, wide).dtype == np.float32
    assert jax.make_jaxpr(lax.add)(wide, narrow).out_avals[0].dtype == np.float32
    tangent = jax.jvp(lambda x: lax.mul(x, narrow), (wide,), (wide,))[1]
    assert tangent.dtype == np.float32
    with jax.enable_x64(True), pytest.raises(TypeError, match="equal dtypes"):
        lax.add(wide, narrow)


def test_updates_of_wide_arrays(wide):
    for changed in (wide.at[0].set(1.5), wide.at[1:3].add(2), wide.at[-1].multiply(0.5)):
        assert changed.dtype == np.float64
    assert jnp.linspace(wide[0], wide[1], 3)[1] == np.float64(0.375)
    assert jnp.linalg.inv(jnp.outer(wide, wide) + jnp.eye(4)).dtype == np.float32
    assert jax.nn.gelu(wide).dtype == np.float32


def test_numbers_that_fit_nothing_are_refused_as_ever():
    with pytest.raises(TypeError, match="equal dtypes"):
        lax.add(jnp.ones(2), jnp.ones(2, "int32"))
    with pytest.raises(TypeError, match="equal dtypes"):
        lax.add(jnp.ones(2, "float16"), np.float64(1))


def test_counts_of_64_bits_say_how_often_to_repeat():
    with jax.enable_x64(True):
        counts = jnp.asarray([2, 0, 1], "uint64")
        assert jnp.repeat(jnp.arange(3), counts).tolist() == [0, 0, 2]
        with pytest.raises(ValueError, match="not negative"):
            jnp.repeat(jnp.arange(3), jnp.asarray([2, 0, 2**63], "uint64"))
