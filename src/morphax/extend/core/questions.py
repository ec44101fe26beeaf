"""Avals of batches and programs inside programs, for interpreters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ... import core
from ...array import Array
from ...core import AbstractValue, ShapedArray
from ...dtypes.catalogue import SCALARS

array_types: set[type] = {np.ndarray, Array, *[dtype.type for dtype in SCALARS]}
"""Types of values that are arrays; Python scalars are operands too, but none of these."""


def mapped_aval(size: int, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """The aval of one member of a batch of `size` along `axis` (`None`: the aval itself).

    Example:
        >>> import morphax as jax
        >>> from morphax.extend import core
        >>> core.mapped_aval(5, 0, jax.core.ShapedArray((5, 3), "float32"))
        ShapedArray(float32[3])
    """
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    assert aval.shape[axis] == size, (size, axis, aval)
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(
    size: int, axis: int | None, aval: AbstractValue, explicit_mesh_axis: Any = None
) -> AbstractValue:
    """The aval of a batch of `size` along `axis`, from that of one member.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend import core
        >>> core.unmapped_aval(5, 0, jax.core.ShapedArray((3,), "float32"))
        ShapedArray(float32[5,3])
    """
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def jaxpr_as_fun(closed_jaxpr: core.Jaxpr, *args: Any) -> Callable[..., list[Any]]:
    """The function of arrays that a program computes, its first arguments given.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend import core
        >>> square_sum = jax.make_jaxpr(lambda x, y: x * x + y)(1.0, 1.0)
        >>> core.jaxpr_as_fun(square_sum)(3.0, 4.0)
        [Array(13., dtype=float32, weak_type=True)]
    """
    return partial(core.eval_jaxpr, closed_jaxpr, closed_jaxpr.consts, *args)


def subjaxprs(jaxpr: core.Jaxpr) -> Iterator[core.Jaxpr]:
    """The programs in the parameters of the equations of `jaxpr`.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend import core
        >>> jaxpr = jax.make_jaxpr(jax.jit(lambda x: x + 1.0))(1.0).jaxpr
        >>> [len(inner.eqns) for inner in core.subjaxprs(jaxpr)]
        [1]
    """
    for eqn in jaxpr.eqns:
        yield from core.jaxprs_in_params(eqn.params)


def call_impl(f: Any, *args: Any, **params: Any) -> Any:
    """The result of a `linear_util.WrappedFun`."""
    return f.call_wrapped(*args)
