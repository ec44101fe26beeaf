"""Padding arrays, in all of NumPy's modes.

Modes that repeat elements are index maps along an axis: NumPy pads the indices, and runs of rising,
falling or equal indices become slices, reversals and repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of, carries_aval
from ..core.dims import Dim, SymbolicDim, is_negative
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer_or_size
from ..util.memo import memoize
from ..util.messages import message
from .application import apply_along_axis
from .averages import mean
from .operands import as_array, filling
from .progressions import linspace
from .quantiles import median
from .reductions import max as max_
from .reductions import min as min_

Widths = tuple[tuple[int, int], ...]

_REPEATING = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": max_,
    "mean": mean,
    "median": median,
    "minimum": min_,
}
_OPTIONS = {
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    **{name: {"stat_length"} for name in _STATISTICS},
}
_MODES = ("constant", "empty", "linear_ramp", *_REPEATING, *_STATISTICS)


@replayed(1)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """`array` with elements added before and behind along each axis.

    Args:
        array: array.
        pad_width: how many: a number for all, a pair (before, behind), or a pair for each axis.
        mode: what to add: ``"constant"``, ``"edge"``, ``"reflect"``, ``"symmetric"``, ``"wrap"``,
            ``"linear_ramp"``, ``"maximum"``, ``"mean"``, ``"median"``, ``"minimum"``, ``"empty"``
            (zeros), or a function (padded vector, widths, axis, options) → vector.
        **kwargs: ``constant_values``, ``end_values`` or ``stat_length``, given like `pad_width`, or
            ``reflect_type``, ``"even"`` or ``"odd"``.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.pad(jnp.array([1, 2, 3]), (2, 1), mode="reflect")
        Array([3, 2, 1, 2, 3, 2], dtype=int32)
    """
    array = as_array("pad", array)
    widths = _widths(pad_width, array.aval.ndim)
    if callable(mode):
        return _padded_by(mode, array, widths, kwargs)
    if mode not in _MODES or not set(kwargs) <= _OPTIONS.get(mode, set()):
        expected = f"one of the modes {', '.join(_MODES)}, or a function"
        if mode in _MODES:
            expected = f"no options but {sorted(_OPTIONS.get(mode, set()))}"
        given = f"mode={mode!r} with options {sorted(kwargs)}"
        raise _error("mode", given, expected, "Choose one of these, or join with jnp.concatenate.")
    if mode == "constant" or mode == "empty":
        return _with_constants(array, widths, kwargs.get("constant_values", 0))
    if mode == "linear_ramp":
        return _with_ramps(array, widths, kwargs.get("end_values", 0))
    if mode in _STATISTICS:
        return _with_statistics(array, widths, _STATISTICS[mode], kwargs.get("stat_length"))
    odd = kwargs.get("reflect_type", "even") == "odd"
    for axis, (before, behind) in enumerate(widths):
        if before or behind:
            array = _with_repetitions(array, axis, before, behind, mode, odd)
    return array


def _error(argument: str, given: str, expected: str, fix: str) -> ValueError:
    where = f"jnp.pad, argument {argument}"
    return ValueError(message(where, given=given, expected=expected, fix=fix))


def _widths(pad_width: Any, ndim: int) -> Widths:
    numbers = np.asarray(pad_width)
    is_symbolic = SymbolicDim in map(type, numbers.flat)
    if numbers.size and numbers.dtype.kind not in "iu" and not is_symbolic:
        raise TypeError(
            message(
                "jnp.pad, argument pad_width",
                given=f"{pad_width!r:.80}",
                expected="integers",
                fix="Convert the widths to ints.",
            )
        )
    where = "jnp.pad, argument pad_width"
    pairs = tuple(
        [
            (integer_or_size(where, low), integer_or_size(where, high))
            for low, high in _pairs("pad_width", numbers, ndim)
        ]
    )
    if any(is_negative(n) for pair in pairs for n in pair):
        fix = "Slice the array where it is to be smaller."
        raise _error("pad_width", f"{pad_width}", "numbers that are not negative", fix)
    return pairs


def _pairs(argument: str, values: Any, ndim: int) -> Any:
    """A pair of values for each axis."""
    given: Any = np.asarray(values) if not carries_aval(values) else values
    if given.shape in ((), (1,)):
        given = given.reshape(1, 1)
    if ndim == 0 and given.size == 0:
        return []
    if given.shape not in ((1, 1), (2,), (1, 2), (ndim, 1), (ndim, 2)):
        expected = f"a value, a pair, or {ndim} pairs"
        fix = "Give (before, after) for all axes, or such a pair for each."
        raise _error(argument, f"shape {given.shape} for {ndim} axes", expected, fix)
    if isinstance(given, np.ndarray):
        return np.broadcast_to(given, (ndim, 2))
    rows, columns = given.shape if given.ndim == 2 else (1, 2)
    table = given.reshape(rows, columns)
    return [[table[i % rows, j % columns] for j in (0, 1)] for i in range(ndim)]


def _with_constants(x: Any, widths: Widths, values: Any) -> Any:
    if np.ndim(values) == 0 and not carries_aval(values):
        config = [(low, high, 0) for low, high in widths]
        value = _scalar(values, x.aval)
        return lax.pad(x, value, config) if any(map(any, widths)) else x
    for axis, (pair, width) in enumerate(
        zip(_pairs("constant_values", values, len(widths)), widths, strict=True)
    ):
        for end, count in enumerate(width):
            config = [(0, 0, 0)] * len(widths)
            config[axis] = (count, 0, 0) if end == 0 else (0, count, 0)
            x = lax.pad(x, _scalar(pair[end], x.aval), config) if count else x
    return x


def _scalar(value: Any, aval: Any) -> Any:
    """`value` in the dtype of the array that it is put beside, weak if that is."""
    value = as_array("pad", filling("pad", value, aval.dtype))
    return convert(value, aval.dtype, aval.weak_type)


def _with_ramps(x: Any, widths: Widths, ends: Any) -> Any:
    dtype, weak = x.aval.dtype, x.aval.weak_type
    for axis, (pair, (before, behind)) in enumerate(
        zip(_pairs("end_values", ends, len(widths)), widths, strict=True)
    ):
        size = aval_of(x).shape[axis]
        first, last = (lax.index_in_dim(x, i, axis, keepdims=False) for i in (0, size - 1))
        up = linspace(pair[0], first, before, endpoint=False, dtype=dtype, axis=axis)
        down = linspace(pair[1], last, behind, endpoint=False, dtype=dtype, axis=axis)
        parts = [up, x, lax.rev(down, (axis,))]
        x = lax.concatenate([convert(p, dtype, weak) for p in parts], axis)
    return x


def _with_statistics(x: Any, widths: Widths, statistic: Callable[..., Any], lengths: Any) -> Any:
    dtype, weak = x.aval.dtype, x.aval.weak_type
    pairs = (
        [(None, None)] * len(widths)
        if lengths is None
        else _pairs("stat_length", lengths, len(widths))
    )
    for axis, (pair, width) in enumerate(zip(pairs, widths, strict=True)):
        size = aval_of(x).shape[axis]
        parts = [x]
        for end, (length, count) in enumerate(zip(pair, width, strict=True)):
            taken = size if length is None else min(int(length), size)
            start = 0 if end == 0 else size - taken
            part = lax.slice_in_dim(x, start, start + taken, axis=axis)
            value = statistic(part, axis=axis, keepdims=True)
            if dtypes.issubdtype(dtype, np.integer) and value.aval.dtype != dtype:
                value = lax.round(value, lax.RoundingMethod.TO_NEAREST_EVEN)
            shape = tuple([count if i == axis else n for i, n in enumerate(aval_of(x).shape)])
            filled = lax.broadcast_in_dim(
                convert(value, dtype, weak), shape, tuple(range(len(shape)))
            )
            parts.insert(len(parts) if end else 0, filled)
        x = lax.concatenate(parts, axis)
    return x


def _with_repetitions(x: Any, axis: int, before: int, behind: int, mode: str, odd: bool) -> Any:
    size = aval_of(x).shape[axis]
    if size == 0:
        fix = "Pad with mode='constant'."
        raise _error("array", f"an empty axis, mode={mode!r}", "elements to repeat", fix)
    if not odd:
        parts = [_piece(x, axis, run) for run in _runs(size, before, behind, mode)]
        return lax.concatenate(parts, axis) if len(parts) > 1 else parts[0]
    parts = [_piece(x, axis, run) for run in _runs(size, before, behind, mode)]
    mirrored = lax.concatenate(parts, axis) if len(parts) > 1 else parts[0]
    shape = aval_of(mirrored).shape
    sign, first_factor, last_factor = [
        lax.broadcast_in_dim(c.astype(aval_of(x).dtype), shape, (axis,))
        for c in _odd_factors(size, before, behind, mode)
    ]
    ends = [lax.slice_in_dim(x, i, i + 1, axis=axis) for i in (0, size - 1)]
    first, last = [lax.broadcast_in_dim(e, shape, tuple(range(len(shape)))) for e in ends]
    shift = lax.add(lax.mul(first_factor, first), lax.mul(last_factor, last))
    return lax.add(lax.mul(sign, mirrored), shift)


def _odd_factors(
    size: int, before: int, behind: int, mode: str
) -> tuple[np.ndarray[Any, Any], ...]:
    """Sign of the mirrored elements, and how often to add the first and the last element.

    Going on by one period, the function gains twice the difference of its ends; on the way back it
    is mirrored in the last element.
    """
    half = size if mode == "symmetric" else max(size - 1, 1)
    places = np.arange(-before, size + behind)
    period, place = np.divmod(places, 2 * half)
    back = place > (size - 1)
    return np.where(back, -1, 1), -2 * period, 2 * period + np.where(back, 2, 0)


Run = tuple[Dim, int, Dim]
"""First index, step (1, −1 or 0) and number of indices."""


@memoize
def _runs(size: Dim, before: int, behind: int, mode: str) -> tuple[Run, ...]:
    if mode == "edge":
        # The only mode whose runs are the same for all sizes.
        front: tuple[Run, ...] = ((0, 0, before),) if before else ()
        back: tuple[Run, ...] = ((size - 1, 0, behind),) if behind else ()
        return (*front, (0, 1, size), *back)
    places = np.pad(np.arange(size), (before, behind), mode=mode)  # type: ignore[call-overload]
    end = before + size
    # The array itself is one run, so that XLA copies it as it is.
    return (*_runs_of(places[:before]), (0, 1, size), *_runs_of(places[end:]))


def _runs_of(places: np.ndarray[Any, Any]) -> Sequence[Run]:
    steps = np.diff(places)
    runs: list[Run] = []
    start = 0
    while start < len(places):
        end = start + 1
        step = 1
        if end < len(places) and abs(steps[start]) <= 1:
            step = int(steps[start])
            while end < len(places) and steps[end - 1] == step:
                end += 1
        runs.append((int(places[start]), step, end - start))
        start = end
    return runs


def _piece(x: Any, axis: int, run: Run) -> Any:
    first, step, count = run
    if step == 0:
        shape = tuple([count if i == axis else n for i, n in enumerate(aval_of(x).shape)])
        edge = lax.slice_in_dim(x, first, first + 1, axis=axis)
        return lax.broadcast_in_dim(edge, shape, tuple(range(len(shape))))
    low = first if step > 0 else first - count + 1
    part = lax.slice_in_dim(x, low, low + count, axis=axis)
    return part if step > 0 else lax.rev(part, (axis,))


def _padded_by(function: Callable[..., Any], x: Any, widths: Widths, options: Any) -> Any:
    x = _with_constants(x, widths, 0)
    for axis, width in enumerate(widths):

        def padded(vector: Any, width: Any = width, axis: int = axis) -> Any:
            return function(vector, width, axis, options)

        x = apply_along_axis(padded, axis, x)
    return x
