"""Sorting along an axis, and the largest elements of an axis.

`sort` puts NaN last and takes −0 and 0 for equal; complex numbers are in order of their real, then
of their imaginary parts.  `top_k` goes by the total order of floats, from NaN down to −NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    is_zero,
    like,
    not_linear,
    same_axes,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..elementwise.comparison import total_order_key
from ..ground.axes import canonical_axis, integer
from ..ground.dimension_numbers import elements_along
from ..ground.kinds import ANY, BOOLEAN, NUMBER, ORDERED
from ..ground.linear_structure import batched_first, moved_axis, zeros
from ..ground.narrow import COMPUTED_IN, widened
from ..indexing.gather import gather
from ..shape.filling import broadcasted_iota
from ..shape.shape_operations import expand_dims
from .largest import largest
from .sort_lowering import lower_sort


def taken_along(x: Any, places: Any, axis: int) -> Any:
    """The elements of `x` at `places`, all of them inside, along an axis."""
    aval, ndim = aval_of(x), aval_of(x).ndim
    if aval_of(places).size == 0:
        return zeros(aval.update(shape=aval_of(places).shape))
    numbers = elements_along(axis, ndim)
    return gather(
        x,
        expand_dims(places, (ndim,)),
        numbers,
        (1,) * ndim,
        mode="promise_in_bounds",
        unique_indices=True,
    )


# Up to here a stable sort takes less time than to find out whether a faster one will do.
_FEW = 1000


@final
class Sort(Primitive):
    """The operands sorted along `dimension` by the first `num_keys` of them, lexicographically."""

    name = "sort"
    multiple_results = True
    most_by_loops = 16
    most_by_loops_once = 128

    transpose = not_linear()
    narrow_in_loops = "kept"

    def abstract_eval(
        self, *avals: Any, dimension: int, is_stable: bool, num_keys: int
    ) -> list[Any]:
        for position, aval in enumerate(avals):
            (NUMBER | BOOLEAN if position < num_keys else ANY).check(self.name, position, aval)
        if any([aval.shape != avals[0].shape for aval in avals]):
            raise TypeError(
                message(
                    "lax.sort, argument operand",
                    given=" and ".join([a.str_short(short_dtypes=False) for a in avals]),
                    expected="arrays of one shape",
                    fix="Broadcast the operands against each other first.",
                )
            )
        return list(map(like, avals))

    def axis_flow(self, *avals: Any, dimension: int, **_: Any) -> AxisFlow:
        return same_axes(*avals, results=len(avals), whole=(dimension,), alike=True)

    def kernel(
        self, *avals: Any, dimension: int, num_keys: int, **_: Any
    ) -> Callable[..., Any] | None:
        x = avals[0]
        is_plain = isinstance(x.dtype, np.dtype) and x.dtype.kind in "fiub"
        if not is_plain or x.dtype in COMPUTED_IN or x.size > _FEW:
            return None
        if len(avals) > 1:
            if num_keys > 1 or not x.size:
                return None
            return _taken_in_order if x.ndim == 1 else _taken_along(x.shape, dimension)

        def in_order(v: Any) -> list[Any]:
            out = v.copy()
            out.sort(dimension, "stable")
            return [out]

        return in_order

    def evaluate(self, *operands: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
        if len(operands) == 1 and operands[0].dtype.kind != "c":
            return [_sorted_values(operands[0], dimension)]
        keys = [
            part
            for key in map(widened, operands[:num_keys])
            for part in ((key.real, key.imag) if key.dtype.kind == "c" else (key,))
        ]
        one = len(keys) == 1
        order = _order(keys[0], dimension) if one else np.lexsort(keys[::-1], dimension)
        if order.ndim == 1:
            return [x[order] for x in operands]
        return [np.take_along_axis(x, order, dimension) for x in operands]

    def lower(
        self,
        b: Builder,
        outs: Any,
        *values: Value,
        dimension: int,
        is_stable: bool,
        num_keys: int,
    ) -> list[Value]:
        if 0 in values[0].aval.shape or values[0].aval.shape[dimension] == 1:
            return list(values)
        return lower_sort(b, values, dimension, is_stable, num_keys)

    def to_loops(
        self,
        b: loops.Builder,
        outs: Any,
        *operands: loops.Value,
        dimension: int,
        num_keys: int,
        **_: Any,
    ) -> list[loops.Value]:
        precedes = loops.ordering.precedes_by_keys(b, num_keys)
        return loops.ordering.sorted_along(b, operands, dimension, precedes)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, **params: Any
    ) -> Any:
        shape = aval_of(primals[0]).shape
        places = broadcasted_iota(np.int32, shape, dimension)
        *outs, order = self.bind(*primals, places, dimension=dimension, **params)
        return outs, [
            Zero(t.aval) if is_zero(t) else taken_along(t, order, dimension) for t in tangents
        ]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        dimension: int,
        **params: Any,
    ) -> tuple[list[Any], list[int]]:
        moved = [batched_first(axes, x, d) for x, d in zip(operands, dims, strict=True)]
        outs = self.bind(*moved, dimension=dimension + 1, **params)
        return outs, [0] * len(outs)


def _taken_in_order(key: Any, *others: Any) -> list[Any]:
    """Few numbers in order, and others in theirs."""
    order = key.argsort(kind="stable")
    return [key[order], *[x[order] for x in others]]


def _taken_along(shape: tuple[int, ...], axis: int) -> Callable[..., Any]:
    """The same of few lines along an axis: elements are taken by their places in all."""
    places = np.arange(math.prod(shape)).reshape(shape)
    firsts, step = places.take([0], axis), math.prod(shape[axis + 1 :])

    def taken(key: Any, *others: Any) -> list[Any]:
        order = key.argsort(axis, "stable")
        if step > 1:
            order *= step
        order += firsts
        return [key.take(order), *[x.take(order) for x in others]]

    return taken


def _sorted_values(x: Any, axis: int) -> Any:
    """`x` sorted; where NumPy's fast sort would mix up 0 and −0, by its stable one."""
    wide = widened(x)
    mixed = wide.size <= _FEW
    if wide.dtype.kind == "f" and not mixed:
        signs = np.signbit(wide[wide == 0])
        mixed = bool(signs.any() and not signs.all())
    return np.sort(wide, axis, kind="stable" if mixed else None).astype(x.dtype, copy=False)


