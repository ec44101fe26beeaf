"""Convolution: sums of products over windows and input features.

    out[n, o, p] = Σᵢₖ lhs[n, i, p·stride + k·rhs_dilation − low] · rhs[o, i, k]

where `lhs` is dilated by `lhs_dilation` and padded.  (It is a cross-correlation: the kernel is not
reversed.)  With feature groups, the features of `lhs` and the output features of `rhs` fall into
groups, each convolved by itself; with batch groups, the batch and the output features do.

The transpose with respect to either operand is a convolution again; so is a batch of them, for the
batch axis becomes part of the batch, of the output features, or a number of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..core import BatchAxes, Primitive, ShapedArray, aval_of, is_undefined_primal, is_zero
from ..engines.xla.stablehlo import Builder, Value, i64_array, i64_matrix
from ..util.messages import message
from .contraction import accumulator, checked_preference, matrix_product, narrowed
from .convolution_axes import ConvDimensionNumbers, placed, spatial_windows
from .families import sum_of_tangents
from .kinds import BOOLEAN, NUMBER
from .precision import precision_attribute
from .shape import reshape, rev, transpose
from .spine import moved_axis, zeros
from .window_geometry import AxisWindow, dilated
from .window_slices import padded_array

_SUMMABLE = NUMBER | BOOLEAN


@final
class ConvGeneralDilated(Primitive):
    """Convolution with dilations and groups; see the module's text."""

    name = "conv_general_dilated"
