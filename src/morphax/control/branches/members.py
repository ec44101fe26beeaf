"""Branches that members of a batch take or do not: all are computed for all, and results chosen.

A branch may have no finite derivative for a member that does not take it: √x at x ≤ 0.  The
cotangent of what that member computes is 0, and 0 · ∞ is NaN.  So each branch reads its operands
as numbers whose derivative counts for those members alone that take it.  The numbers are the same,
so a program that nobody differentiates is compiled to what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...core import Jaxpr, Operand, ShapedArray, Tracer, aval_of, jaxprs_in_params
from ...lax.elementwise.comparison import eq
from ...lax.elementwise.selection import select_n_p
from ...lax.ground.linear_structure import broadcast_in_dim_p
from ...lax.reduction.reductions import reduce_or
from ...lax.shape.stop_gradient import stop_gradient_p
from ..custom.custom_vmap_primitive import custom_vmap_call_p

_FEW: Final = 64
"""Numbers: more of them, which all members share, are not repeated for each."""


def selected(index: Operand, cases: Sequence[Any]) -> Any:
    """Members of `cases`, chosen by a vector of indices along axis 0."""
    return select_n_p.bind(_of_members(index, cases[0], 0), *cases)


def read_by_takers(
    number: int,
    branch: Jaxpr,
    index: Operand,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
) -> tuple[list[Any], tuple[int | None, ...]]:
    """Operands and their batch axes, as the branch of this number reads them.

    What all members share and is small gets a batch axis, so that its cotangent is a sum of those
    of members that take the branch.  What is large, meets nothing that members have of their own,
    or may meet a user's rule of batching, counts if any member takes the branch.
    """
    reads = {v for eqn in branch.eqns for v in eqn.invars}
    differs = any([d is not None and v in reads for v, d in zip(branch.invars, dims, strict=True)])
    repeats = differs and not _asks_users(branch)
    results, axes, takes = list(operands), list(dims), None
    for i, (v, x, axis) in enumerate(zip(branch.invars, operands, dims, strict=True)):
        # Numbers that are known are differentiated by nobody.
        aval: Any = v.aval
        if v not in reads or not isinstance(x, Tracer) or not _has_derivative(aval):
            continue
        takes = eq(index, np.int32(number)) if takes is None else takes
        if axis is None and repeats and aval.is_static and aval.size <= _FEW:
            x, axis = _repeated(x, aval_of(index).shape[0]), 0
        which = reduce_or(takes, (0,)) if axis is None else _of_members(takes, x, axis)
        results[i], axes[i] = select_n_p.bind(which, stop_gradient_p.bind(x), x), axis
    return results, tuple(axes)


def _asks_users(branch: Jaxpr) -> bool:
    """Whether a rule of users is told what has a batch axis."""
    programs = [branch]
    while programs:
        for eqn in programs.pop().eqns:
            if eqn.primitive is custom_vmap_call_p:
                return True
            programs += jaxprs_in_params(eqn.params)
    return False


def _has_derivative(aval: Any) -> bool:
    return isinstance(aval, ShapedArray) and bool(dtypes.issubdtype(aval.dtype, np.inexact))


def _of_members(vector: Operand, like: Any, axis: int) -> Any:
    """A vector along one axis of an array like this one."""
    aval = aval_of(like)
    return broadcast_in_dim_p.bind(
        vector, shape=aval.shape, broadcast_dimensions=(axis,), sharding=aval.split
    )


def _repeated(x: Any, size: Any) -> Any:
    shape = x.aval.shape
    dimensions = tuple(range(1, len(shape) + 1))
    return broadcast_in_dim_p.bind(
        x, shape=(size, *shape), broadcast_dimensions=dimensions, sharding=None
    )
