"""The public functions of convolution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...core import aval_of
from ...util.messages import message
from ..contraction.dot import dot_general
from ..contraction.precision import PrecisionLike, canonical_precision
from ..elementwise.comparison import eq
from ..elementwise.convert import convert
from ..ground.axes import dilated, integer, integer_pairs, integer_tuple
from ..shape.filling import broadcasted_iota
from ..shape.resharding import split_as
from ..shape.shape_operations import broadcast_in_dim, reshape, rev, transpose
from .convolution import conv_general_dilated_p
from .convolution_axes import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    arranged,
    conv_dimension_numbers,
    transposed_padding,
)
from .window_geometry import pads_by_name

Padding = str | Sequence[tuple[int, int]]


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Convolution over any number of spatial axes, with dilations and groups.

    ``out[n, o, p] = Σᵢₖ lhs[n, i, p·stride + k·rhs_dilation − low] · rhs[o, i, k]``, where `lhs` is
    dilated by `lhs_dilation` and padded with zeros.

    Args:
        lhs: array of batch, feature and spatial axes.
        rhs: array of output feature, input feature and spatial axes, of the dtype of `lhs`.
        window_strides: by how much the window moves along each spatial axis.
        padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or a pair (low, high) per spatial axis.
        lhs_dilation: distance of neighbouring elements of `lhs`, 1 if `None`.
        rhs_dilation: distance of neighbouring elements of `rhs`, 1 if `None`.
        dimension_numbers: which axis is what, see `conv_dimension_numbers`; by default
            (N, C, …), (O, I, …) and (N, C, …).
        feature_group_count: number of groups that features fall into.
        batch_group_count: number of groups that the batch falls into; one of the two is 1.
        precision: how exactly an accelerator multiplies; see `dot_general`.
        preferred_element_type: dtype of the sum and of the result.
        out_sharding: sharding of the result.

    Returns:
        Array of batch, feature and spatial axes.

    Raises:
        TypeError: if dtypes, ranks or dimension numbers do not fit.
        ValueError: if sizes, groups or strides do not fit.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> images, kernel = jnp.ones((2, 8, 8, 3)), jnp.ones((3, 3, 3, 4))
        >>> jax.lax.conv_general_dilated(
        ...     images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ... ).shape
        (2, 8, 8, 4)
    """
    if out_sharding is not None:
        given = dict(locals())
        options = {name: given[name] for name in given.keys() - {"lhs", "rhs", "out_sharding"}}
        convolved = partial(conv_general_dilated, **options)
        return split_as("lax.conv_general_dilated", out_sharding, convolved, lhs, rhs)
    x, y = aval_of(lhs), aval_of(rhs)
    numbers = conv_dimension_numbers(x.shape, y.shape, dimension_numbers)
    count = x.ndim - 2
    strides = _positive("window_strides", window_strides, count, ValueError)
    base = _positive("lhs_dilation", lhs_dilation, count, TypeError)
    dilation = _positive("rhs_dilation", rhs_dilation, count, TypeError)
    kernel = [
        dilated(k, d)
        for k, d in zip(arranged(y.shape, numbers.rhs_spec)[2:], dilation, strict=True)
    ]
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested(
            preferred_element_type, "lax.conv_general_dilated, argument preferred_element_type"
        )
    spatial = arranged(x.shape, numbers.lhs_spec)[2:]
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=_pads(padding, spatial, kernel, strides, base),
        lhs_dilation=base,
        rhs_dilation=dilation,
        dimension_numbers=numbers,
        feature_group_count=integer(
            "convolution, argument feature_group_count", feature_group_count
        ),
        batch_group_count=integer("convolution, argument batch_group_count", batch_group_count),
        precision=canonical_precision("lax.conv_general_dilated", precision),
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )


def _positive(
    name: str, values: Sequence[int] | None, count: int, error: type[Exception]
) -> tuple[int, ...]:
    where = f"convolution, argument {name}"
    numbers = (1,) * count if values is None else integer_tuple(where, values)
    if len(numbers) != count or not all([v > 0 for v in numbers]):
        wrong_length = ValueError if len(numbers) != count else error
        raise wrong_length(
            message(
                f"lax.conv_general_dilated, argument {name}",
                given=f"{numbers}",
                expected=f"{count} positive integers, one per spatial axis",
                fix="Spatial axes are all but the batch and the features.",
            )
        )
    return numbers


