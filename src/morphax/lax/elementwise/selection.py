"""Choosing between values: by an index, by size.

Of 0 and −0, `max` gives 0 and `min` −0; NaN wins in both.  Complex numbers are ordered by real
part, then by imaginary part.  Where the primitives take scalars beside arrays, as all elementwise
ones do, the public functions want the shapes that their docstrings state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, final

import numpy as np

from ...core import (
    AxisFlow,
    ShapedArray,
    Zero,
    aval_of,
    is_undefined_primal,
    is_zero,
    like,
    number_in,
    same_axes,
)
from ...core.pending_sums import Groups
from ...engines import loops
from ...engines.reference.fusion import dtype_name
from ...engines.xla.stablehlo import Builder, Value
from ...util.compiled import part
from ...util.messages import message
from ..ground.complex_order import COMPLEX_EXTREMES
from ..ground.families import Elementwise, compare, elementwise_shape, expanded, unbroadcast
from ..ground.kinds import BOOLEAN, INTEGER, NUMBER
from ..ground.linear_structure import broadcast_to, zeros
from ..ground.operands import standardize
from .arithmetic import mul
from .comparison import eq
from .complex import real_dtype


def scalar_like(value: Any, x: Any) -> Any:
    """`value` as a scalar of the dtype of `x`."""
    return number_in(value, aval_of(x).dtype)


def zero_beside(x: Any) -> Any:
    """The number 0 of the dtype of `x`; where sums of `x` are still to be taken, they are of it."""
    split = x.aval.split
    sums = split.of_elements() if split is not None and split.has_sums else None
    return zeros(ShapedArray((), x.aval.dtype, sharding=sums))


_MANY = 1 << 13

native: Any = part("kernels")
# Characters of dtypes whose order is NumPy's.
_INTEGERS = frozenset("?bhilBHIL")


def _one_of_two(which: Any, false: Any, true: Any) -> Any:
    return np.where(which, true, false)


@final
class SelectN(Elementwise):
    """``cases[which]``, element by element; a `which` out of range means the nearest case."""

    name = "select_n"
    quick = True
    narrow_in_loops = "kept"

    def additive(self, *avals: Any, **params: Any) -> Groups:
        return [range(1, len(avals))]

    def abstract_eval(self, which: Any, *cases: Any) -> ShapedArray:
        (BOOLEAN | INTEGER).check(self.name, 0, which)
        if any(case.dtype != cases[0].dtype for case in cases):
            raise TypeError(refusal("lax.select_n", (which, *cases), "cases of one dtype"))
        if which.dtype == bool and len(cases) > 2:
            expected = "at most two cases, as `which` is boolean"
            raise TypeError(refusal("lax.select_n", (which, *cases), expected))
        shape = elementwise_shape(self.name, (which, *cases))
        return like(*cases, shape=shape)

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        return same_axes(*avals, alike=True)

    def evaluate(self, which: Any, *cases: Any) -> Any:
        if len(cases) == 1:
            return np.array(np.broadcast_arrays(which, *cases)[1])
        out = cases[0]
        for position, case in enumerate(cases[1:], start=1):
            out = np.where(which if which.dtype == bool else which >= position, case, out)
        return out

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        if len(avals) == 3 and avals[0].dtype == bool:
            return _one_of_two if native is None else native.select
        return None

    def fused(self, *avals: Any, **params: Any) -> str | None:
        is_choice = len(avals) == 3 and avals[0].dtype == bool
        return f"select_{dtype_name(avals[1].dtype)}" if is_choice else None

    def lower(self, b: Builder, out: Any, which: Value, *cases: Value) -> Value:
        values = expanded(b, out.shape, cases)
        result, chosen = values[0], which
        for position, case in enumerate(values[1:], start=1):
            if case is result:
                continue  # as where nothing but derivatives differs
            if which.aval.dtype != bool:
                threshold = b.full(position, which.aval)
                chosen = compare(b, which.aval.update(dtype=bool), "GE", which, threshold)
            result = b.op("stablehlo.select", out, chosen, case, result)
        return result

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        out = self.bind(*primals)
        if all(is_zero(t) for t in tangents[1:]):
            return out, Zero(out.aval.to_tangent_aval())
        zero = scalar_like(0, out)
        tangent = self.bind(primals[0], *[zero if is_zero(t) else t for t in tangents[1:]])
        return out, broadcast_to(tangent, out.aval.shape, out.aval.split)

    def transpose(self, ct: Any, which: Any, *cases: Any) -> list[Any]:
        zero, parts = zero_beside(ct), [None]
        for case in cases:
            if is_undefined_primal(case):
                part = self.bind(which, *[ct if c is case else zero for c in cases])
                parts.append(unbroadcast(part, case.aval))
            else:
                parts.append(None)
        return parts

    def scalar(self, w: loops.Writer, which: loops.Operand, *cases: loops.Operand) -> loops.Operand:
        chosen, *rest = cases
        for position, case in enumerate(rest, start=1):
            if case is chosen:
                continue
            is_flag = which.dtype == loops.BOOL
            here = which if is_flag else w.op("ge", which, w.number(position, which.dtype))
            chosen = w.select(here, case, chosen)
        return chosen

    scalar_of_complex = scalar


def _maximum(x: Any, y: Any) -> Any:
    if x.dtype.kind == "c":
        return COMPLEX_EXTREMES[np.maximum](x, y)
    out = np.maximum(x, y)
    if x.dtype.kind == "f" and _zeros_meet(x, y, out):
        return np.where((out == 0) & (x == y), x + y, out)
    return out


def _minimum(x: Any, y: Any) -> Any:
    if x.dtype.kind == "c":
        return COMPLEX_EXTREMES[np.minimum](x, y)
    out = np.minimum(x, y)
    if x.dtype.kind == "f" and _zeros_meet(x, y, out):
        return np.where((out == 0) & (x == y), -(-x + -y), out)
    return out


def _zeros_meet(x: Any, y: Any, out: Any) -> bool:
    """Whether 0 may stand against −0, of which NumPy takes either."""
    # A few numbers are counted faster than they are compared.
    if out.size < _MANY and np.count_nonzero(out) == out.size:
        return False
    first, second = (x, y) if x.size < y.size else (y, x)
    return bool((first == 0).any() and (second == 0).any())


class Extremum(Elementwise):
    """The larger or the smaller of x and y; the derivative at a tie is the mean of both."""

    accepts = NUMBER | BOOLEAN
    of_integers: ClassVar[np.ufunc]
    narrow_in_loops = "kept"

    def kernel(self, x: Any, y: Any, **_: Any) -> Callable[..., Any] | None:
        if x.dtype.char in _INTEGERS:
            return self.of_integers
        if native is None or x.dtype.char not in "fd":
            return super().kernel(x, y)
        return getattr(native, self.of_integers.__name__)

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        return extremum(b, out, self.stablehlo, *expanded(b, out.shape, (x, y)))

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        if x.dtype == loops.BOOL:
            return w.op("or" if self.name == "max" else "and", x, y)
        return w.op(self.name, x, y)

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return mul(t, _share(x, y, out))

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return mul(t, _share(y, x, out))


def _share(winner: Any, other: Any, out: Any) -> Any:
    """1 where `winner` is the result, ½ where `other` is too, 0 elsewhere."""
    share = select_n_p.bind(eq(other, out), scalar_like(1, out), scalar_like(0.5, out))
    return select_n_p.bind(eq(winner, out), scalar_like(0, out), share)


def extremum(b: Builder, out: Any, operation: str, x: Value, y: Value) -> Value:
    """Lower ``stablehlo.maximum`` or ``stablehlo.minimum``, as `operation` says."""
    # Complex numbers are compared part by part: XLA's own order differs on NaN.
    if out.dtype.kind != "c":
        return b.elementwise(operation, out, x, y)
    direction = "GT" if operation == "stablehlo.maximum" else "LT"
    parts, flags = out.update(dtype=real_dtype(out.dtype)), out.update(dtype=bool)
    real_x, real_y = [b.op("stablehlo.real", parts, v) for v in (x, y)]
    imaginary_x, imaginary_y = [b.op("stablehlo.imag", parts, v) for v in (x, y)]
    chosen = b.op(
        "stablehlo.select",
        flags,
        compare(b, flags, "EQ", real_x, real_y),
        compare(b, flags, direction, imaginary_x, imaginary_y),
        compare(b, flags, direction, real_x, real_y),
    )
    return b.op("stablehlo.select", out, chosen, x, y)


@final
class Max(Extremum):
    """The larger of x and y, element by element; NaN if either is."""

    name = "max"
    numpy = _maximum
    of_integers = np.maximum
    stablehlo = "stablehlo.maximum"

    def scalar_of_complex(
        self, w: loops.Writer, x: loops.Operand, y: loops.Operand
    ) -> loops.Operand:
        return loops.complex_scalars.extreme(w, x, y, greater=True)


@final
class Min(Extremum):
    """The smaller of x and y, element by element; NaN if either is."""

    name = "min"
    numpy = _minimum
    of_integers = np.minimum
    stablehlo = "stablehlo.minimum"

    def scalar_of_complex(
        self, w: loops.Writer, x: loops.Operand, y: loops.Operand
    ) -> loops.Operand:
        return loops.complex_scalars.extreme(w, x, y, greater=False)


def refusal(where: str, avals: Iterable[Any], expected: str) -> str:
    """Why operands are not taken: the text of an error."""
    return message(
        where,
        given=", ".join(aval.str_short(short_dtypes=False) for aval in avals),
        expected=expected,
        fix="Use jnp.where or jnp.clip, which broadcast and promote, or convert the operands.",
    )


select_n_p = SelectN()
max_p = Max()
min_p = Min()


def select_n(which: Any, *cases: Any) -> Any:
    """``cases[which]``, element by element.

    Args:
        which: array of the shape of the cases, or scalar; boolean, or integer from 0 to n − 1.
        *cases: n ≥ 1 arrays of one dtype and shape (...); two at most if `which` is boolean.

    Returns:
        Array (...); a `which` below 0 chooses the first case, one above n − 1 the last.

    Raises:
        ValueError: there are no cases.
        TypeError: shapes or dtypes do not agree.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.select_n(jnp.array([True, False]), jnp.zeros(2), jnp.ones(2))
        Array([1., 0.], dtype=float32)
    """
    if not cases:
        expected = "at least one case"
        raise ValueError(refusal("lax.select_n, argument cases", (aval_of(which),), expected))
    operands = (which, *standardize(*cases))
    selector, *avals = map(aval_of, operands)
    shape = avals[0].shape
    if selector.shape not in ((), shape) or any(aval.shape != shape for aval in avals):
        expected = "cases of one shape, and `which` of the same or of rank 0"
        raise TypeError(refusal("lax.select_n", (selector, *avals), expected))
    return select_n_p.bind(*operands)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` is true, elsewhere `on_false`.

    Args:
        pred: boolean array of the shape of the others, or scalar.
        on_true: array (...).
        on_false: array of the dtype and shape of `on_true`.

    Returns:
        Array (...).

    Raises:
        TypeError: shapes or dtypes do not agree.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2))
        Array([1., 0.], dtype=float32)
    """
    return select_n(pred, on_false, on_true)


def max(x: Any, y: Any) -> Any:
    """The larger of `x` and `y`, element by element; NaN if either is.

    Complex numbers are ordered by real part, then by imaginary part.  At a tie the derivative is
    the mean of both.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.max(jnp.array([1.0, jnp.nan]), 2.0)
        Array([ 2., nan], dtype=float32)
    """
    return max_p.bind(*standardize(x, y))


def min(x: Any, y: Any) -> Any:
    """The smaller of `x` and `y`, element by element; NaN if either is.

    Complex numbers are ordered by real part, then by imaginary part.  At a tie the derivative is
    the mean of both.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.min(jnp.array([1.0, jnp.nan]), 2.0)
        Array([ 1., nan], dtype=float32)
    """
    return min_p.bind(*standardize(x, y))
