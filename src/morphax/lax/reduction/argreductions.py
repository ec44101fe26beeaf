"""Places of the largest and smallest element along an axis.

NaN counts as larger (for `argmin`: smaller) than every number; of equal elements the first wins,
and −0 equals 0.  The lowering finds the extreme value first, then the least place where it stands:
two plain reductions, which XLA vectorises, where one over pairs of value and place would be a loop.
Of many elements both are left to native code, where a program may call it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any, ClassVar, final

import numpy as np

from ... import dtypes
from ...core import AxisFlow, BatchAxes, Primitive, ShapedArray, like, not_linear, without_axes
from ...core.dims import upper_bound
from ...engines import loops
from ...engines.xla.extreme_calls import (
    call_places,
    is_worth_a_call,
    lies_together,
    may_call_places,
)
from ...engines.xla.stablehlo import Builder, Value
from ...util.compiled import part
from ...util.messages import message
from ..elementwise.ordered_bits import is_float, ordered_bits
from ..ground.axes import integer
from ..ground.families import compare, without_derivative
from ..ground.kinds import ORDERED
from ..ground.linear_structure import batch_reduction
from ..ground.monoids import MAX, MIN, Monoid
from ..ground.narrow import COMPUTED_IN, widened
from .reductions import check_axes, lower_reduction

_LARGEST_INT32 = 2**31 - 1
_native: Any = part("extreme_places")
# Of floats of 16 bits eager places are NumPy's, in float32.
_WITH_PLACES = frozenset(map(np.dtype, "?bhilqBHILQfd" if _native is not None else ""))


class ArgReduction(Primitive):
    """The place of the extreme element along ``axes[0]``, of dtype `index_dtype`."""

    monoid: ClassVar[Monoid]
    numpy: ClassVar[Callable[..., Any]]
    nan: ClassVar[float]

    transpose = not_linear()
    narrow_in_loops = "kept"

    def abstract_eval(self, x: Any, *, axes: Any, index_dtype: Any) -> ShapedArray:
        ORDERED.check(self.name, 0, x)
        check_axes(self.name, x, axes)
        (axis,) = axes
        if not x.shape[axis]:
            raise ValueError(
                message(
                    f"lax.{self.name}",
                    given=f"axis {axis} of {x.str_short(short_dtypes=False)}, which is empty",
                    expected="an axis with at least one element",
                    fix="Test the size of the axis first; an empty axis has no extreme element.",
                )
            )
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(
                message(
                    f"lax.{self.name}, argument index_dtype",
                    given=f"{index_dtype}",
                    expected="an integer dtype",
                    fix="Pass for instance jnp.int32.",
                )
            )
        return like(shape=x.shape[:axis] + x.shape[axis + 1 :], dtype=index_dtype)

    def axis_flow(self, x: Any, *, axes: Any, **_: Any) -> AxisFlow:
        return without_axes(x, axes=axes)

    def evaluate(self, x: Any, *, axes: Any, index_dtype: Any) -> Any:
        return np.asarray(type(self).numpy(widened(x), axes[0])).astype(index_dtype)

    def kernel(self, x: Any, *, axes: Any, index_dtype: Any) -> Callable[..., Any] | None:
        if x.dtype in COMPUTED_IN:
            return None
        (axis,) = axes
        count, kept = x.shape[axis], x.shape[:axis] + x.shape[axis + 1 :]
        if x.dtype in _WITH_PLACES and 1 < count <= min(x.size // 2, _LARGEST_INT32):
            places = _native.places
            given = math.prod(kept[:axis]), count, math.prod(kept[axis:]), self.monoid is MIN
            return lambda v: places(v, *given).reshape(kept).astype(index_dtype, copy=False)
        find = methodcaller(self.name, axis)
        return lambda v: find(v).astype(index_dtype)

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *, axes: Any, index_dtype: Any
    ) -> loops.Value:
        better = "gt" if self.monoid is MAX else "lt"
        return loops.place_of_extreme(b, out, x, axes[0], better)

    def is_much_for_loops(self, x: Any, *, axes: Any, **_: Any) -> bool:
        (axis,) = axes
        if not (lies_together(x, axis) and is_worth_a_call(x, axis)):
            return False
        # Of shorter rows vectors have an element each, which takes a third of the call's time.
        return bool(x.shape[axis] >= loops.FEWEST_IN_GROUPS)

    def lower(self, b: Builder, out: Any, x: Value, *, axes: Any, index_dtype: Any) -> Value:
        (axis,) = axes
        if may_call_places(b, x.aval, axis):
            places = out.update(dtype=np.dtype(np.int32), weak_type=False)
            found = call_places(b, places, x, axis, is_min=self.monoid is MIN)
            return b.convert(found, out.dtype)
        keys = x
        if is_float(x.aval.dtype):
            keys = ordered_bits(b, x, self.nan, merge_zeros=True)
        extreme = lower_reduction(
            b, self.monoid, keys.aval.update(shape=out.shape, weak_type=False), keys, axes
        )
        kept = [i for i in range(x.aval.ndim) if i != axis]
        flags = keys.aval.update(dtype=np.dtype(bool), weak_type=False)
        attained = compare(b, flags, "EQ", keys, b.broadcast(extreme, keys.aval, kept))
        size = x.aval.shape[axis]
        is_narrow = upper_bound(size) <= _LARGEST_INT32
        places = flags.update(dtype=np.dtype(np.int32 if is_narrow else np.int64))
        place = b.iota(places, axis)
        candidates = b.op("stablehlo.select", places, attained, place, b.full(size - 1, places))
        first = lower_reduction(b, MIN, places.update(shape=out.shape), candidates, axes)
        return b.convert(first, out.dtype)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return without_derivative(self, primals, params)

    def batch(
        self, _: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        return batch_reduction(self, operands[0], dims[0], **params)


@final
class ArgMax(ArgReduction):
    """The first place of the largest element."""

    name = "argmax"
    monoid = MAX
    numpy = np.argmax
    nan = np.nan


@final
class ArgMin(ArgReduction):
    """The first place of the smallest element."""

    name = "argmin"
    monoid = MIN
    numpy = np.argmin
    nan = -np.nan


argmax_p = ArgMax()
argmin_p = ArgMin()


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The first place of the largest element along `axis`; that of the first NaN if there is one.

    Args:
        operand: array of real or boolean dtype.
        axis: the axis, counted from the front.
        index_dtype: integer dtype of the result.

    Returns:
        Array of the shape of `operand` without `axis`.

    Raises:
        TypeError: if `operand` is complex, or `index_dtype` not integer.
        ValueError: if there is no such axis, or it is empty.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.argmax(jnp.array([3.0, 7.0, 7.0]), 0, jnp.int32)
        Array(1, dtype=int32)
    """
    axes = (integer("lax.argmax, argument axis", axis),)
    return argmax_p.bind(operand, axes=axes, index_dtype=_requested(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The first place of the smallest element along `axis`; see `argmax`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.argmin(jnp.array([3.0, 1.0, 2.0]), axis=0, index_dtype=int)
        Array(1, dtype=int32)
    """
    axes = (integer("lax.argmin, argument axis", axis),)
    return argmin_p.bind(operand, axes=axes, index_dtype=_requested(index_dtype))


def _requested(index_dtype: Any) -> Any:
    return dtypes.requested(index_dtype, "lax.argmax or lax.argmin, argument index_dtype")
