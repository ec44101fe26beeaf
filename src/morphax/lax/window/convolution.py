"""Convolution: sums of products over windows and input features.

    out[n, o, p] = Σᵢₖ lhs[n, i, p·stride + k·rhs_dilation − low] · rhs[o, i, k]

where `lhs` is dilated by `lhs_dilation` and padded.  (It is a cross-correlation: the kernel is not
reversed.)  With feature groups, the features of `lhs` and the output features of `rhs` fall into
groups, each convolved by itself; with batch groups, the batch and the output features do.

The transpose with respect to either operand is a convolution again; so is a batch of them, for the
batch axis becomes part of the batch, of the output features, or a number of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from ... import dtypes
from ...core import AxisFlow, BatchAxes, Primitive, ShapedArray, aval_of, is_undefined_primal, like
from ...engines import loops
from ...engines.xla.annotations import whole_along
from ...engines.xla.stablehlo import Builder, Value, i64_array
from ...util.host_memory import in_order
from ...util.messages import message
from ..contraction.matrix_products import accumulator, narrowed
from ..contraction.precision import precision_attribute
from ..elementwise.convert import convert
from ..ground.axes import dilated
from ..ground.families import bilinear_jvp
from ..ground.kinds import BOOLEAN, NUMBER
from ..ground.linear_structure import zeros
from ..ground.out_sharding import split_beside
from ..shape.shape_operations import rev
from .convolution_axes import ConvDimensionNumbers, arranged, placed, windows_of
from .convolution_numpy import convolved, kernel_of_few, native
from .convolution_parts import lower_in_parts
from .convolution_sizes import is_too_small_for_libraries
from .depthwise_lowering import is_depthwise, lower_depthwise
from .feature_groups import merged_into, split_off
from .window_geometry import AxisWindow

_SUMMABLE = NUMBER | BOOLEAN


@final
class ConvGeneralDilated(Primitive):
    """Convolution with dilations and groups; see the module's text."""

    name = "conv_general_dilated"
    of_one_dtype = True
    most_by_loops = 1024
    narrow_in_loops = "rounded"

    def abstract_eval(
        self, x: Any, y: Any, *, preferred_element_type: Any, out_sharding: Any, **params: Any
    ) -> ShapedArray:
        _SUMMABLE.check(self.name, 0, x)
        if x.dtype != y.dtype:
            raise TypeError(_refusal(x, y, "operands of one dtype", _FIX_DTYPE))
        _check_features(x, y, **params)
        dtype = preferred_element_type or x.dtype
        if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(x.dtype):
            expected = f"a preferred_element_type that is not narrower than {x.dtype}"
            raise TypeError(_refusal(x, y, expected, _FIX_DTYPE))
        shape = _out_shape(x.shape, y.shape, **params)
        weak = None if preferred_element_type is None else False
        return like(x, y, shape=shape, dtype=dtype, weak_type=weak, sharding=out_sharding)

    def gains_by_loops(self, x: Any, y: Any, **params: Any) -> bool:
        shape = _out_shape(x.shape, y.shape, **params)
        return is_too_small_for_libraries(x, y, shape, **params)

    def axis_flow(
        self,
        x: Any,
        y: Any,
        *,
        dimension_numbers: ConvDimensionNumbers,
        feature_group_count: int,
        batch_group_count: int,
        **_: Any,
    ) -> AxisFlow:
        grouped = feature_group_count * batch_group_count > 1
        batch, outputs, features = (0, None, None) if grouped else (0, 1, 2)
        moved = tuple(range(3, x.ndim + 1))
        roles = (batch, features, *moved), (outputs, features, *[None] * len(moved))
        left, right, out = map(placed, (*roles, (batch, outputs, *moved)), dimension_numbers)
        return AxisFlow((left, right), (out,))

    def evaluate(self, x: Any, y: Any, **params: Any) -> Any:
        return _by_products(x, y, **params)(x, y)

    def kernel(
        self, x: Any, y: Any, *, preferred_element_type: Any, **params: Any
    ) -> Callable[..., Any]:
        few = None
        if (
            native is not None
            and x.dtype.char in "fd"
            and preferred_element_type in (None, x.dtype)
        ):
            windows = windows_of(x.shape, y.shape, **params)
            numbers, groups = params["dimension_numbers"], params["feature_group_count"]
            of_batch = params["batch_group_count"]
            few = kernel_of_few(x.shape, y.shape, numbers, windows, groups, of_batch)
        named = params | {"preferred_element_type": preferred_element_type}
        return few or _by_products(x, y, **named)

    def lower(
        self, b: Builder, out: Any, x: Value, y: Value, *, precision: Any, **params: Any
    ) -> Value:
        numbers, groups = params["dimension_numbers"], params["feature_group_count"]
        windows = windows_of(x.aval.shape, y.aval.shape, **params)
        if out.size != 0 and is_depthwise(b, y, windows, numbers.rhs_spec, groups):
            moved = zip(windows, numbers.lhs_spec[2:], strict=True)
            on_axes = [replace(w, axis=axis) for w, axis in moved]
            return lower_depthwise(b, out, x, y, on_axes, numbers)

        def convolve(x: Value, y: Value, out: Any) -> Value:
            # XLA adds up too often where the spatial axes of one operand are split over devices and
            # the other operand is split in any way.
            return b.convolution(
                whole_along(b, x, numbers.lhs_spec[2:]),
                whole_along(b, y, numbers.rhs_spec[2:]),
                out,
                params["padding"],
                window_strides=i64_array(params["window_strides"]),
                lhs_dilation=i64_array(params["lhs_dilation"]),
                rhs_dilation=i64_array(params["rhs_dilation"]),
                dimension_numbers=_dimension_attribute(numbers),
                feature_group_count=f"{groups} : i64",
                batch_group_count=f"{params['batch_group_count']} : i64",
                precision_config=precision_attribute(precision),
            )

        found = lower_in_parts(b, convolve, out, x, y)
        return convolve(x, y, out) if found is None else found

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, y: loops.Value, **params: Any
    ) -> loops.Value:
        axes = [w.sliding() for w in windows_of(x.shape, y.shape, **params)]
        groups = params["batch_group_count"], params["feature_group_count"]
        return loops.windows.convolved(b, out, x, y, axes, params["dimension_numbers"], groups)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return bilinear_jvp(self, primals, tangents, params)

    def transpose(self, ct: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if is_undefined_primal(x):
            return [_cotangent_of_lhs(ct, x.aval, y, **params), None]
        return [None, _cotangent_of_rhs(ct, x, y.aval, **params)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        dimension_numbers: ConvDimensionNumbers,
        feature_group_count: int,
        batch_group_count: int,
        out_sharding: Any,
        **params: Any,
    ) -> tuple[Any, int]:
        (x, y), (lhs, rhs, out) = operands, dimension_numbers
        if axes.size == 0:
            named = {"dimension_numbers": dimension_numbers, "batch_group_count": batch_group_count}
            return _empty_batch(operands, dims, **named, **params)
        features, batches = feature_group_count, batch_group_count
        if dims[1] is None:
            # The batch axis becomes part of N, inside the batch groups.
            x = merged_into(x, dims[0], lhs[0], batches)
            place, groups = out[0], 1
        elif dims[0] is None:
            # The batch axis becomes part of O, inside whatever groups there are.
            place, groups = out[1], features * batches
            y = merged_into(y, dims[1], rhs[0], groups)
        else:
            # Each member of the batch becomes a group, or as many as there are.
            x = merged_into(x, dims[0], lhs[1] if batches == 1 else lhs[0], 1)
            y = merged_into(y, dims[1], rhs[0], 1)
            place, groups = out[1], 1
            features, batches = (
                (features * axes.size, 1) if batches == 1 else (1, batches * axes.size)
            )
        result = self.bind(
            x,
            y,
            dimension_numbers=dimension_numbers,
            feature_group_count=features,
            batch_group_count=batches,
            out_sharding=None,
            **params,
        )
        return split_off(result, place, groups, axes.size), 0


def _by_products(
    x: Any,
    y: Any,
    *,
    dimension_numbers: ConvDimensionNumbers,
    preferred_element_type: Any,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Callable[[Any, Any], Any]:
    """The convolution of NumPy arrays of these shapes and dtypes, as products of matrices."""
    out = x.dtype if preferred_element_type is None else preferred_element_type
    wide = accumulator(x.dtype, out)
    windows = windows_of(x.shape, y.shape, dimension_numbers=dimension_numbers, **params)
    order = np.argsort(dimension_numbers.out_spec)

    def convolution(x: Any, y: Any) -> Any:
        result = convolved(
            x.transpose(dimension_numbers.lhs_spec).astype(wide, copy=False),
            y.transpose(dimension_numbers.rhs_spec).astype(wide, copy=False),
            windows,
            feature_group_count,
            batch_group_count,
        )
        return in_order(narrowed(result.transpose(order), out))

    return convolution


conv_general_dilated_p = ConvGeneralDilated()


def _empty_batch(
    operands: Sequence[Any], dims: Sequence[Any], *, preferred_element_type: Any, **params: Any
) -> tuple[Any, int]:
    shapes = [
        tuple([n for i, n in enumerate(aval_of(x).shape) if i != d])
        for x, d in zip(operands, dims, strict=True)
    ]
    dtype = preferred_element_type or aval_of(operands[0]).dtype
    return zeros(ShapedArray((0, *_out_shape(*shapes, **params)), dtype)), 0


def _out_shape(lhs_shape: Sequence[int], rhs_shape: Sequence[int], **params: Any) -> Any:
    numbers = params["dimension_numbers"]
    batch = lhs_shape[numbers.lhs_spec[0]] // params["batch_group_count"]
    counts = [w.count for w in windows_of(lhs_shape, rhs_shape, **params)]
    return placed((batch, rhs_shape[numbers.rhs_spec[0]], *counts), numbers.out_spec)


def _check_features(
    x: Any,
    y: Any,
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> None:
    batch, features, *_rest = arranged(x.shape, dimension_numbers.lhs_spec)
    outputs, inputs, *kernel = arranged(y.shape, dimension_numbers.rhs_spec)
    groups = feature_group_count * batch_group_count
    if min(feature_group_count, batch_group_count) < 1 or groups > max(
        feature_group_count, batch_group_count
    ):
        expected = "positive numbers of groups, one of them 1"
    elif features != inputs * feature_group_count:
        expected = (
            f"{inputs * feature_group_count} features in the left operand: as many input features "
            f"as the right one has, {inputs}, in each of {feature_group_count} group(s)"
        )
    elif outputs % groups:
        expected = f"a number of output features, {outputs}, that {groups} groups divide"
    elif batch % batch_group_count:
        expected = f"a batch size, {batch}, that {batch_group_count} batch groups divide"
    elif 0 in kernel:
        expected = "a kernel that is not empty"
    else:
        return
    raise ValueError(_refusal(x, y, expected, _FIX_AXES))


def _refusal(x: Any, y: Any, expected: str, fix: str) -> str:
    return message(
        "lax.conv_general_dilated",
        given=f"{x.str_short(short_dtypes=False)} and {y.str_short(short_dtypes=False)}",
        expected=expected,
        fix=fix,
    )


_FIX_DTYPE = "Convert one operand with astype."
_FIX_AXES = "Check dimension_numbers, feature_group_count and batch_group_count."


def _dimension_attribute(numbers: ConvDimensionNumbers) -> str:
    names = (
        ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
        (
            "kernel_output_feature_dimension",
            "kernel_input_feature_dimension",
            "kernel_spatial_dimensions",
        ),
        ("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
    )
    fields = [
        f"{name} = {value}"
        for row, (first, second, *spatial) in zip(names, numbers, strict=True)
        for name, value in zip(row, (first, second, list(spatial)), strict=True)
    ]
    return f"#stablehlo.conv<raw {', '.join(fields)}>"


def _transposed_pads(windows: Sequence[AxisWindow]) -> tuple[tuple[int, int], ...]:
    """The padding with which the reversed kernel runs over cotangents, dilated by the strides."""
    pads = []
    for w in windows:
        reach = dilated(w.size, w.dilation)
        low = reach - 1 - w.low
        room = dilated(w.length, w.base_dilation) - 1 + reach
        pads.append((low, room - dilated(w.count, w.stride) - low))
    return tuple(pads)


def _kernel_pads(windows: Sequence[AxisWindow]) -> tuple[tuple[int, int], ...]:
    """The padding with which cotangents, dilated by the strides, run over the left operand."""
    pads = []
    for w in windows:
        reach = dilated(w.size, w.dilation)
        room = reach - 1 + dilated(w.count, w.stride)
        pads.append((w.low, room - w.low - dilated(w.length, w.base_dilation)))
    return tuple(pads)


def _exchanged(spec: Sequence[int]) -> tuple[int, ...]:
    """Axes with those of batch and features, or of features in and out, in each other's role."""
    return (spec[1], spec[0], *spec[2:])


def _cotangent_of_lhs(ct: Any, aval: Any, rhs: Any, **params: Any) -> Any:
    windows = windows_of(aval.shape, aval_of(rhs).shape, **params)
    if 0 in (ct.aval.size, aval.size, aval_of(rhs).size):
        return zeros(aval)
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    # In each group, output features become input features, and the other way round.
    kernel = rev(convert(rhs, ct.aval.dtype), rhs_spec[2:])
    kernel = merged_into(split_off(kernel, rhs_spec[0], 1, groups), 0, rhs_spec[1], 1)
    result = conv_general_dilated_p.bind(
        ct,
        kernel,
        window_strides=params["lhs_dilation"],
        padding=_transposed_pads(windows),
        lhs_dilation=params["window_strides"],
        rhs_dilation=params["rhs_dilation"],
        dimension_numbers=ConvDimensionNumbers(out_spec, _exchanged(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        precision=params["precision"],
        preferred_element_type=None,
        out_sharding=split_beside(aval, ct, rhs) if groups == 1 else None,
    )
    if params["batch_group_count"] > 1:
        result = merged_into(split_off(result, lhs_spec[1], 1, groups), 0, lhs_spec[0], 1)
    return convert(result, aval.dtype)


def _cotangent_of_rhs(ct: Any, lhs: Any, aval: Any, **params: Any) -> Any:
    windows = windows_of(aval_of(lhs).shape, aval.shape, **params)
    if 0 in (ct.aval.size, aval.size, aval_of(lhs).size):
        return zeros(aval)
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    # Sums go over the batch, which takes the part of the features; groups of one kind become
    # groups of the other.
    result = conv_general_dilated_p.bind(
        convert(lhs, ct.aval.dtype),
        ct,
        window_strides=params["rhs_dilation"],
        padding=_kernel_pads(windows),
        lhs_dilation=params["lhs_dilation"],
        rhs_dilation=params["window_strides"],
        dimension_numbers=ConvDimensionNumbers(
            _exchanged(lhs_spec), _exchanged(out_spec), _exchanged(rhs_spec)
        ),
        feature_group_count=params["batch_group_count"],
        batch_group_count=params["feature_group_count"],
        precision=params["precision"],
        preferred_element_type=None,
        out_sharding=split_beside(aval, ct, lhs),
    )
    return convert(result, aval.dtype)
