"""Convolutions: every parameter, both kinds of groups."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from morphax.lax.window.convolution_axes import conv_dimension_numbers, spatial_windows
from morphax.lax.window.convolution_functions import (
    conv,
    conv_general_dilated,
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_transpose,
)
from morphax.lax.window.window_geometry import dilated, padtype_to_pads

from .op_case import COMPLEXES, FLOATS, OpCase, Operand

Shape = tuple[int, ...]
LAST = ("NHWC", "HWIO", "NHWC")

GEOMETRIES: dict[str, tuple[Shape, Shape, dict[str, Any]]] = {
    "valid": ((2, 3, 4, 5), (4, 3, 2, 3), {"padding": "VALID"}),
    "same": ((2, 3, 4, 5), (4, 3, 3, 2), {"padding": "SAME", "window_strides": (2, 1)}),
    "channels last": ((2, 4, 5, 3), (2, 3, 3, 4), {"padding": "SAME", "dimension_numbers": LAST}),
    "axes mixed": (
        (4, 3, 2, 5),
        (2, 4, 3, 3),
        {"padding": "VALID", "dimension_numbers": ("HCNW", "HOWI", "WNCH")},
    ),
    "padding": ((1, 2, 4, 4), (2, 2, 2, 2), {"padding": ((2, -1), (0, 3))}),
    "dilations": (
        (1, 2, 4, 3),
        (2, 2, 2, 3),
        {
            "padding": ((1, 2), (3, 2)),
            "window_strides": (2, 3),
            "lhs_dilation": (2, 3),
            "rhs_dilation": (3, 2),
        },
    ),
    "feature groups": ((2, 4, 5, 4), (6, 2, 2, 2), {"feature_group_count": 2, "padding": "SAME"}),
    "depthwise": (
        (2, 5, 4, 3),
        (3, 2, 1, 3),
        {
            "feature_group_count": 3,
            "padding": "SAME",
            "window_strides": (2, 1),
            "dimension_numbers": LAST,
        },
    ),
    "depthwise dilated": (
        (2, 3, 5),
        (3, 1, 3),
        {
            "feature_group_count": 3,
            "padding": ((2, 3),),
            "window_strides": (2,),
            "lhs_dilation": (3,),
            "rhs_dilation": (2,),
        },
    ),
    "batch groups": ((4, 3, 4, 4), (6, 3, 2, 2), {"batch_group_count": 2, "padding": "VALID"}),
    "one axis": ((2, 3, 7), (4, 3, 3), {"padding": "SAME", "window_strides": (2,)}),
    "three axes": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), {"padding": "VALID"}),
    "no axes": ((2, 3), (4, 3), {"padding": ()}),
    "kernel of one": ((2, 3, 4), (4, 3, 1), {"padding": "VALID"}),
    "no windows": ((2, 3, 2), (4, 3, 3), {"padding": "VALID"}),
    "empty batch": ((0, 3, 4), (4, 3, 2), {"padding": "VALID"}),
    "no features": ((2, 0, 4), (4, 0, 2), {"padding": "VALID"}),
}


TRANSPOSED = {
    "padding": ((2, 1),),
    "lhs_dilation": (2,),
    "dimension_numbers": ("NHC", "HIO", "NHC"),
}


def _truth(geometry: dict[str, Any], x: Any, y: Any) -> Any:
    """Every product by itself."""
    numbers = conv_dimension_numbers(x.shape, y.shape, geometry.get("dimension_numbers"))
    lhs, rhs = x.transpose(numbers.lhs_spec), y.transpose(numbers.rhs_spec)
    ones = (1,) * (x.ndim - 2)
    strides, base, dilation = (
        geometry.get(name, ones) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    )
    pads = geometry["padding"]
    if isinstance(pads, str):
        reaches = [dilated(k, d) for k, d in zip(rhs.shape[2:], dilation, strict=True)]
        pads = padtype_to_pads(lhs.shape[2:], reaches, strides, pads)
    windows = spatial_windows(lhs.shape[2:], rhs.shape[2:], strides, pads, base, dilation)
    features = geometry.get("feature_group_count", 1)
    batches = geometry.get("batch_group_count", 1)
    groups, batch = features * batches, lhs.shape[0] // batches
    per_group = rhs.shape[0] // groups
    out = np.zeros((batch, rhs.shape[0], *[w.count for w in windows]), x.dtype)
    for place, k in itertools.product(np.ndindex(*out.shape[2:]), np.ndindex(*rhs.shape[2:])):
        position = [
            divmod(p * w.stride + j * w.dilation - w.low, w.base_dilation)
            for w, p, j in zip(windows, place, k, strict=True)
        ]
        if any(r or not 0 <= q < w.length for (q, r), w in zip(position, windows, strict=True)):
            continue
        element = lhs[(..., *[q for q, _ in position])]
        split = element.reshape(batches, batch, features, rhs.shape[1])
        for g in range(groups):
            part = split[g // features, :, g % features]
            own = slice(g * per_group, (g + 1) * per_group)
            out[(slice(None), own, *place)] += part @ rhs[(own, slice(None), *k)].T
    return out.transpose(np.argsort(numbers.out_spec))


def _applied(geometry: dict[str, Any], x: Any, y: Any) -> Any:
    strides = (1,) * (len(x.shape) - 2)
    return conv_general_dilated(x, y, **({"window_strides": strides} | geometry))


def _patches(x: Any) -> Any:
    """Windows of 2 × 3 places, as features."""
    parts = [x[:, :, i : i + 3, j : j + 3] for i in range(2) for j in range(3)]
    return np.stack(parts, 2).reshape(x.shape[0], -1, 3, 3)


CASES = (
    *[
        OpCase(
            f"conv_general_dilated/{label}",
            partial(_applied, geometry),
            partial(_truth, geometry),
            (Operand(x), Operand(y)),
            dtypes=("float64", *FLOATS, *COMPLEXES, "int32")
            if label in ("same", "depthwise", "batch groups")
            else ("float64", "float32"),
        )
        for label, (x, y, geometry) in GEOMETRIES.items()
    ],
    OpCase(
        "conv",
        lambda x, y: conv(x, y, (1, 2), "SAME"),
        partial(_truth, {"padding": "SAME", "window_strides": (1, 2)}),
        (Operand((2, 3, 4, 5)), Operand((4, 3, 3, 2))),
        dtypes=("float64", "float32"),
    ),
    OpCase(
        "conv_transpose",
        lambda x, y: conv_transpose(x, y, (2,), "SAME"),
        partial(_truth, TRANSPOSED),
        (Operand((2, 4, 3)), Operand((3, 3, 2))),
        dtypes=("float64", "float32"),
    ),
    OpCase(
        "conv_general_dilated_patches",
        lambda x: conv_general_dilated_patches(x, (2, 3), (1, 1), "VALID"),
        _patches,
        (Operand((2, 2, 4, 5)),),
        dtypes=("float64", "float32"),
    ),
    OpCase(
        "conv_general_dilated_local",
        lambda x, y: conv_general_dilated_local(x, y, (1, 1), "VALID", (2, 3)),
        lambda x, y: np.einsum("nkhw,okhw->nohw", _patches(x), y),
        (Operand((2, 2, 4, 5)), Operand((3, 12, 3, 3))),
        dtypes=("float64", "float32"),
    ),
)
