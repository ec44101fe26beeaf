"""Edges of matrix products: dtypes, wrap-around, precisions and algorithms; error texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import default_matmul_precision, enable_x64, grad, jit, lax, make_jaxpr
from morphax.lax.contraction.matrix_products import product_dtype
from morphax.lax.contraction.precision import DotAlgorithm, DotAlgorithmPreset, Precision
from morphax.lax.contraction.products import batch_matmul, dot, dot_general
from tests.lax.engines import array, check_engines_agree

PLAIN = (((1,), (0,)), ((), ()))
X = np.array([[1.0, -2.0, 3.0], [0.5, np.inf, -1.0]], np.float32)
Y = np.array([[2.0, 0.0], [1.0, -1.0], [0.25, 4.0]], np.float32)


def product(x: Any, y: Any, **keywords: Any) -> Any:
    return check_engines_agree(lambda a, b: dot_general(a, b, PLAIN, **keywords), x, y, rtol=1e-6)


def test_infinities_and_nan() -> None:
    out = product(X, Y)
    assert out[1].tolist() == [np.inf, -np.inf]
    assert np.isnan(product(X, np.zeros_like(Y))[1]).all()


def test_complex_infinities() -> None:
    x = np.array([[np.inf, 1.25, 0.375 + 0.125j]], np.complex64)
    out = product(x.T, x + 1)
    assert out[0, 0].real == np.inf
    assert out[2, 0].imag == np.inf
    vectors = (((0,), (0,)), ((), ()))
    check_engines_agree(lambda a, b: dot_general(a, b, vectors), x[0], x[0] + 1)


_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "ij,j->ij": lambda x, y: x * y,
    "ij,k->ijk": lambda x, y: x[:, :, None] * y,
    "ji,k->ikj": lambda x, y: x.T[:, None, :] * y[:, None],
    "j,ij->ji": lambda x, y: x[:, None] * y.T,
    "ij,kj->jik": lambda x, y: x.T[:, :, None] * y.T[:, None, :],
    "ij,kl->kilj": lambda x, y: x[:, None, :] * y[:, None, :, None],
}


@pytest.mark.parametrize("spec", _PAIRS)
def test_products_of_pairs_keep_the_signs_of_zeros(spec: str) -> None:
    numbers = np.array([[-0.0, 1, 2], [3, 0.0, 5], [-7, 8, -0.0]], np.float32)
    x, y = (numbers if len(axes) == 2 else numbers[0] for axes in spec.split("->")[0].split(","))
    expected = np.ascontiguousarray(_PAIRS[spec](x, y))
    for _ in range(2):
        result = np.asarray(jnp.einsum(spec, x, y))
        assert result.flags.c_contiguous
        assert (result.shape, result.tobytes()) == (expected.shape, expected.tobytes())


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "int4"])
def test_integers_wrap_around(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**62, (3, 50)).astype(array(0, dtype).dtype)
    y = rng.integers(0, 2**62, (50, 4)).astype(array(0, dtype).dtype)
    out = product(x, y)
    exact = x.astype(object) @ y.astype(object)
    bits = {"int4": 4}.get(dtype, 8 * x.itemsize)
    np.testing.assert_array_equal(out.astype(object) % 2**bits, exact % 2**bits)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_wide_sums_of_narrow_integers_are_exact(dtype: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.full((1, 300), low or high, dtype)
    out = product(x, x.T.copy(), preferred_element_type=np.int64)
    assert out.item() == 300 * int(low or high) ** 2


def test_small_floats_are_summed_in_float32() -> None:
    ones = np.ones((1, 4000), array(0, "bfloat16").dtype)
    assert float(product(ones, ones.T.copy())[0, 0]) == 4000.0


def test_booleans_multiply_logically() -> None:
    x = np.array([[True, True], [False, True]])
    assert product(x, x).tolist() == [[True, True], [False, True]]
    assert product(x, x, preferred_element_type=np.int32).tolist() == [[1, 2], [0, 1]]


MIXED = [
    ("float32", "bfloat16", "float32"),
    ("float16", "bfloat16", "bfloat16"),
    ("int8", "uint8", "int8"),
    ("int32", "float16", "float16"),
    ("bool", "int8", "int8"),
    ("uint32", "int32", "int32"),
    ("float8_e4m3fn", "float8_e5m2", "float8_e5m2"),
    ("complex64", "float64", "complex64"),
]


@pytest.mark.parametrize(("left", "right", "expected"), MIXED)
def test_dtype_of_mixed_products(left: str, right: str, expected: str) -> None:
    a, b, c = (array(0, name).dtype for name in (left, right, expected))
    assert product_dtype(a, b) == product_dtype(b, a) == c


@pytest.mark.parametrize(("left", "right", "expected"), MIXED[:6])
def test_mixed_products(left: str, right: str, expected: str) -> None:
    x, y = array([[1, 0, 3], [2, 1, 0]], left), array([[1, 2], [0, 1], [2, 0]], right)
    out = product(x, y)
    assert out.dtype == array(0, expected).dtype
    truth = x.astype(float) @ y.astype(float)
    np.testing.assert_array_equal(out.astype(float), truth)


def test_real_preference_drops_the_imaginary_part() -> None:
    x = np.array([[1 + 2j, 3j]], np.complex64)
    y = np.array([[1j], [1 - 1j]], np.complex64)
    assert product(x, y, preferred_element_type=np.float32).tolist() == [[1.0]]


def test_mixed_cotangents_have_the_dtypes_of_their_operands() -> None:
    x, y = X[:, :1], array(Y[:1], "bfloat16")
    gx, gy = grad(lambda a, b: lax.reduce_sum(dot_general(a, b, PLAIN), (0, 1)), (0, 1))(x, y)
    assert (gx.dtype, gy.dtype) == (x.dtype, y.dtype)


@pytest.mark.parametrize(
    "precision",
    ["default", "high", "highest", "F32_F32_F32", "BF16_BF16_F32_X3", "DEFAULT", None],
)
def test_precisions_compile(precision: Any) -> None:
    out = jit(lambda x, y: dot_general(x, y, PLAIN, precision=precision))(Y.T.copy(), Y)
    np.testing.assert_allclose(out.to_host(), Y.T @ Y, rtol=1e-4)


def test_precision_in_the_program() -> None:
    def text(**keywords: Any) -> str:
        return str(make_jaxpr(lambda x, y: dot_general(x, y, PLAIN, **keywords))(Y.T.copy(), Y))

    assert "precision=(Precision.HIGH, Precision.DEFAULT)" in text(precision=("high", None))
    assert "precision=BF16_BF16_F32" in text(precision="BF16_BF16_F32")
    with default_matmul_precision("float32"):
        assert "precision=(Precision.HIGHEST, Precision.HIGHEST)" in text()
        assert "precision=(Precision.DEFAULT, Precision.DEFAULT)" in text(precision="fastest")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fastest", "DEFAULT"),
        ("bfloat16", "DEFAULT"),
        ("tensorfloat32", "HIGH"),
        ("bfloat16_3x", "HIGH"),
        ("float32", "HIGHEST"),
        (None, "DEFAULT"),
    ],
)
def test_names_of_precisions(name: Any, expected: str) -> None:
    assert Precision(name) is Precision[expected]
    assert str(Precision(name)) == expected


def test_presets_say_what_they_accept() -> None:
    preset = DotAlgorithmPreset.F16_F16_F32
    assert preset.supported_lhs_types == preset.supported_rhs_types == (np.float16,)
    assert preset.accumulation_type is np.float32
    assert preset.supported_output_types(np.float16, np.float16) == (np.float32, np.float16)
    assert DotAlgorithmPreset.DEFAULT.supported_output_types(np.float16, np.float16) is None
    assert [p.value for p in DotAlgorithmPreset] == list(range(1, 17))


def test_algorithm_that_cannot_give_the_dtype_is_converted() -> None:
    bfloat16 = array(0, "bfloat16").dtype
    out = jit(
        lambda x, y: dot_general(
            x, y, PLAIN, precision="F32_F32_F32", preferred_element_type=bfloat16
        )
    )(Y.T.copy(), Y)
    assert out.dtype == bfloat16


def test_own_algorithm() -> None:
    algorithm = DotAlgorithm(np.float32, np.float32, np.float32)
    out = jit(lambda x, y: dot_general(x, y, PLAIN, precision=algorithm))(Y.T.copy(), Y)
    np.testing.assert_allclose(out.to_host(), Y.T @ Y, rtol=1e-6)


@pytest.mark.parametrize("precision", ["foo", 3, ("high",), ("high", 2), ("a", "b")])
def test_wrong_precisions_are_refused(precision: Any) -> None:
    with pytest.raises(ValueError, match=r"lax\.dot_general, argument precision"):
        dot_general(X, Y, PLAIN, precision=precision)


@pytest.mark.parametrize(
    "numbers",
    [
        (((0,), (0,)), ((), ())),
        (((-1,), (0,)), ((), ())),
        (((5,), (0,)), ((), ())),
        (((1,), (0,)), ((1,), (1,))),
        (((0, 1), (0,)), ((), ())),
    ],
)
def test_wrong_axes_are_refused(numbers: Any) -> None:
    with pytest.raises(TypeError, match=r"lax\.dot_general.*\n.*float32\[2,3\] and float32\[3,2\]"):
        dot_general(X, Y, numbers)


def test_narrowing_preference_is_refused() -> None:
    x = np.ones((2, 2), np.int32)
    with pytest.raises(TypeError, match="argument preferred_element_type"):
        dot_general(x, x, PLAIN, preferred_element_type=np.int8)


def test_wide_preference_needs_wide_dtypes() -> None:
    with enable_x64(True):
        assert dot_general(X, Y, PLAIN, preferred_element_type=np.float64).dtype == np.float64


@pytest.mark.parametrize("operands", [(X, X), (2.0, 3.0), (X[None], Y)])
def test_operands_that_do_not_fit_are_refused(operands: Any) -> None:
    with pytest.raises(ValueError, match=r"lax\.dot "):
        dot(*operands)
    with pytest.raises((ValueError, TypeError), match=r"lax\.(batch_matmul|dot_general)"):
        batch_matmul(*operands)


def test_preferred_integers_saturate() -> None:
    x = np.array([[3e9], [-3e9], [np.nan], [2.7]], np.float32)
    one = np.ones((1, 1), np.float32)
    out = product(x, one, preferred_element_type=np.int32)
    assert out.ravel().tolist() == [2**31 - 1, -(2**31), 0, 2]
