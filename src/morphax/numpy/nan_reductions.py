"""Reductions over the elements that are not NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core import aval_of
from ..engines.reference.nan_checks import checked_as_one
from ..engines.reference.replay import replayed
from ..lax.ground.monoids import highest, lowest
from .averages import mean, std, var
from .logic import logical_and, logical_not
from .operands import as_array, check_mask
from .predicates import isnan
from .reductions import all as all_
from .reductions import max as max_
from .reductions import min as min_
from .reductions import prod
from .reductions import sum as sum_
from .selection import where as where_


def _is_exact(a: Any) -> bool:
    return not dtypes.issubdtype(aval_of(a).dtype, np.inexact)


def _replaced(a: Any, value: Any) -> Any:
    """`a` with `value` for NaN."""
    return a if _is_exact(a) else where_(isnan(a), np.asarray(value, a.aval.dtype)[()], a)


def _counted(name: str, a: Any, where: Any) -> Any:
    """Which elements count."""
    if _is_exact(a):
        return where
    present = logical_not(isnan(a))
    if where is None:
        return present
    check_mask(name, where)
    return logical_and(present, where)


def _nan_extreme(
    reduction: Callable[..., Any], name: str, worst: Callable[[Any], Any], a: Any, axis: Any,
    out: Any, keepdims: bool, initial: Any, where: Any,
) -> Any:  # fmt: skip
    a = as_array(name, a)
    if _is_exact(a):
        return reduction(a, axis, out, keepdims, initial, where)
    present = _replaced(a, worst(a.aval.dtype))
    result = reduction(present, axis, out, keepdims, initial, where)
    if initial is not None:
        return result
    missing = all_(isnan(a), axis, keepdims=keepdims, where=where)
    return where_(missing, np.asarray(np.nan, a.aval.dtype)[()], result)


@replayed(1)
def nanmax(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Largest element over axes that is not NaN; NaN where there is none.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanmax(jnp.array([2.0, jnp.nan, 3.0]))
        Array(3., dtype=float32)
    """
    return _nan_extreme(max_, "nanmax", lowest, a, axis, out, keepdims, initial, where)


@replayed(1)
def nanmin(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Smallest element over axes that is not NaN; NaN where there is none.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanmin(jnp.array([2.0, jnp.nan, 3.0]))
        Array(2., dtype=float32)
    """
    return _nan_extreme(min_, "nanmin", highest, a, axis, out, keepdims, initial, where)


@replayed(1)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Sum over axes with NaN as 0.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nansum(jnp.array([2.0, jnp.nan, 3.0]))
        Array(5., dtype=float32)
    """
    a = _replaced(as_array("nansum", a), 0)
    return sum_(a, axis, dtype, out, keepdims, initial, where)


@replayed(1)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Product over axes with NaN as 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
        Array(6., dtype=float32)
    """
    a = _replaced(as_array("nanprod", a), 1)
    return prod(a, axis, dtype, out, keepdims, initial, where)


@replayed(1)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """Mean over axes of the elements that are not NaN; NaN where there is none.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanmean(jnp.array([2.0, jnp.nan, 3.0]))
        Array(2.5, dtype=float32)
    """
    a = as_array("nanmean", a)
    return mean(_replaced(a, 0), axis, dtype, out, keepdims, where=_counted("nanmean", a, where))


@replayed(1)
@checked_as_one
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Variance over axes of the elements that are not NaN; see `var`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanvar(jnp.array([2.0, jnp.nan, 4.0]))
        Array(1., dtype=float32)
    """
    a = as_array("nanvar", a)
    counted = _counted("nanvar", a, where)
    return var(_replaced(a, 0), axis, dtype, out, ddof, keepdims, where=counted, mean=mean)


@replayed(1)
@checked_as_one
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Standard deviation over axes of the elements that are not NaN; see `std`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanstd(jnp.array([2.0, jnp.nan, 4.0]))
        Array(1., dtype=float32)
    """
    a = as_array("nanstd", a)
    counted = _counted("nanstd", a, where)
    return std(_replaced(a, 0), axis, dtype, out, ddof, keepdims, where=counted, mean=mean)
