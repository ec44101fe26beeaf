"""Which places along an axis the windows, the running sums and the convolutions depend on."""

from __future__ import annotations

import numpy as np

from ... import lax
from ...core import Equation
from ...lax.window.convolution_axes import spatial_windows
from ...lax.window.window_geometry import AxisWindow, Window
from .flow import shape_of
from .patterns import AxisPair, Pattern, check_count, related


def running_relation(size: int, *, reverse: bool) -> Pattern:
    """Each place depends on those up to it, or on those from it on."""
    check_count(size * (size + 1.0) / 2)
    rows, columns = np.tril_indices(size)
    return related(*((columns, rows) if reverse else (rows, columns)), (size, size))


def window_relation(window: AxisWindow) -> Pattern:
    """Which places along an axis each window covers."""
    count = window.count
    check_count(float(count) * window.size)
    starts = np.arange(count)[:, None] * window.stride - window.low
    places = starts + np.arange(window.size) * window.dilation
    # Dilation puts gaps between the elements; padding is outside.
    inside = (places >= 0) & (places % window.base_dilation == 0)
    inside &= places // window.base_dilation < window.length
    rows = np.broadcast_to(np.arange(count)[:, None], places.shape)
    return related(rows[inside], places[inside] // window.base_dilation, (count, window.length))


def window_pairs(eqn: Equation, operand: int) -> list[AxisPair]:
    """The axes of a reduction over windows."""
    windows = Window(**eqn.params).along(shape_of(eqn.invars[operand]))
    return [AxisPair(w.axis, w.axis, window_relation(w)) for w in windows]


def selection_pairs(eqn: Equation, operand: int) -> list[AxisPair]:
    """The axes of a selection from windows over the second operand, or of its transpose.

    The transpose has a number per window to put somewhere in it; what depends on the second operand
    may depend on all of it.
    """
    scatters = eqn.primitive is lax.select_and_scatter_add_p
    if scatters and operand == 1:
        return []
    geometry = {name: value for name, value in eqn.params.items() if name != "select_prim"}
    ones = (1,) * len(shape_of(eqn.invars[1]))
    whole = {"base_dilation": ones, "window_dilation": ones} | geometry
    windows = Window(**whole).along(shape_of(eqn.invars[1]))
    relations = [window_relation(w) for w in windows]
    return [AxisPair(i, i, r.T.tocsr() if scatters else r) for i, r in enumerate(relations)]


def convolution_pairs(eqn: Equation, operand: int) -> list[AxisPair]:
    """The axes of a convolution: batch, features in their groups, and windows along the others.

    What a kernel contributes goes along with the output features alone.
    """
    params, numbers = eqn.params, eqn.params["dimension_numbers"]
    x, kernel = map(shape_of, eqn.invars)
    out = numbers.out_spec
    if operand == 1:
        return [AxisPair(numbers.rhs_spec[0], out[1])]
    windows = spatial_windows(
        [x[i] for i in numbers.lhs_spec[2:]],
        [kernel[i] for i in numbers.rhs_spec[2:]],
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
    )
    pairs = [AxisPair(numbers.lhs_spec[w.axis], out[w.axis], window_relation(w)) for w in windows]
    groups = params["feature_group_count"]
    if params["batch_group_count"] == 1:
        pairs.append(AxisPair(numbers.lhs_spec[0], out[0]))
    if groups > 1:
        inputs, outputs = x[numbers.lhs_spec[1]], kernel[numbers.rhs_spec[0]]
        members = (
            np.arange(inputs).reshape(groups, 1, -1),
            np.arange(outputs).reshape(groups, -1, 1),
        )
        columns, rows = np.broadcast_arrays(*members)
        relation = related(rows, columns, (outputs, inputs))
        pairs.append(AxisPair(numbers.lhs_spec[1], out[1], relation))
    return pairs