def _order(key: Any, axis: int) -> Any:
    """The places of the elements of `key` in the order of a stable sort along an axis."""
    if key.dtype.itemsize > 4 or key.size <= _FEW:
        return np.argsort(key, axis, kind="stable")
    if key.dtype.kind == "f":
        merged = np.where(key == 0, key.dtype.type(0), key)
        key = total_order_key(np.where(np.isnan(key), key.dtype.type(np.nan), merged))
    if key.dtype == np.uint32:
        # The high half of a signed 64-bit number is signed.
        key = (key ^ np.uint32(1 << 31)).view(np.int32)
    # Keys with their places below them all differ: NumPy's fast sort, which is not stable, will do.
    shape = [-1 if i == axis else 1 for i in range(key.ndim)]
    packed = (key.astype(np.int64) << 32) | np.arange(key.shape[axis]).reshape(shape)
    return np.sort(packed, axis) & (2**32 - 1)


@final
class TopK(Primitive):
    """The `k` largest elements along `axis`, in falling order, and their places."""

    name = "top_k"
    multiple_results = True
    most_by_loops = 16
    most_by_loops_once = 128

    transpose = not_linear()
    narrow_in_loops = "kept"

    def abstract_eval(self, x: Any, *, k: int, axis: int) -> list[ShapedArray]:
        ORDERED.check(self.name, 0, x)
        if not 0 <= k <= x.shape[axis]:
            raise ValueError(
                message(
                    "lax.top_k, argument k",
                    given=f"k={k} for axis {axis} of {x.str_short(short_dtypes=False)}",
                    expected=f"0 <= k <= {x.shape[axis]}",
                    fix="Ask for at most as many elements as there are.",
                )
            )
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        return [like(x, shape=shape), like(shape=shape, dtype=np.int32)]

    def axis_flow(self, x: Any, *, k: int, axis: int) -> AxisFlow:
        return same_axes(x, results=2, whole=(axis,))

    def evaluate(self, x: Any, *, k: int, axis: int) -> list[Any]:
        return largest(x, k, axis)

    def lower(self, b: Builder, outs: Any, x: Value, *, k: int, axis: int) -> list[Value]:
        if outs[0].size == 0:
            return [b.full(0, out) for out in outs]
        last = x.aval.ndim - 1
        order = [*[i for i in range(last + 1) if i != axis], axis]
        back = np.argsort(order).tolist()
        moved = _permuted(b, x, order)
        shapes = [out.update(shape=tuple([out.shape[i] for i in order])) for out in outs]
        results = b.ops("chlo.top_k", shapes, moved, k=f"{k} : i64")
        return [_permuted(b, v, back) for v in results]

    def to_loops(
        self, b: loops.Builder, outs: Any, x: loops.Value, *, k: int, axis: int
    ) -> list[loops.Value]:
        w = b.writer
        places = loops.joining.counted(b, like(shape=x.shape, dtype=np.int32), axis)

        def precedes(xs: Sequence[loops.Operand], ys: Sequence[loops.Operand]) -> loops.Operand:
            return w.op("gt", *[loops.scalars.ordered_bits(w, v) for v in (xs[0], ys[0])])

        ordered = loops.ordering.sorted_along(b, [x, places], axis, precedes)
        return [b.part(v, axis, 0, out.shape) for v, out in zip(ordered, outs, strict=True)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, k: int, axis: int) -> Any:
        values, places = self.bind(*primals, k=k, axis=axis)
        (t,) = tangents
        no_tangent = Zero(places.aval.to_tangent_aval())
        if is_zero(t):
            return [values, places], [Zero(values.aval.to_tangent_aval()), no_tangent]
        return [values, places], [taken_along(t, places, axis), no_tangent]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, k: int, axis: int
    ) -> tuple[list[Any], list[int]]:
        x = moved_axis(operands[0], dims[0], 0)
        return self.bind(x, k=k, axis=axis + 1), [0, 0]


