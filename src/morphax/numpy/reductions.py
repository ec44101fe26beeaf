"""Reductions: sums, products, extremes, means and variances over axes.

Small floats are summed in float32.  `where` leaves elements out, `initial` takes part in the
result.  Results are never weakly typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from .. import dtypes, lax
from ..config import current as current_config
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert, convert_as_asked
from ..lax.ground.linear_structure import broadcast_in_dim_p, reduce_sum_p
from ..lax.ground.monoids import highest, lowest
from ..lax.reduction.reductions import exp_shift_p
from ..util.memo import ResultTable
from ..util.messages import message
from ..util.records import dataclass
from .arithmetic import add, multiply
from .axes import canonical_axes
from .operands import as_array, as_truth, check_mask, check_no_out, in_full
from .selection import where as where_

Axis = Any


@final
@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of lax, with what NumPy's reductions have in common around it.

    Args:
        name: of the function of jnp.
        operation: array, axes → what is left of it.
        identity: dtype → the result of no elements, if there is one.
        combine: with which `initial` takes part.
        least: dtype → what no element loses against, in place of an identity: the initial value
            itself would share the derivative where it is attained.
    """

    name: str
    operation: Callable[[Any, tuple[int, ...]], Any]
    identity: Callable[[Any], Any] | None = None
    combine: Callable[[Any, Any], Any] | None = None
    least: Callable[[Any], Any] | None = None

    def __call__(
        self, a: Any, axis: Axis, keepdims: bool, initial: Any, where: Any, out: None
    ) -> Any:
        if out is not None:
            check_no_out(self.name, out)
        axes = canonical_axes(self.name, axis, a.aval.ndim)
        if where is not None:
            a = self._without(a, where, initial)
        elif self.identity is None and initial is None and 0 in [a.aval.shape[i] for i in axes]:
            raise ValueError(_needs_initial(self.name, "an axis of size 0"))
        result = self.operation(a, axes)
        if initial is not None and self.combine is not None:
            start = convert(self._scalar(initial), result.aval.dtype)
            result = self.combine(result, start)
        if result.aval.weak_type:
            result = convert(result, result.aval.dtype)
        return _with_axes(result, a.aval.shape, axes) if keepdims and axes else result

    def _scalar(self, initial: Any) -> Any:
        initial = as_array(self.name, initial)
        if initial.aval.ndim == 0:
            return initial
        raise ValueError(
            message(
                f"jnp.{self.name}, argument initial",
                given=f"{initial.aval}",
                expected="one number, from which each result starts",
                fix=f"Combine arrays with what jnp.{self.name} returns.",
            )
        )

    def _without(self, a: Any, where: Any, initial: Any) -> Any:
        """`a` with a neutral element where it does not take part."""
        if self.identity is None and initial is None:
            raise ValueError(_needs_initial(self.name, "where"))
        check_mask(self.name, where)
        neutral = self.identity or self.least
        assert neutral is not None, "what has no identity has a least element"
        return where_(where, a, np.asarray(neutral(a.aval.dtype), a.aval.dtype)[()])

    def total(
        self, a: Any, dtype: Any, promote_integers: bool, axis: Axis, keepdims: bool, *options: Any
    ) -> Any:
        """A sum or product, in the dtype that is asked for or that has room for it."""
        a = as_array(self.name, a)
        given = a.aval.dtype
        if dtype is not None:
            target = dtypes.requested(dtype, self.name)
            a = convert_as_asked(in_full(self.name), a, target)
            return self(a, axis, keepdims, *options)
        if given in _ROOMY:
            return self(a, axis, keepdims, *options)
        wide = _with_room[given, current_config().trace_key]
        if dtypes.issubdtype(given, np.floating):
            return convert(self(convert(a, wide), axis, keepdims, *options), given)
        if promote_integers:
            a = convert(a, wide)
        return self(a, axis, keepdims, *options)


