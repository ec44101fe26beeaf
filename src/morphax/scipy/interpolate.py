"""`morphax.scipy.interpolate`: functions known on a rectangular grid."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..core import Tracer
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..numpy.operands import as_array, inexact_type
from ..util.messages import message

_WHERE = "scipy.interpolate.RegularGridInterpolator"
_METHODS = ("linear", "nearest")
_SMALL = 32


class RegularGridInterpolator:
    """A function from its values on a grid, between them linear along each axis.

    Args:
        points: k vectors of coordinates, each in ascending or in descending order, with distances
            that may differ.
        values: array (n₁, ..., nₖ, ...), one number or array for each point of the grid.
        method: ``"linear"``, or ``"nearest"`` for the value at the nearest point, of two of them
            the lower one.
        bounds_error: must be false, as numbers are not known while tracing.
        fill_value: the value outside of the grid; with `None` the function of the outermost cell
            goes on there.

    Raises:
        NotImplementedError: if `bounds_error` is true.
        ValueError: if there is no such method, the shapes do not suit, the coordinates are in no
            order, or `fill_value` cannot stand among the values.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> grid = jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0, 3.0])
        >>> values = jnp.array([[0.0, 1.0, 3.0], [2.0, 3.0, 5.0]])
        >>> f = jax.scipy.interpolate.RegularGridInterpolator(grid, values)
        >>> f(jnp.array([[0.5, 2.0], [2.0, 0.0]]))
        Array([ 3., nan], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        _check_method(method)
        if bounds_error:
            raise NotImplementedError(
                message(
                    f"{_WHERE}, argument bounds_error",
                    given=f"{bounds_error!r}",
                    expected="False: numbers are not known while tracing",
                    fix="Leave it out, and look for NaN among the results.",
                )
            )
        self.method = method
        self.bounds_error = bounds_error
        given = as_array(_WHERE, values)
        self.values = convert(given, inexact_type(_WHERE, given)[0])
        self.fill_value = _checked_filling(fill_value, self.values)
        grid = [as_array(_WHERE, x) for x in points]
        _check_grid(grid, self.values)
        for axis, x in enumerate(grid):
            if _order_of(x) < 0:
                grid[axis] = lax.rev(x, (0,))
                self.values = lax.rev(self.values, (axis,))
        self.grid = tuple(grid)

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at places.

        Args:
            xi: array (..., k), or a tuple of k arrays that broadcast; for k = 1 also a vector (m,).
            method: another method than that of the interpolator.

        Returns:
            Array (..., and the further axes of the values); NaN where a coordinate is NaN.

        Raises:
            ValueError: if the last axis is not k long, or there is no such method.
        """
        method = self.method if method is None else method
        _check_method(method)
        places, shape = self._coordinates(xi)
        found = _values_at(self.values, self.fill_value, tuple(self.grid), tuple(places), method)
        return jnp.reshape(found, (*shape, *found.aval.shape[1:]))

    def _coordinates(self, xi: Any) -> tuple[list[Any], tuple[int, ...]]:
        """A vector of coordinates for each axis of the grid, and the shape of the places."""
        count = len(self.grid)
        if isinstance(xi, tuple):
            arrays = jnp.broadcast_arrays(*[as_array(_WHERE, x) for x in xi])
            x = jnp.stack(arrays, axis=-1)
        else:
            x = as_array(_WHERE, xi)
            if x.aval.ndim == 1:
                x = x[:, None] if count == 1 else x[None]
        if not x.aval.ndim or x.aval.shape[-1] != count:
            raise ShapeError(
                message(
                    f"{_WHERE}, argument xi",
                    given=f"{x.aval}",
                    expected=f"places (..., {count}), as the grid has {count} axes",
                    fix="Pass a tuple of coordinates, or stack them along the last axis.",
                )
            )
        x = convert(x, inexact_type(_WHERE, x, *self.grid)[0])
        flat = jnp.reshape(x, (-1, count)) if x.aval.size else jnp.zeros((0, count), x.aval.dtype)
        return [flat[:, i] for i in range(count)], x.aval.shape[:-1]


@replayed(4)
def _values_at(values: Any, fill_value: Any, grid: Any, places: Any, method: str) -> Any:
    """The values at places (m,) along each axis of the grid: (m, and their further axes)."""
    outside = functools.reduce(
        lax.bitwise_or,
        [(x < g[0]) | (x > g[-1]) for g, x in zip(grid, places, strict=True)],
    )
    unknown = functools.reduce(lax.bitwise_or, [jnp.isnan(x) for x in places])
    hidden = unknown if fill_value is None else outside | unknown
    # What the values there do not decide has no part in their derivatives.
    places = [jnp.where(hidden, g[0], x) for g, x in zip(grid, places, strict=True)]
    cells = [_cell(g, x) for g, x in zip(grid, places, strict=True)]
    further = values.aval.ndim - len(grid)
    if method == "nearest":
        nearest = [jnp.where(part <= 0.5, low, high) for low, high, part in cells]
        found = values[tuple(nearest)]
    else:
        found = _linear(values, cells, further)
    column = (outside.aval.shape[0],) + (1,) * further
    if fill_value is not None:
        found = jnp.where(jnp.reshape(outside, column), fill_value, found)
    found = jnp.where(jnp.reshape(unknown, column), np.nan, found)
    return found


def _linear(values: Any, cells: Sequence[Any], further: int) -> Any:
    """The mean of the values at the corners of each cell, weighted by nearness."""
    ends = [((low, 1 - part), (high, part)) for low, high, part in cells]
    total: Any = 0
    for corner in itertools.product(*ends):
        weight = functools.reduce(lax.mul, [w for _, w in corner])
        weight = jnp.reshape(weight, weight.aval.shape + (1,) * further)
        total = total + values[tuple([i for i, _ in corner])] * weight
    return total


def _cell(grid: Any, x: Any) -> tuple[Any, Any, Any]:
    """The points of a grid below and above places, and how far the place is from the lower one."""
    size = grid.aval.shape[0]
    # To compare with all points of a small grid takes less than a loop; from some fifty on XLA's
    # counts take ten times as long.
    method = "compare_all" if size <= _SMALL else "scan"
    found = jnp.searchsorted(grid, x, side="right", method=method)
    low = jnp.clip(found - 1, 0, max(size - 2, 0))
    high = jnp.minimum(low + 1, size - 1)
    width = grid[high] - grid[low]
    return low, high, (x - grid[low]) / jnp.where(width == 0, 1, width) * (width != 0)


def _check_method(method: Any) -> None:
    if method not in _METHODS:
        raise ValueError(
            message(
                f"{_WHERE}, argument method",
                given=f"{method!r}",
                expected="'linear' or 'nearest'",
                fix="Choose one of them.",
            )
        )


def _checked_filling(fill_value: Any, values: Any) -> Any:
    if fill_value is None:
        return None
    filling = as_array(_WHERE, fill_value)
    if filling.aval.shape or not np.can_cast(
        filling.aval.dtype, values.aval.dtype, casting="same_kind"
    ):
        raise ValueError(
            message(
                f"{_WHERE}, argument fill_value",
                given=f"{filling.aval}",
                expected=f"None, or a number that {values.aval.dtype} holds",
                fix="Convert the values, as in values.astype(complex).",
            )
        )
    return convert(filling, values.aval.dtype)


def _check_grid(grid: Sequence[Any], values: Any) -> None:
    shapes = [x.aval.shape for x in grid]
    expected = [(n,) for n in values.aval.shape[: len(grid)]]
    if not grid or shapes != expected or () in shapes or (0,) in shapes:
        raise ShapeError(
            message(
                f"{_WHERE}, argument points",
                given=f"vectors of shapes {shapes} for {values.aval}",
                expected="a vector for each of the first axes of the values, as long as that axis",
                fix="Pass a tuple of vectors; a grid of one axis is (x,).",
            )
        )


def _order_of(x: Any) -> int:
    """1 for coordinates in ascending order, -1 in descending order; 1 if they are not known."""
    if isinstance(x, Tracer):
        return 1
    steps = np.diff(np.asarray(x))
    if (steps > 0).all():
        return 1
    if (steps < 0).all():
        return -1
    raise ValueError(
        message(
            f"{_WHERE}, argument points",
            given=f"coordinates {np.array2string(np.asarray(x), threshold=8)}",
            expected="all in ascending, or all in descending order, with none twice",
            fix="Sort them, and the values along that axis with them.",
        )
    )