def _permuted(b: Builder, x: Value, order: Sequence[int]) -> Value:
    if list(order) == list(range(x.aval.ndim)):
        return x
    shape = tuple([x.aval.shape[i] for i in order])
    return b.transpose(x, x.aval.update(shape=shape), order)


sort_p = Sort()
top_k_p = TopK()


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """`operand` sorted along an axis in rising order, NaN last.

    Of several arrays, the first `num_keys` are keys, compared one after the other, and all are
    rearranged alike.

    Args:
        operand: array, or sequence of arrays of one shape.
        dimension: the axis.
        is_stable: whether equal elements keep their order.
        num_keys: how many arrays are keys.

    Returns:
        Array, or tuple of arrays.

    Raises:
        TypeError: if shapes differ, or there is no operand.
        ValueError: if there is no such axis, or not as many keys.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.sort((jnp.array([3, 1, 2]), jnp.array([10, 20, 30])))
        (Array([1, 2, 3], dtype=int32), Array([20, 30, 10], dtype=int32))
    """
    several = isinstance(operand, (tuple, list))
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError(
            message(
                "lax.sort, argument operand",
                given="an empty sequence",
                expected="at least one array",
                fix="Pass the array to sort.",
            )
        )
    num_keys = integer("lax.sort, argument num_keys", num_keys)
    if not 1 <= num_keys <= len(operands):
        raise ValueError(
            message(
                "lax.sort, argument num_keys",
                given=f"{num_keys} for {len(operands)} operand(s)",
                expected=f"1 <= num_keys <= {len(operands)}",
                fix="Count the operands to compare, from the first.",
            )
        )
    axis = canonical_axis("lax.sort, argument dimension", dimension, aval_of(operands[0]).ndim)
    outs = sort_p.bind(*operands, dimension=axis, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """`keys` sorted along an axis, and `values` rearranged alike; see `sort`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30, 10, 20]))
        (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    first, second = sort((keys, values), dimension, is_stable, num_keys=1)
    return first, second


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The `k` largest elements along an axis, in falling order, and their places.

    Of equal elements the first comes first; NaN is largest, −NaN smallest, and 0 above −0.

    Args:
        operand: array of real or boolean dtype.
        k: how many, known while tracing.
        axis: the axis.

    Returns:
        Values, of the dtype of `operand`, and places, of dtype int32; both have size `k` along the
        axis.

    Raises:
        TypeError: if the dtype is complex.
        ValueError: if there is no such axis, or not `k` elements.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.top_k(jnp.array([1, 5, 2, 5]), 2)
        [Array([5, 5], dtype=int32), Array([1, 3], dtype=int32)]
    """
    place = canonical_axis("lax.top_k, argument axis", axis, aval_of(operand).ndim)
    count = integer("lax.top_k, argument k", k)
    return top_k_p.bind(operand, k=count, axis=place)
