"""`x.at[index]`: functional updates.

    x.at[i].set(v)      the array that x would be after x[i] = v

Several updates of one element by `add`, `mul`, `min` and `max` all count.  Updates out of bounds
are dropped unless `mode` says otherwise; reads by `get` are clamped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from .. import lax
from ..core import aval_of
from ..lax.ground.dimension_numbers import GatherScatterMode
from ..lax.shape.resharding import split_as
from ..transforms.vmap import vmap
from ..util.messages import message
from .arithmetic import power as _power
from .arithmetic import true_divide
from .index_plan import (
    ArrayAxis,
    array_indices,
    known_values,
    plan_index,
    signature_of,
)
from .index_windows import Windows, has_windows, without_windows
from .indexing import index_columns, take_index
from .operands import as_array
from .updates import update, update_windows


@final
class At:
    """The attribute `at` of arrays: index it to say where to update.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.zeros(3).at[1].set(5.0)
        Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self.array, index)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


@final
class AtIndex:
    """Places of an array, to be read or updated."""

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"AtIndex({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """The elements at these places; `fill_value` out of bounds with ``mode="fill"``."""
        if out_sharding is not None:
            index = self.index if isinstance(self.index, tuple) else (self.index,)

            def found(array: Any, *index: Any) -> Any:
                return AtIndex(array, index).get(
                    indices_are_sorted=indices_are_sorted,
                    unique_indices=unique_indices,
                    mode=mode,
                    fill_value=fill_value,
                    wrap_negative_indices=wrap_negative_indices,
                )

            return split_as("x.at[...].get", out_sharding, found, self.array, *index)
        chosen = GatherScatterMode.CLIP if mode is None else GatherScatterMode.from_any(mode)
        array, place = self.array, self.index
        if has_windows(place):
            # A window that sticks out reads the fill value, or is moved inside.
            if chosen is GatherScatterMode.FILL_OR_DROP:
                number = lax.select(Windows.of(array, place).fit, np.int32(0), np.int32(1))
                inside = AtIndex(array, place).get()
                return take_index(lax.expand_dims(inside, (0,)), number, chosen, fill_value)
            array, place = without_windows(array, place)
        return take_index(
            array,
            place,
            chosen,
            fill_value,
            wrap=wrap_negative_indices,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
        )

    def set(self, values: Any, **options: Any) -> Any:
        """`values` at these places; of several for one place, any one."""
        return update(self, "set", values, lax.scatter, None, **options)

    def add(self, values: Any, **options: Any) -> Any:
        """`values` added at these places."""
        return update(self, "add", values, lax.scatter_add, lax.add, **options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """`values` subtracted at these places."""
        return update(self, "subtract", values, lax.scatter_sub, lax.sub, **options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """These places multiplied by `values`."""
        return update(self, "multiply", values, lax.scatter_mul, lax.mul, **options)

    mul = multiply

    def min(self, values: Any, **options: Any) -> Any:
        """The smaller of these places and `values`."""
        return update(self, "min", values, lax.scatter_min, lax.min, **options)

    def max(self, values: Any, **options: Any) -> Any:
        """The larger of these places and `values`."""
        return update(self, "max", values, lax.scatter_max, lax.max, **options)

    def divide(self, values: Any, **options: Any) -> Any:
        """These places divided by `values`."""
        ones = lax.full_like(self.array, 1)
        return true_divide(self.array, AtIndex(ones, self.index).multiply(values, **options))

    def power(self, values: Any, **options: Any) -> Any:
        """These places raised to the power `values`."""
        ones = lax.full_like(self.array, 1)
        return _power(self.array, AtIndex(ones, self.index).multiply(values, **options))

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """`func` applied to these places, once for each time they are named.

        `func` takes and returns a scalar.  If no place may be named twice, this is differentiable.

        Example:
            >>> import morphax.numpy as jnp
            >>> jnp.ones(3).at[jnp.array([1, 1])].apply(lambda v: 10 * v)
            Array([  1., 100.,   1.], dtype=float32)
        """
        if has_windows(self.index):
            return update_windows(self, lambda at: at.apply(func, **options), options.get("mode"))
        if self.may_repeat(**options):
            zero = np.zeros((), self.array.aval.dtype)
            return update(self, "apply", zero, _applying(func), None, **options)
        wrap = options.get("wrap_negative_indices", True)
        old = self.get(mode="clip", wrap_negative_indices=wrap)
        new = _on_scalars(func, old)
        if new.aval.shape != old.aval.shape or new.aval.dtype != old.aval.dtype:
            raise TypeError(
                message(
                    "x.at[...].apply, argument func",
                    given=f"a function from {old.aval.dtype} to {new.aval}, of {old.aval}",
                    expected=f"a function from scalars to scalars of dtype {old.aval.dtype}",
                    fix="Convert its result with astype.",
                )
            )
        return self.set(new, **options)

    def may_repeat(self, *, mode: Any = None, wrap_negative_indices: bool = True, **_: Any) -> bool:
        """Whether an element may be named twice, as far as it is known."""
        signature, arrays = signature_of(self.array, self.index)
        plan = plan_index(self.array.aval.shape, signature)
        if not plan.has_arrays:
            return False
        indices = array_indices(signature, arrays)
        if not all([known_values(a) is not None for a in indices]):
            return True
        sizes = [n for n, a in zip(plan.shape, plan.axes, strict=True) if isinstance(a, ArrayAxis)]
        columns = np.asarray(index_columns(indices, sizes, plan.batch_shape, wrap_negative_indices))
        if mode is not None and GatherScatterMode.from_any(mode) is GatherScatterMode.CLIP:
            columns = np.clip(columns, 0, np.array(sizes) - 1)
        places = columns.reshape(-1, len(sizes))
        return len(np.unique(places, axis=0)) < len(places)


def _on_scalars(func: Callable[[Any], Any], x: Any) -> Any:
    """`func` of each element."""
    size = x.aval.size
    flat = as_array("ndarray.at[...].apply", vmap(func)(lax.reshape(x, (size,))))
    return lax.reshape(flat, x.aval.shape) if flat.aval.size == size else flat


def _applying(func: Callable[[Any], Any]) -> Callable[..., Any]:
    """A scatter whose updates only say which elements `func` is applied to."""

    def scatter(x: Any, indices: Any, updates: Any, numbers: Any, **options: Any) -> Any:
        shape = aval_of(updates).shape
        return lax.scatter_apply(x, indices, func, numbers, update_shape=shape, **options)

    return scatter
