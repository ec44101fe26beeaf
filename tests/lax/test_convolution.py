"""Edges of convolutions: integers, small floats, paddings, axes by name; error texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax import grad, lax, make_jaxpr
from morphax.core import ShapedArray, stage
from morphax.engines.xla.lowering import lower
from morphax.lax.window.convolution_axes import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose_shape_tuple,
)
from morphax.lax.window.convolution_functions import conv_general_dilated, conv_transpose
from tests.lax.engines import array, check_engines_agree

LAST = ("NHWC", "HWIO", "NHWC")
X, Y = np.ones((2, 4, 5, 5), np.float32), np.ones((6, 4, 2, 2), np.float32)


def convolved(x: Any, y: Any, **keywords: Any) -> Any:
    strides = (1,) * (np.ndim(x) - 2)
    return check_engines_agree(
        lambda a, b: conv_general_dilated(a, b, strides, "VALID", **keywords), x, y, rtol=1e-6
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_integers_wrap_around(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 2**62, shape).astype(dtype) for shape in ((1, 3, 6), (2, 3, 4)))
    convolved(x, y)
    convolved(x, y[:1].repeat(3, 0)[:, :1], feature_group_count=3)


def test_wide_sums_of_narrow_integers() -> None:
    x, y = np.full((1, 1, 3), 100, np.int8), np.ones((1, 1, 2), np.int8)
    assert convolved(x, y).tolist() == [[[-56, -56]]]
    assert convolved(x, y, preferred_element_type=np.int32).tolist() == [[[200, 200]]]


@pytest.mark.parametrize("groups", [1, 2])
def test_small_floats_are_summed_in_float32(groups: int) -> None:
    ones = np.ones((1, groups, 600), array(0, "bfloat16").dtype)
    kernel = np.ones((groups, 1, 600), ones.dtype)
    out = convolved(ones, kernel, feature_group_count=groups)
    assert out.astype(float).ravel().tolist() == [600.0] * groups


def test_infinities_and_nan() -> None:
    x = np.array([[[1, np.inf, 2, np.nan, 0, 1]]], np.float32)
    y = np.array([[[1, -1]]], np.float32)
    convolved(x, y)
    convolved(x.repeat(2, 1), y.repeat(2, 0), feature_group_count=2)


def test_preferred_dtype_of_derivatives() -> None:
    bfloat16 = array(0, "bfloat16").dtype
    x, y = X.astype(bfloat16), Y.astype(bfloat16)

    def loss(a: Any, b: Any) -> Any:
        out = conv_general_dilated(a, b, (1, 1), "VALID", preferred_element_type=np.float32)
        return lax.reduce_sum(out, (0, 1, 2, 3))

    assert [g.dtype for g in grad(loss, (0, 1))(x, y)] == [bfloat16, bfloat16]


# Sizes of both operands and what else the call names: groups, gaps, outputs beyond four.
FEW = [
    ((1, 30, 30, 2), (3, 3, 2, 3), {"lhs_dilation": (2, 2), "dimension_numbers": LAST}),
    ((2, 4, 9, 8), (6, 2, 3, 2), {"feature_group_count": 2, "rhs_dilation": (2, 1)}),
    ((4, 2, 9, 8), (10, 2, 3, 3), {"batch_group_count": 2, "lhs_dilation": (3, 1)}),
    ((3, 5, 1, 1), (7, 5, 1, 1), {}),
    ((1, 1, 40, 30), (1, 1, 3, 3), {"lhs_dilation": (1, 2)}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("left", "right", "changes"), FEW)
def test_convolutions_of_few_numbers(
    left: Any, right: Any, changes: dict[str, Any], dtype: str
) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.random(shape).astype(dtype) for shape in (left, right))

    def convolve(x: Any, y: Any) -> Any:
        return conv_general_dilated(x, y, (1, 2), [(1, 2), (0, 1)], **changes)

    tolerance = 1e-5 if dtype == "float32" else 1e-12
    check_engines_agree(convolve, x, y, rtol=tolerance)
    # To products of matrices gaps are zeros, times infinity NaN.
    (equation,) = make_jaxpr(convolve)(x, y).eqns
    of_few = equation.primitive.kernel(*[v.aval for v in equation.invars], **equation.params)
    for weight in (np.inf, np.nan):
        y[-1, 0, 0, 0] = weight
        with np.errstate(invalid="ignore"):
            expected = equation.primitive.evaluate(x, y, **equation.params)
        np.testing.assert_allclose(of_few(x, y), expected, tolerance)


def test_depthwise_convolutions_are_slices_on_the_cpu() -> None:
    avals = [ShapedArray((2, 3, 5, 5), np.float32), ShapedArray((3, 1, 2, 2), np.float32)]
    jaxpr, _ = stage(
        lambda x, y: [conv_general_dilated(x, y, (1, 1), "SAME", feature_group_count=3)], avals
    )
    assert "stablehlo.convolution" not in lower(jaxpr, "f").text
    assert "stablehlo.convolution" in lower(jaxpr, "f", platform="cuda").text


def test_axes_by_name() -> None:
    numbers = conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), LAST)
    assert numbers == ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    assert conv_general_permutations(LAST) == numbers
    assert conv_dimension_numbers((1, 2, 3), (1, 2, 3), None).lhs_spec == (0, 1, 2)
    assert conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), numbers) == numbers


def test_shapes() -> None:
    pads = ((0, 0), (1, 1))
    assert conv_shape_tuple((2, 4, 9, 9), (6, 4, 3, 3), (1, 2), pads) == (2, 6, 7, 5)
    given = (2, 9, 9, 4), (3, 3, 4, 6), (1, 2), "SAME", LAST
    assert conv_general_shape_tuple(*given) == (2, 9, 5, 6)
    assert conv_transpose_shape_tuple(*given) == (2, 9, 18, 6)


# Stride, kernel size, padding, dilation of the kernel; then the low and high padding.
TRANSPOSED = [
    (1, 2, "SAME", 1, (1, 0)),
    (1, 4, "VALID", 2, (6, 6)),
    (2, 1, "SAME", 1, (0, 1)),
    (2, 2, "VALID", 1, (1, 1)),
    (2, 4, "SAME", 1, (2, 2)),
    (3, 2, "SAME", 1, (1, 2)),
    (3, 2, "VALID", 1, (1, 2)),
    (3, 4, "VALID", 2, (6, 6)),
    (3, 2, ((0, 1),), 2, (0, 1)),
]


@pytest.mark.parametrize(("stride", "size", "padding", "dilation", "expected"), TRANSPOSED)
def test_padding_of_transposed_convolutions(
    stride: int, size: int, padding: Any, dilation: int, expected: tuple[int, int]
) -> None:
    x, y = np.ones((1, 5, 1), np.float32), np.ones((size, 1, 1), np.float32)
    program = make_jaxpr(lambda a, b: conv_transpose(a, b, (stride,), padding, (dilation,)))(x, y)
    assert program.eqns[-1].params["padding"] == (expected,)


def test_transposed_convolution_is_a_transpose() -> None:
    rng = np.random.default_rng(0)
    small, large = (rng.normal(size=s).astype(np.float32) for s in ((1, 4, 4, 2), (1, 8, 8, 3)))
    kernel = rng.normal(size=(3, 3, 3, 2)).astype(np.float32)
    forward = conv_general_dilated(large, kernel, (2, 2), "SAME", dimension_numbers=LAST)
    back = conv_transpose(small, kernel, (2, 2), "SAME", transpose_kernel=True)
    left = np.sum(forward.to_host() * small)
    np.testing.assert_allclose(left, np.sum(back.to_host() * large), rtol=1e-4)


def test_consistent_padding() -> None:
    x, y = np.ones((1, 5, 1), np.float32), np.ones((3, 1, 1), np.float32)
    program = make_jaxpr(
        lambda a, b: conv_transpose(a, b, (2,), ((0, 1),), use_consistent_padding=True)
    )(x, y)
    assert program.eqns[-1].params["padding"] == ((2, 1),)


WRONG = [
    (ValueError, "features in the left operand", X, Y[:, :3], {}),
    (ValueError, "that 4 groups divide", X, Y[:, :1], {"feature_group_count": 4}),
    (ValueError, "one of them 1", X, Y[:, :2], {"feature_group_count": 2, "batch_group_count": 2}),
    (ValueError, "that 3 batch groups divide", X, Y, {"batch_group_count": 3}),
    (ValueError, "a kernel that is not empty", X, Y[..., :0], {}),
    (ValueError, "argument window_strides", X, Y, {"window_strides": (1,)}),
    (ValueError, "argument window_strides", X, Y, {"window_strides": (0, 1)}),
    (TypeError, "argument lhs_dilation", X, Y, {"lhs_dilation": (0, 1)}),
    (TypeError, "argument padding", X, Y, {"padding": ((0, 0),)}),
    (ValueError, "argument padding", X, Y, {"padding": "FOO"}),
    (ValueError, "argument padding", X, Y, {"padding": "SAME", "lhs_dilation": (2, 2)}),
    (TypeError, "operands of one dtype", X, Y.astype(np.float16), {}),
    (TypeError, "operands of one rank", X, Y[0], {}),
    (TypeError, "not narrower", X, Y, {"preferred_element_type": np.float16}),
    (TypeError, "dimension_numbers", X, Y, {"dimension_numbers": ("NHC", "HIO", "NHC")}),
    (TypeError, "dimension_numbers.0.", X, Y, {"dimension_numbers": ("NHWW", *LAST[1:])}),
    (TypeError, "dimension_numbers", X, Y, {"dimension_numbers": ((0, 1, 2, 3),) * 3}),
]


@pytest.mark.parametrize(("error", "text", "x", "y", "changes"), WRONG)
def test_wrong_arguments_are_refused(
    error: Any, text: str, x: Any, y: Any, changes: dict[str, Any]
) -> None:
    with pytest.raises(error, match=text):
        conv_general_dilated(x, y, **({"window_strides": (1, 1), "padding": "VALID"} | changes))
