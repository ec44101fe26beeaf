"""Reductions: the elements along some axes combined by a monoid.

Sums live in `linear_structure`; the reduction by any other computation in `computed_reductions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    aval_of,
    is_zero,
    like,
    not_linear,
    without_axes,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value, i64_array
from ...util.messages import message
from ...util.threads import shared_rows
from ..elementwise.arithmetic import add, div, mul
from ..elementwise.comparison import eq
from ..elementwise.convert import convert
from ..elementwise.extremes import lower_careless, lower_extreme
from ..elementwise.ordered_bits import is_float
from ..elementwise.selection import extremum, scalar_like, select_n_p
from ..ground.axes import integer_tuple
from ..ground.families import without_derivative
from ..ground.kinds import BOOLEAN, INTEGER, NUMBER, DtypeKind
from ..ground.linear_structure import (
    batch_reduction,
    broadcast_in_dim_p,
    reduce_sum_p,
    zeros,
)
from ..ground.monoids import AND, MAX, MIN, MUL, OR, XOR, Monoid
from ..ground.narrow import COMPUTED_IN
from ..ground.out_sharding import names_along, puts_off_sums, unsummed
from ..ground.row_sums import by_wide_rows
from ..ground.sums import reduce_with
from ..shape.joining import concatenate
from ..shape.resharding import split_as
from ..shape.shape_operations import reshape, transpose
from ..shape.slicing import slice_in_dim


class Reduction(Primitive):
    """All elements along `axes`, combined by `monoid`; its identity if there are none."""

    monoid: ClassVar[Monoid]
    accepts: ClassVar[DtypeKind]

    transpose = not_linear()
    narrow_in_loops = "rounded"

    def abstract_eval(self, x: Any, *, axes: Any) -> ShapedArray:
        self.accepts.check(self.name, 0, x)
        check_axes(self.name, x, axes)
        return like(x, shape=tuple([n for i, n in enumerate(x.shape) if i not in axes]))

    def axis_flow(self, x: Any, *, axes: Any) -> AxisFlow:
        return without_axes(x, axes=axes)

    def evaluate(self, x: Any, *, axes: Any) -> Any:
        if not x.size:
            kept = [n for i, n in enumerate(x.shape) if i not in axes]
            return np.full(kept, self.monoid.identity(x.dtype), x.dtype)
        return self.monoid.combine(x, lambda ufunc, v: ufunc.reduce(v, axes, v.dtype))

    def kernel(self, x: Any, *, axes: Any) -> Callable[..., Any] | None:
        has_one_zero = self.monoid.winning_zero is None
        if not x.size or x.dtype in COMPUTED_IN or (x.dtype.kind == "c" and not has_one_zero):
            return None
        dtype, combine = x.dtype, self.monoid.combine
        reduce = by_wide_rows(self.monoid.ufunc, x, axes)
        if has_one_zero or dtype.kind != "f":
            return shared_rows(self.monoid.name, x, axes, lambda v: reduce(v, axes, dtype))

        def extreme(v: Any) -> Any:
            out = reduce(v, axes, dtype)
            # Which zero wins takes another look.
            if np.count_nonzero(out) == out.size:
                return out
            return combine(v, lambda ufunc, v: ufunc.reduce(v, axes, v.dtype))

        return shared_rows(self.monoid.name, x, axes, extreme)

    def folds(self, x: Any, *, axes: Any) -> tuple[str, str, Sequence[int]]:
        return "fold", self.monoid.name, axes

    def lower(self, b: Builder, out: Any, x: Value, *, axes: Any) -> Value:
        return lower_reduction(b, self.monoid, out, x, axes)

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value, *, axes: Any) -> loops.Value:
        return loops.reduced(b, out, x, axes, *self.monoid.for_loops(b.writer, x.dtype))

    def batch(
        self, _: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        return batch_reduction(self, operands[0], dims[0], **params)


def check_axes(name: str, x: Any, axes: Any) -> None:
    """Raise `ValueError` unless `axes` are different axes of `x`, counted from the front."""
    if len(set(axes)) < len(axes) or not all([0 <= a < x.ndim for a in axes]):
        raise ValueError(
            message(
                f"lax.{name}, argument axes",
                given=f"{tuple(axes)} for {x.str_short(short_dtypes=False)}",
                expected=f"different axes in [0, {x.ndim})",
                fix="Count axes from 0 at the front; use the jnp function for negative ones.",
            )
        )


def lower_reduction(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    """Lower a reduction by a monoid."""
    if monoid in (MAX, MIN):
        if out.dtype.kind == "c":
            return _reduce_complex(b, monoid, out, x, axes)
        if is_float(out.dtype) and b.module.platform == "cpu":
            return lower_extreme(b, monoid, out, x, axes)
    return reduce_with(b, monoid.stablehlo, monoid.identity(out.dtype), out, x, axes)


def _reduce_complex(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    element = out.update(shape=())
    body = b.region(
        (element, element), lambda inner, *pair: [extremum(inner, element, monoid.stablehlo, *pair)]
    )
    start = b.constant(monoid.identity(out.dtype), element)
    return b.op("stablehlo.reduce", out, x, start, regions=[body], dimensions=i64_array(axes))


class ExtremeReduction(Reduction):
    """The largest or smallest element; derivatives are shared evenly among equal ones.

    Where it is NaN the derivative is NaN.
    """

    accepts = NUMBER | BOOLEAN

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axes: Any) -> Any:
        (x,), (t,) = primals, tangents
        if is_zero(t):
            return without_derivative(self, primals, {"axes": axes})
        out = self.bind(x, axes=axes)
        kept = tuple([i for i in range(x.aval.ndim) if i not in axes])

        def repeated(v: Any) -> Any:
            return broadcast_in_dim_p.bind(
                v,
                shape=x.aval.shape,
                broadcast_dimensions=kept,
                sharding=x.aval.split,
            )

        attained = eq(x, repeated(out))
        count = reduce_sum(convert(attained, x.aval.dtype), axes)
        share = repeated(div(scalar_like(1, x), count))
        # The NaN of 0 / 0 would be lost when compiled: as a factor, 0 becomes a choice.
        nan = select_n_p.bind(eq(out, out), scalar_like(np.nan, x), scalar_like(0, x))
        return out, reduce_sum(mul(t, select_n_p.bind(attained, repeated(nan), share)), axes)


@final
class ReduceMax(ExtremeReduction):
    """The largest element over `axes`; NaN if there is one."""

    name = "reduce_max"
    monoid = MAX


@final
class ExpShift(ExtremeReduction):
    """The largest element over `axes`, as it is subtracted before exponentials are summed.

    XLA may lose NaN in it.  What is made of it does not: for any m, where xᵢ is NaN, so are xᵢ − m,
    its exponential, and every sum with that as a term.
    """

    name = "exp_shift"
    monoid = MAX

    def lower(self, b: Builder, out: Any, x: Value, *, axes: Any) -> Value:
        if is_float(out.dtype):
            return lower_careless(b, self.monoid, out, x, axes)
        return lower_reduction(b, self.monoid, out, x, axes)


@final
class ReduceMin(ExtremeReduction):
    """The smallest element over `axes`; NaN if there is one."""

    name = "reduce_min"
    monoid = MIN


@final
class ReduceProd(Reduction):
    """The product over `axes`."""

    name = "reduce_prod"
    accepts = NUMBER
    monoid = MUL

    def evaluate(self, x: Any, *, axes: Any) -> Any:
        lanes = _of_long_rows(x, axes)
        return super().evaluate(x, axes=axes) if lanes is None else lanes(x)

    def kernel(self, x: Any, *, axes: Any) -> Callable[..., Any] | None:
        return _of_long_rows(x, axes) or super().kernel(x, axes=axes)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axes: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = self.bind(x, axes=axes)
        return out, product_tangent(x, t, axes)


_LANES = 64


def _of_long_rows(x: Any, axes: Sequence[int]) -> Callable[..., Any] | None:
    """What multiplies many real numbers that lie side by side; `None` for others."""
    kept = x.ndim - len(axes)
    if x.dtype in COMPUTED_IN or x.dtype.kind not in "fiu" or not x.size:
        return None
    if not axes or min(axes) < kept:
        return None
    count = math.prod(x.shape[kept:])
    return partial(_product_of_rows, kept, count) if count >= 8 * _LANES else None


def _product_of_rows(kept: int, count: int, x: Any) -> Any:
    """The products of the last `count` numbers each, as `_LANES` products beside each other.

    NumPy multiplies the numbers of a row one after the other, and waits for each product.
    """
    rows = x.reshape(*x.shape[:kept], count)
    whole = count - count % _LANES
    lanes = rows[..., :whole].reshape(*x.shape[:kept], -1, _LANES)
    product, dtype = np.multiply.reduce, x.dtype
    return product(product(lanes, -2, dtype), -1, dtype) * product(rows[..., whole:], -1, dtype)


def product_tangent(x: Any, t: Any, axes: Sequence[int]) -> Any:
    """The tangent of the product of `x` over `axes`.

    Pairs (x, ẋ) are multiplied by (x, ẋ)(y, ẏ) = (x y, ẋ y + x ẏ), half of them with the other
    half, until one is left: no division, so zeros do no harm, and the work is linear.
    """
    kept = [i for i in range(x.aval.ndim) if i not in axes]
    sizes = [x.aval.shape[i] for i in kept]
    count = int(np.prod([x.aval.shape[i] for i in axes], dtype=np.int64))
    if not count:
        return zeros(t.aval.update(shape=tuple(sizes)))
    order = (*axes, *kept)
    x, t = (reshape(transpose(v, order), (count, *sizes)) for v in (x, t))
    while count > 1:
        half = count // 2
        (x0, t0), (x1, t1) = (
            [slice_in_dim(v, start, start + half) for v in (x, t)] for start in (0, half)
        )
        product, tangent = mul(x0, x1), add(mul(t0, x1), mul(x0, t1))
        if count % 2:
            product, tangent = (
                concatenate([v, slice_in_dim(last, 2 * half, count)], 0)
                for v, last in ((product, x), (tangent, t))
            )
        x, t, count = product, tangent, half + count % 2
    return reshape(t, sizes)


class BitReduction(Reduction):
    """Reductions by a bitwise operation; on booleans, the logical ones."""

    accepts = BOOLEAN | INTEGER

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return without_derivative(self, primals, params)


@final
class ReduceAnd(BitReduction):
    """Bitwise and over `axes`."""

    name = "reduce_and"
    monoid = AND


@final
class ReduceOr(BitReduction):
    """Bitwise or over `axes`."""

    name = "reduce_or"
    monoid = OR


@final
class ReduceXor(BitReduction):
    """Bitwise exclusive or over `axes`."""

    name = "reduce_xor"
    monoid = XOR


reduce_max_p = ReduceMax()
reduce_min_p = ReduceMin()
exp_shift_p = ExpShift()
reduce_prod_p = ReduceProd()
reduce_and_p = ReduceAnd()
reduce_or_p = ReduceOr()
reduce_xor_p = ReduceXor()


def _axes(axes: Sequence[int]) -> tuple[int, ...]:
    return integer_tuple("a reduction of lax, argument axes", axes)


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Sum of `operand` over `axes`; 0 over an empty axis.

    Floats narrower than 32 bits are summed in float32; integers wrap around.

    Args:
        operand: array of number dtype.
        axes: different axes, counted from the front.
        out_sharding: sharding of the result.

    Raises:
        TypeError: if `operand` is boolean.
        ValueError: if `axes` are not different axes of `operand`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.reduce_sum(jnp.ones((2, 3)), (1,))
        Array([3., 3.], dtype=float32)
    """
    if out_sharding is not None and not puts_off_sums(out_sharding):
        return split_as("lax.reduce_sum", out_sharding, partial(reduce_sum, axes=axes), operand)
    summed, aval = _axes(axes), aval_of(operand)
    check_axes("reduce_sum", aval, summed)
    if out_sharding is not None:
        result = aval.update([n for i, n in enumerate(aval.shape) if i not in summed])
        out_sharding = unsummed("lax.reduce_sum", out_sharding, result, names_along(aval, summed))
    return reduce_sum_p.bind(operand, axes=summed, out_sharding=out_sharding)


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """The largest element over `axes`; NaN if there is one, and −∞ over an empty axis.

    Complex numbers are ordered by real part, then by imaginary part.  The derivative is shared
    evenly among equal elements.

    Args:
        operand: array of any numeric or boolean dtype.
        axes: different axes, counted from the front.

    Raises:
        ValueError: if `axes` are not different axes of `operand`.
    """
    return reduce_max_p.bind(operand, axes=_axes(axes))


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """The smallest element over `axes`; NaN if there is one, and ∞ over an empty axis.

    See `reduce_max` for the rest.
    """
    return reduce_min_p.bind(operand, axes=_axes(axes))


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Product of `operand` over `axes`; 1 over an empty axis."""
    return reduce_prod_p.bind(operand, axes=_axes(axes))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Bitwise and of integers over `axes`, logical and of booleans; all bits over an empty axis."""
    return reduce_and_p.bind(operand, axes=_axes(axes))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Bitwise or of integers over `axes`, logical or of booleans."""
    return reduce_or_p.bind(operand, axes=_axes(axes))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Bitwise exclusive or of integers over `axes`, of booleans whether an odd number is true."""
    return reduce_xor_p.bind(operand, axes=_axes(axes))
