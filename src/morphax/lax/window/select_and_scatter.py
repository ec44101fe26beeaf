"""``select_and_scatter`` with computations of the user, as XLA has it.

From each window one computation selects an element, and where that stands another adds a number
to what is there.  `lax.reduce_window` with ``max`` and ``min`` and its derivatives do not use it:
they select along one axis after the other (`window_selection`).

Reference: the operation `select_and_scatter` of the StableHLO specification.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...array import Array
from ...core import (
    AxisFlow,
    BatchAxes,
    Jaxpr,
    Primitive,
    ShapedArray,
    close,
    like,
    not_differentiable,
    not_linear,
    same_axes,
)
from ...engines.xla.stablehlo import Builder, Value, i64_array, i64_matrix
from ...errors import ShapeError
from ...util.messages import message
from ..ground.linear_structure import batched_first
from ..reduction.scalar_programs import on_elements
from .window_geometry import Window


def _window(dimensions: Sequence[int], strides: Sequence[int], padding: Any) -> Window:
    ones = (1,) * len(dimensions)
    return Window(tuple(dimensions), tuple(strides), tuple(padding), ones, ones)


@final
class SelectAndScatter(Primitive):
    """An array of `init_value`, changed where `operand` has the selected element of each window.

    Operands are the array, one number of `source` per window, and `init_value`.  In a window
    elements are compared in row-major order, and ``select(selected, next)`` says whether the one
    that is selected stays; what is padding is not compared.  Then the result has
    ``scatter(result, source)`` in the place of the selected element, window after window.

    Params:
        select_jaxpr, select_consts: the program of two scalars that gives a boolean.
        scatter_jaxpr, scatter_consts: the program that combines two scalars.
        window_dimensions, window_strides, padding: one entry per axis.
    """

    name = "select_and_scatter"
    jvp = not_differentiable("the computations are not known to be smooth")
    transpose = not_linear("the computations are not known to be linear")

    def abstract_eval(
        self,
        operand: Any,
        source: Any,
        init_value: Any,
        *,
        window_dimensions: Any,
        window_strides: Any,
        padding: Any,
        **_: Any,
    ) -> ShapedArray:
        window = _window(window_dimensions, window_strides, padding)
        expected = operand.update(shape=window.out_shape(operand.shape), weak_type=False)
        fits = source.shape == expected.shape and not init_value.shape
        if not fits or not source.dtype == operand.dtype == init_value.dtype:
            given = (source, init_value)
            raise ShapeError(
                message(
                    "lax.select_and_scatter_p, operands source and init_value",
                    given=" and ".join([x.str_short(short_dtypes=False) for x in given]),
                    expected=f"{expected.str_short(short_dtypes=False)} and a scalar of its dtype",
                    fix="Give one number per window, in the dtype of the operand.",
                )
            )
        return like(operand, weak_type=False)

    def axis_flow(self, operand: Any, source: Any, init_value: Any, **_: Any) -> AxisFlow:
        whole = tuple(range(operand.ndim))
        return same_axes(operand, source, init_value, whole=whole)

    def evaluate(
        self,
        operand: Any,
        source: Any,
        init_value: Any,
        *,
        select_jaxpr: Jaxpr,
        select_consts: Sequence[Any],
        scatter_jaxpr: Jaxpr,
        scatter_consts: Sequence[Any],
        **params: Any,
    ) -> Any:
        out = np.full(operand.size, init_value)
        select = close(select_jaxpr, select_consts)
        places = _selected(operand, source.shape, select, **params)
        scatter, numbers = close(scatter_jaxpr, scatter_consts), source.ravel()
        # Windows that share a place change it one after the other.
        while places.size:
            changed, first = np.unique(places, return_index=True)
            out[changed] = _applied(scatter, out[changed], numbers[first])
            places, numbers = np.delete(places, first), np.delete(numbers, first)
        return out.reshape(operand.shape)

    def lower(
        self,
        b: Builder,
        out: Any,
        *operands: Value,
        select_jaxpr: Jaxpr,
        select_consts: Sequence[Any],
        scatter_jaxpr: Jaxpr,
        scatter_consts: Sequence[Any],
        window_dimensions: Any,
        window_strides: Any,
        padding: Any,
    ) -> Value:
        programs = (close(select_jaxpr, select_consts), close(scatter_jaxpr, scatter_consts))
        pair = [out.update(shape=())] * 2
        regions = [
            b.region(pair, lambda inner, *xs, program=program: inner.inline(program, *xs))
            for program in programs
        ]
        return b.op(
            "stablehlo.select_and_scatter",
            out,
            *operands,
            regions=regions,
            window_dimensions=i64_array(window_dimensions),
            window_strides=i64_array(window_strides),
            padding=i64_matrix(padding),
        )

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        window_dimensions: Any,
        window_strides: Any,
        padding: Any,
        **params: Any,
    ) -> tuple[Any, int]:
        *arrays, init_value = operands
        if dims[-1] is not None:
            raise TypeError(
                message(
                    "lax.select_and_scatter_p, operand init_value",
                    given="a value that vmap maps",
                    expected="one value for the whole batch",
                    fix="Give the identity of the computation, which is a constant.",
                )
            )
        moved = [batched_first(axes, x, d) for x, d in zip(arrays, dims, strict=False)]
        out = self.bind(
            *moved,
            init_value,
            window_dimensions=(1, *window_dimensions),
            window_strides=(1, *window_strides),
            padding=((0, 0), *padding),
            **params,
        )
        return out, 0


select_and_scatter_p = SelectAndScatter()


def _applied(program: Jaxpr, *operands: Any) -> Any:
    """The result of a program of scalars for each pair of elements."""
    (result,) = on_elements(program, operands)
    return result.to_host() if isinstance(result, Array) else result


def _selected(
    operand: Any,
    counts: Sequence[int],
    select: Jaxpr,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[Sequence[int]],
) -> Any:
    """The flat place of the selected element of each window that has one, in row-major order."""
    ndim, flat = operand.ndim, operand.ravel()
    windows = np.indices(counts).reshape(ndim, -1)
    starts = windows * _column(window_strides) - _column([low for low, _ in padding])
    selected = np.full(math.prod(counts), -1)
    for position in np.ndindex(*window_dimensions):
        at = starts + _column(position)
        inside = np.flatnonzero(np.all((at >= 0) & (at < _column(operand.shape)), axis=0))
        if not inside.size:
            continue
        candidates = np.ravel_multi_index(tuple(at[:, inside]), operand.shape)
        best = selected[inside]
        stays = _applied(select, flat[np.maximum(best, 0)], flat[candidates]) & (best >= 0)
        selected[inside] = np.where(stays, best, candidates)
    return selected[selected >= 0]


def _column(numbers: Sequence[int]) -> Any:
    return np.array(numbers, int).reshape(-1, 1)