def _pads(
    padding: Padding,
    spatial: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    base: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    where = "lax.conv_general_dilated, argument padding"
    if isinstance(padding, str):
        if any([d != 1 for d in base]) and padding.upper() != "VALID":
            raise ValueError(
                message(
                    where,
                    given=f"{padding!r} with lhs_dilation={tuple(base)}",
                    expected="a pair of integers per spatial axis, as lhs is dilated",
                    fix="Give the pairs (low, high), or use lax.conv_transpose.",
                )
            )
        return tuple(pads_by_name("lax.conv_general_dilated", spatial, kernel, strides, padding))
    pads = tuple(integer_pairs("convolution, argument padding", padding))
    if len(pads) != len(spatial):
        raise TypeError(
            message(
                where,
                given=f"{pads}",
                expected=f"{len(spatial)} pairs (low, high), one per spatial axis",
                fix="Spatial axes are all but the batch and the features.",
            )
        )
    return pads


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolution of (N, C, …) with (O, I, …); see `conv_general_dilated` for the arguments."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolution of (N, C, …) with (O, I, …), both dilated; see `conv_general_dilated`."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Transposed convolution: `lhs` is dilated by `strides`, and so grows.

    With ``transpose_kernel=True`` it is the transpose of the convolution by `rhs`.

    Args:
        lhs: array of batch, feature and spatial axes.
        rhs: the kernel.
        strides: of the convolution that is transposed.
        padding: ``"SAME"`` or ``"VALID"``, of that convolution; or a pair of integers per spatial
            axis, of the dilated `lhs` (of that convolution if `use_consistent_padding`).
        rhs_dilation: distance of neighbouring elements of `rhs`, 1 if `None`.
        dimension_numbers: which axis is what; by default spatial axes stand between the others,
            as in ("NHWC", "HWIO", "NHWC").
        transpose_kernel: whether to reverse the kernel and swap its input and output features.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sum and of the result.
        use_consistent_padding: whether pairs in `padding` are those of the transposed convolution.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.conv_transpose(jnp.ones((1, 5, 2)), jnp.ones((3, 2, 4)), (2,), "SAME").shape
        (1, 10, 4)
    """
    x, y = aval_of(lhs), aval_of(rhs)
    if dimension_numbers is None:
        last, spatial = x.ndim - 1, tuple(range(1, x.ndim - 1))
        channels_last = (0, last, *spatial)
        kernel_spec = (last, last - 1, *range(last - 1))
        dimension_numbers = ConvDimensionNumbers(channels_last, kernel_spec, channels_last)
    numbers = conv_dimension_numbers(x.shape, y.shape, dimension_numbers)
    rhs_spec = numbers.rhs_spec
    dilation = _positive("rhs_dilation", rhs_dilation, x.ndim - 2, TypeError)
    strides = _positive("strides", strides, x.ndim - 2, TypeError)
    reaches = [
        dilated(k, d) for k, d in zip(arranged(y.shape, rhs_spec)[2:], dilation, strict=True)
    ]
    if isinstance(padding, str):
        pads = [transposed_padding(r, s, padding) for r, s in zip(reaches, strides, strict=True)]
    elif use_consistent_padding:
        pairs = integer_pairs("lax.conv_transpose, argument padding", padding)
        pads = [(r - 1 - low, r - 1 - high) for r, (low, high) in zip(reaches, pairs, strict=True)]
    else:
        pads = integer_pairs("lax.conv_transpose, argument padding", padding)
    if transpose_kernel:
        order = list(range(y.ndim))
        order[rhs_spec[0]], order[rhs_spec[1]] = rhs_spec[1], rhs_spec[0]
        rhs = transpose(rev(rhs, rhs_spec[2:]), order)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * (x.ndim - 2),
        pads,
        strides,
        dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The windows of `lhs`, each as a vector along the feature axis.

    Args:
        lhs: array of batch, feature and spatial axes.
        filter_shape: size of a window along each spatial axis.
        window_strides: see `conv_general_dilated`, as for all that follow.
        padding: gaps around the elements.
        lhs_dilation: distance of neighbouring elements.
        rhs_dilation: distance of neighbouring places in a window.
        dimension_numbers: which axis is what.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the result.

    Returns:
        Array of batch, feature and spatial axes; feature number ``c · k + j`` is what place j, in
        row-major order, of the k places of a window has of feature c.
    """
    shape = integer_tuple("convolution, argument filter_shape", filter_shape)
    aval = aval_of(lhs)
    rank = len(shape) + 2
    numbers = conv_dimension_numbers(aval.shape, (1,) * rank, dimension_numbers)
    features, places = aval.shape[numbers.lhs_spec[1]], int(np.prod(shape))
    # One kernel per place, which is 1 there and 0 elsewhere.
    square = (places, places)
    unit = eq(broadcasted_iota(np.int32, square, 0), broadcasted_iota(np.int32, square, 1))
    repeated = broadcast_in_dim(convert(unit, aval.dtype), (features, *square), (1, 2))
    kernel = reshape(repeated, (features * places, 1, *shape))
    kernel = transpose(kernel, np.argsort(numbers.rhs_spec))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Any:
    """Convolution with a kernel of its own at each place.

    Args:
        lhs: array of batch, feature and spatial axes.
        rhs: array of output features, ``C · prod(filter_shape)`` input features ordered as those of
            `conv_general_dilated_patches`, and the spatial axes of the result.
        window_strides: see `conv_general_dilated`, as for all that follow.
        padding: gaps around the elements.
        filter_shape: size of a window along each spatial axis.
        lhs_dilation: distance of neighbouring elements.
        rhs_dilation: distance of neighbouring places in a window.
        dimension_numbers: which axis is what.
        precision: how exactly an accelerator multiplies.

    Returns:
        Array of batch, feature and spatial axes.
    """
    numbers = conv_dimension_numbers(aval_of(lhs).shape, aval_of(rhs).shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        precision,
    )
    _, rhs_spec, out_spec = numbers
    product = dot_general(
        patches,
        rhs,
        (((out_spec[1],), (rhs_spec[1],)), (out_spec[2:], rhs_spec[2:])),
        precision,
    )
    # Axes of the product: spatial ones, batch, output features.
    count = len(out_spec) - 2
    order = [0] * len(out_spec)
    for place, axis in zip(out_spec, (count, count + 1, *range(count)), strict=True):
        order[place] = axis
    return transpose(product, order)
