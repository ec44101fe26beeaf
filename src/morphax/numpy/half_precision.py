"""Functions whose intermediate values half precision cannot hold."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, tree
from ..lax.elementwise.convert import convert

_SINGLE = np.dtype(np.float32)


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, computed in float32 where its results are of a narrower dtype, and rounded once.

    Its steps may leave the range of such a dtype although operands and result do not: float16
    ends at 65504, which e^(x²) passes at x = 3.4.
    """

    @functools.wraps(function)
    def rounded(*args: Any, **kwargs: Any) -> Any:
        arrays = [x for x in (*args, *kwargs.values()) if hasattr(x, "dtype")]
        if not any([is_narrow(x.dtype) for x in arrays]):
            return function(*args, **kwargs)
        # Of arrays, not of dtypes: a weak float32 gives way to a narrower operand.  Python's
        # numbers follow the arrays, but for complex ones.
        complexes = [x for x in (*args, *kwargs.values()) if isinstance(x, complex)]
        result = dtypes.result_type(*arrays, *complexes)
        if not is_narrow(result):
            return function(*args, **kwargs)
        found = function(*map(_widened, args), **{name: _widened(x) for name, x in kwargs.items()})
        return tree.map(lambda y: convert(y, result), found)

    return rounded


def wide_enough(dtype: Any) -> Any:
    """The dtype to compute in where results are of `dtype`: float32 at least."""
    return _SINGLE if is_narrow(dtype) else dtype


def is_narrow(dtype: Any) -> bool:
    """Whether a dtype is floating and narrower than float32."""
    return dtypes.issubdtype(dtype, np.floating) and dtype.itemsize < _SINGLE.itemsize


def _widened(x: Any) -> Any:
    """An array in float32 if its dtype is narrower; anything else as it is."""
    return convert(x, _SINGLE) if hasattr(x, "dtype") and is_narrow(x.dtype) else x