def _with_axes(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """What is left of an array of `shape`, with the reduced axes of size 1."""
    sizes, kept = _kept[shape, axes]
    return broadcast_in_dim_p.bind(x, shape=sizes, broadcast_dimensions=kept, sharding=None)


def _sizes_and_kept(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sizes = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return sizes, tuple([i for i in range(len(shape)) if i not in axes])


_kept = ResultTable(_sizes_and_kept)


def _needs_initial(name: str, why: str) -> str:
    return message(
        f"jnp.{name}",
        given=f"{why} without a value to start from",
        expected="the argument initial",
        fix=f"Pass initial, the result of no elements, to jnp.{name}.",
    )


def _dtype_with_room(dtype: Any, trace_key: Any) -> Any:
    """The dtype in which small floats, small integers and booleans are added up."""
    if dtypes.issubdtype(dtype, np.floating):
        return np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    if dtype == np.bool_:
        return dtypes.python_scalar_dtype(int)
    if dtypes.issubdtype(dtype, np.integer):
        unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
        default = dtypes.canonicalize(np.uint64 if unsigned else np.int64)
        return default if dtype.itemsize < default.itemsize else dtype
    return dtype


_with_room = ResultTable(_dtype_with_room)
_ROOMY = frozenset(map(np.dtype, (np.float32, np.float64, np.complex64, np.complex128)))


def _sum_over(a: Any, axes: tuple[int, ...]) -> Any:
    """The sum, or of booleans the logical or, as for two of them."""
    if a.aval.dtype == np.bool_:
        return lax.reduce_or(a, axes)
    return reduce_sum_p.bind(a, axes=axes, out_sharding=None)


def _product_over(a: Any, axes: tuple[int, ...]) -> Any:
    """The product, or of booleans the logical and."""
    return (lax.reduce_and if a.aval.dtype == np.bool_ else lax.reduce_prod)(a, axes)


_SUM = Reduction("sum", _sum_over, lambda dtype: 0, add)
_PROD = Reduction("prod", _product_over, lambda dtype: 1, multiply)


def _unless_nan(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An extreme of two that is NaN if the first is; complex numbers are compared by parts."""

    def combined(x: Any, y: Any) -> Any:
        if not dtypes.issubdtype(x.aval.dtype, np.complexfloating):
            return combine(x, y)
        return where_(lax.ne(x, x), x, combine(x, y))

    return combined


_MAX = Reduction("max", lax.reduce_max, combine=_unless_nan(lax.max), least=lowest)
_MIN = Reduction("min", lax.reduce_min, combine=_unless_nan(lax.min), least=highest)
_SHIFT = Reduction(
    "max", lambda a, axes: exp_shift_p.bind(a, axes=axes), lambda dtype: dtype.type(-np.inf)
)
_ALL = Reduction("all", lax.reduce_and, lambda dtype: True)
_ANY = Reduction("any", lax.reduce_or, lambda dtype: False)


@replayed(1)
def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Sum over axes.

    Args:
        a: array.
        axis: axis, tuple of axes, or `None` for all.
        dtype: of the sum; booleans and small integers are summed as integers.
        out: must be `None`.
        keepdims: keep reduced axes, with size 1.
        initial: value to start from.
        where: which elements to count.
        promote_integers: whether small integers are widened.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sum(jnp.ones((2, 3)), axis=0)
        Array([2., 2., 2.], dtype=float32)
    """
    return _SUM.total(a, dtype, promote_integers, axis, keepdims, initial, where, out)


@replayed(1)
def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Product over axes; arguments as those of `sum`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=1)
        Array([ 2, 12], dtype=int32)
    """
    return _PROD.total(a, dtype, promote_integers, axis, keepdims, initial, where, out)


@replayed(1)
def max(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Largest element over axes; NaN if there is one.

    Args:
        a: numbers of any shape.
        axis: axis or axes that are reduced; all without it.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        initial: what the result begins with; needed if there may be no elements.
        where: which elements count.

    Raises:
        ValueError: there is no such axis, or no element and no `initial`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.max(jnp.array([[1, 2], [3, 4]]), axis=0)
        Array([3, 4], dtype=int32)
    """
    return _MAX(as_array("max", a), axis, keepdims, initial, where, out)


@replayed(1)
def min(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Smallest element over axes; NaN if there is one.

    Args:
        a, axis, out, keepdims, initial, where: as for `max`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.min(jnp.array([[1, 2], [3, 4]]), axis=1)
        Array([1, 3], dtype=int32)
    """
    return _MIN(as_array("min", a), axis, keepdims, initial, where, out)


amax, amin = max, min


def minmax(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> tuple[Any, Any]:
    """Smallest and largest element over axes; both NaN if there is one.

    Args:
        a: array.
        axis: axis or axes, all if `None`.
        out: must be `None`.
        keepdims: whether the axes stay, with size 1.
        initial: what the results start from, one number for both or a tuple of two.
        where: which elements count; needs `initial`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.minmax(jnp.array([2, 5, 1]))
        (Array(1, dtype=int32), Array(5, dtype=int32))
    """
    check_no_out("minmax", out)
    starts = initial if isinstance(initial, tuple) else (initial, initial)
    if len(starts) != 2:
        raise ValueError(
            message(
                "jnp.minmax, argument initial",
                given=f"a tuple of {len(starts)}",
                expected="one number, or two: for the smallest and for the largest element",
                fix="Pass (greatest possible minimum, least possible maximum).",
            )
        )
    low, high = starts
    smallest = min(a, axis, None, keepdims, low, where)
    return smallest, max(a, axis, None, keepdims, high, where)


@replayed(1)
def exp_shift(a: Any, axis: Axis = None, where: Any = None) -> Any:
    """Largest element over axes, kept with size 1; for use in exp(a − …) alone, and their sums.

    −∞ if there are no elements.  Which results these get is not decided by it, so XLA may compute
    it in a way that loses NaN: see `lax.reductions.ExpShift`.
    """
    return _SHIFT(as_array("max", a), axis, True, None, where, None)


@replayed(1)
def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """Largest minus smallest element over axes."""
    return lax.sub(max(a, axis, out, keepdims), min(a, axis, out, keepdims))


@replayed(1)
def all(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether all elements over axes are true.

    Args:
        a: values of any shape; a number is true unless it is zero.
        axis: axis or axes that are reduced; all without it.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        where: which elements count.

    Raises:
        ValueError: there is no such axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.all(jnp.array([[1, 2], [3, 4]]) > 1, axis=0)
        Array([False,  True], dtype=bool)
    """
    return _ALL(as_truth("all", a), axis, keepdims, None, where, out)


@replayed(1)
def any(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether any element over axes is true.

    Args:
        a, axis, out, keepdims, where: as for `all`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.any(jnp.array([[1, 2], [3, 4]]) > 3, axis=0)
        Array([False,  True], dtype=bool)
    """
    return _ANY(as_truth("any", a), axis, keepdims, None, where, out)


@replayed(1)
def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements over axes are not zero."""
    return sum(
        as_truth("count_nonzero", a), axis, dtypes.python_scalar_dtype(int), keepdims=keepdims
    )
