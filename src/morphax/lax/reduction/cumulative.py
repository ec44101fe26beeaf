"""Running sums, products, extremes and log-sums along an axis.

Sums, products and log-sums are carried in the next wider dtype and rounded when stored, so that the
error of a long float32 sum does not grow with its length.  On the CPU the lowering is a loop, which
compiles fast and runs at the speed of memory; elsewhere it is a window, which runs in parallel.

The tangent of a running combination is a running combination too, of dual numbers x + ẋ ε: the jvp
of an associative operation is associative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from ...config import enable_x64
from ...core import (
    AxisFlow,
    BatchAxes,
    Jaxpr,
    Primitive,
    ShapedArray,
    is_zero,
    like,
    not_linear,
    same_axes,
    stage,
)
from ...engines import loops
from ...engines.xla.running_calls import (
    along_rows,
    call_running,
    may_call_running,
    runs_along_rows,
)
from ...engines.xla.stablehlo import Builder, Value
from ...util.memo import memoize
from ...util.messages import message
from ..elementwise import selection
from ..elementwise.arithmetic import add, mul, mul_p, sub
from ..elementwise.bitwise import bitwise_or
from ..elementwise.comparison import eq, gt, ne
from ..elementwise.complex import real
from ..elementwise.exponential import exp, log
from ..elementwise.log_sum import log_sum, shares
from ..elementwise.selection import max_p, min_p, scalar_like, select, select_n_p
from ..ground.axes import integer
from ..ground.families import without_derivative
from ..ground.kinds import INEXACT, NUMBER, DtypeKind
from ..ground.monoids import ADD, MAX, MIN, MUL, Monoid, lowest
from ..ground.narrow import COMPUTED_IN
from ..shape.shape_operations import rev
from .associative_scan import scan_elements
from .cumulative_lowering import lower_as_loop, lower_as_window

_WIDER = {
    **COMPUTED_IN,
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


class Cumulative(Primitive):
    """The elements of `axis` up to each, combined; those from each on, if `reverse`."""

    monoid: ClassVar[Monoid]
    accepts: ClassVar[DtypeKind] = NUMBER
    rounds: ClassVar[bool] = False

    transpose = not_linear()
    narrow_in_loops = "rounded"

    def abstract_eval(self, x: Any, *, axis: int, reverse: bool) -> ShapedArray:
        self.accepts.check(self.name, 0, x)
        if not 0 <= axis < x.ndim:
            raise np.exceptions.AxisError(
                message(
                    f"lax.{self.name}, argument axis",
                    given=f"{axis} for {x.str_short(short_dtypes=False)}",
                    expected=f"an axis in [0, {x.ndim})",
                    fix="Count axes from 0 at the front; use the jnp function for negative ones.",
                )
            )
        return like(x)

    def axis_flow(self, x: Any, *, axis: int, **_: Any) -> AxisFlow:
        return same_axes(x, whole=(axis,))

    def combine(self, x: Any, y: Any) -> Any:
        """The operation on two values, in lax."""
        raise AssertionError(f"{self.name} defines combine")

    def combine_duals(self, x: Any, y: Any) -> Any:
        """The operation on two pairs of value and tangent, in lax."""
        raise AssertionError(f"{self.name} defines combine_duals")

    def carry_dtype(self, dtype: Any) -> Any:
        """The dtype in which the combination is carried."""
        return _WIDER.get(dtype, dtype) if self.rounds else dtype

    def evaluate(self, x: Any, *, axis: int, reverse: bool) -> Any:
        if not x.size:
            return x.copy()
        ahead = np.flip(x, axis) if reverse else x
        wide = ahead.astype(self.carry_dtype(x.dtype), copy=False)
        out = self.monoid.combine(wide, lambda ufunc, v: ufunc.accumulate(v, axis, v.dtype))
        return np.array(np.flip(out, axis) if reverse else out, x.dtype, order="C")

    def kernel(self, x: Any, *, axis: int, reverse: bool) -> Callable[..., Any] | None:
        if runs_along_rows(self.monoid.name, x, axis):
            return along_rows(self.monoid.name, x.shape[axis], reverse=reverse)
        dtype, accumulate = x.dtype, self.monoid.ufunc.accumulate
        has_one_zero = self.monoid.winning_zero is None or dtype.kind in "biu"
        is_plain = has_one_zero and self.carry_dtype(dtype) == dtype
        if not (x.size and is_plain) or dtype in COMPUTED_IN:
            return None
        if not reverse:
            return lambda v: np.ascontiguousarray(accumulate(v, axis, dtype))
        back = (*[slice(None)] * axis, slice(None, None, -1))
        return lambda v: np.ascontiguousarray(accumulate(v[back], axis, dtype)[back])

    def folds(self, x: Any, *, axis: int, reverse: bool) -> tuple[str, str, Sequence[int]]:
        if reverse:
            return "", "", ()
        is_wide = self.carry_dtype(x.dtype) != x.dtype
        return "accumulate_wide" if is_wide else "accumulate", self.monoid.name, (axis,)

    def lower(self, b: Builder, out: Any, x: Value, *, axis: int, reverse: bool) -> Value:
        if 0 in x.aval.shape or x.aval.shape[axis] == 1:
            return x

        def combine(block: Builder, left: Value, right: Value) -> Value:
            return block.inline(_pair_program(self, left.aval), left, right)[0]

        if may_call_running(b, self.monoid.name, x.aval, axis):
            return call_running(b, self.monoid.name, x, axis, reverse=reverse)
        if b.module.platform == "cpu" or not x.aval.is_static:
            # Arrays of bfloat16 are copied in each step, for XLA's loops compute in float32.
            wide = COMPUTED_IN.get(out.dtype, out.dtype)
            carry = self.carry_dtype(out.dtype) if wide == out.dtype else wide
            rows, identity = b.convert(x, wide), self.monoid.identity(carry)
            rows = lower_as_loop(b, combine, rows, carry, identity, axis, reverse)
            return b.convert(rows, out.dtype)
        return lower_as_window(b, combine, x, self.monoid.identity(x.aval.dtype), axis, reverse)

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *, axis: int, reverse: bool
    ) -> loops.Value:
        combine = partial(self.combined_scalars, b.writer)
        carry = self.carry_dtype(x.dtype)
        return loops.accumulated(b, out, x, axis, combine, carry, reverse=reverse)

    def combined_scalars(
        self, w: loops.Writer, x: loops.Operand, y: loops.Operand
    ) -> loops.Operand:
        """What `combine` does, on scalars of a loop program."""
        return w.op(self.monoid.for_loops(w, x.dtype)[0], x, y)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool
    ) -> Any:
        params = {"axis": axis, "reverse": reverse}
        if is_zero(tangents[0]):
            return without_derivative(self, primals, params)
        duals = [primals[0], tangents[0]]
        if reverse:
            duals = [rev(v, (axis,)) for v in duals]
        _, tangent = scan_elements(self.combine_duals, duals, (axis, axis))
        if reverse:
            tangent = rev(tangent, (axis,))
        return self.bind(*primals, **params), tangent

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        axis: int,
        reverse: bool,
    ) -> tuple[Any, int]:
        out = self.bind(operands[0], axis=axis + (axis >= dims[0]), reverse=reverse)
        return out, dims[0]


@memoize
def _pair_program(primitive: Cumulative, aval: Any) -> Jaxpr:
    """The operation as a program of two values of `aval`."""
    strong = aval.strip_weak_type()
    # The carry may be wider than the dtypes that users are allowed.
    with enable_x64(True):
        jaxpr, _ = stage(lambda x, y: [primitive.combine(x, y)], (strong, strong))
    return jaxpr


@final
class CumSum(Cumulative):
    """Running sum."""

    name = "cumsum"
    monoid = ADD
    rounds = True
    linear = True

    def combine(self, x: Any, y: Any) -> Any:
        return add(x, y)

    def transpose(self, ct: Any, x: Any, *, axis: int, reverse: bool) -> list[Any]:
        return [self.bind(ct, axis=axis, reverse=not reverse)]


@final
class CumProd(Cumulative):
    """Running product."""

    name = "cumprod"
    monoid = MUL
    rounds = True

    def combine(self, x: Any, y: Any) -> Any:
        return mul(x, y)

    def combine_duals(self, x: Any, y: Any) -> Any:
        return mul_p.jvp((x[0], y[0]), (x[1], y[1]))


@final
class CumMax(Cumulative):
    """Running maximum."""

    name = "cummax"
    monoid = MAX

    def combine(self, x: Any, y: Any) -> Any:
        return selection.max(x, y)

    def combine_duals(self, x: Any, y: Any) -> Any:
        return max_p.jvp((x[0], y[0]), (x[1], y[1]))


@final
class CumMin(Cumulative):
    """Running minimum."""

    name = "cummin"
    monoid = MIN

    def combine(self, x: Any, y: Any) -> Any:
        return selection.min(x, y)

    def combine_duals(self, x: Any, y: Any) -> Any:
        return min_p.jvp((x[0], y[0]), (x[1], y[1]))


def _accumulated_log_sums(x: Any, axis: int) -> Any:
    """The running log-sum of complex numbers, for which NumPy has no ufunc."""
    rows = np.moveaxis(x, axis, 0)
    out = np.empty_like(rows)
    out[0] = rows[0]
    for i in range(1, len(rows)):
        top = np.where(rows[i].real > out[i - 1].real, rows[i], out[i - 1])
        parts = np.exp(rows[i] - top) + np.exp(out[i - 1] - top)
        out[i] = np.where(np.isneginf(top.real), top, top + np.log(parts))
    return np.moveaxis(out, 0, axis)


@final
class CumLogSumExp(Cumulative):
    """Running log of a sum of exponentials."""

    name = "cumlogsumexp"
    accepts = INEXACT
    monoid = Monoid("logaddexp", np.logaddexp, "", lowest)
    rounds = True

    def combined_scalars(
        self, w: loops.Writer, x: loops.Operand, y: loops.Operand
    ) -> loops.Operand:
        return loops.scalars.log_of_sum(w, x, y)

    def kernel(self, x: Any, *, axis: int, reverse: bool) -> Callable[..., Any] | None:
        return None if x.dtype.kind == "c" else super().kernel(x, axis=axis, reverse=reverse)

    def evaluate(self, x: Any, *, axis: int, reverse: bool) -> Any:
        if x.dtype.kind != "c" or not x.size:
            return super().evaluate(x, axis=axis, reverse=reverse)
        wide = x.astype(np.complex128)
        if reverse:
            return np.flip(_accumulated_log_sums(np.flip(wide, axis), axis), axis).astype(x.dtype)
        return _accumulated_log_sums(wide, axis).astype(x.dtype)

    def combine(self, x: Any, y: Any) -> Any:
        if x.aval.dtype.kind == "c":
            height = real(y)
            # What is not a number is on top, so that it stays.
            top = select(bitwise_or(gt(height, real(x)), ne(height, height)), y, x)
            total = add(top, log(add(exp(sub(x, top)), exp(sub(y, top)))))
            return select(eq(real(top), -np.inf), top, total)
        return log_sum(x, y)

    def combine_duals(self, x: Any, y: Any) -> Any:
        out = self.combine(x[0], y[0])
        if out.aval.dtype.kind != "c":
            weights = shares(x[0], y[0])
        else:
            # Below log 0 = −∞ there is nothing to share out.
            zero = scalar_like(0, out)
            level = select_n_p.bind(eq(out, scalar_like(-np.inf, out)), out, zero)
            weights = exp(sub(x[0], level)), exp(sub(y[0], level))
        return out, add(mul(weights[0], x[1]), mul(weights[1], y[1]))


cumsum_p = CumSum()
cumprod_p = CumProd()
cummax_p = CumMax()
cummin_p = CumMin()
cumlogsumexp_p = CumLogSumExp()


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running sum along an axis: ``y[i] = x[0] + … + x[i]``.

    Args:
        operand: array of number dtype.
        axis: the axis, counted from the front.
        reverse: run from the end: ``y[i] = x[i] + … + x[n − 1]``.

    Returns:
        Array like `operand`; integers wrap around.

    Raises:
        TypeError: if the dtype is boolean.
        ValueError: if there is no such axis.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.cumsum(jnp.arange(1, 5), reverse=True)
        Array([10,  9,  7,  4], dtype=int32)
    """
    axis = integer("lax.cumsum, argument axis", axis)
    return cumsum_p.bind(operand, axis=axis, reverse=bool(reverse))


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running product along an axis; see `cumsum` for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.cumprod(jnp.array([1, 2, 3, 4]), reverse=True)
        Array([24, 24, 12,  4], dtype=int32)
    """
    axis = integer("lax.cumprod, argument axis", axis)
    return cumprod_p.bind(operand, axis=axis, reverse=bool(reverse))


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running maximum along an axis, NaN from the first NaN on; see `cumsum` for the arguments.

    Example:
        >>> from morphax import lax, numpy as jnp
        >>> lax.cummax(jnp.array([1, 3, 2, 5]))
        Array([1, 3, 3, 5], dtype=int32)
    """
    axis = integer("lax.cummax, argument axis", axis)
    return cummax_p.bind(operand, axis=axis, reverse=bool(reverse))


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running minimum along an axis, NaN from the first NaN on; see `cumsum` for the arguments.

    Example:
        >>> from morphax import lax, numpy as jnp
        >>> lax.cummin(jnp.array([4, 3, 5, 1]))
        Array([4, 3, 3, 1], dtype=int32)
    """
    axis = integer("lax.cummin, argument axis", axis)
    return cummin_p.bind(operand, axis=axis, reverse=bool(reverse))


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running log of a sum of exponentials, ``y[i] = log(exp x[0] + … + exp x[i])``.

    Nothing overflows on the way.  See `cumsum` for the arguments.

    Raises:
        TypeError: if the dtype is neither floating nor complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> jnp.exp(lax.cumlogsumexp(jnp.log(jnp.array([1.0, 1.0, 2.0])))).round(3)
        Array([1., 2., 4.], dtype=float32)
    """
    axis = integer("lax.cumlogsumexp, argument axis", axis)
    return cumlogsumexp_p.bind(operand, axis=axis, reverse=bool(reverse))
