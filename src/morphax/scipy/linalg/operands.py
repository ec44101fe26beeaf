"""What functions of `scipy.linalg` do to their operands."""

from __future__ import annotations

import warnings
from typing import Any

from ... import lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...numpy.linalg.operands import check_square, inexact_arrays
from ...util.messages import described, message

_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def how_transposed(name: str, trans: Any) -> int:
    """0 for no transpose, 1 for a transpose, 2 for one with conjugation."""
    if trans in _TRANS:
        return _TRANS[trans]
    raise ValueError(
        message(
            f"scipy.linalg.{name}, argument trans",
            given=f"{trans!r}",
            expected="0, 1 or 2 (or 'N', 'T' or 'C')",
            fix="2 transposes and conjugates.",
        )
    )


def pair(where: str, given: Any) -> tuple[Any, Any]:
    """The two members of what a function of factors returned."""
    if isinstance(given, (tuple, list)) and len(given) == 2:
        first, second = given
        return first, second
    raise TypeError(
        message(
            where,
            given=described(given),
            expected="the pair that the factorisation returned",
            fix="Pass it on as it is.",
        )
    )


def system(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """A square matrix and right-hand sides as columns, of one dtype; whether it was a vector."""
    a, b = inexact_arrays(f"scipy.linalg.{name}", a, b)
    check_square(f"scipy.linalg.{name}", a)
    is_vector = b.aval.ndim == 1
    size = a.aval.shape[-1]
    if b.aval.ndim == a.aval.ndim - 1 > 1 and b.aval.shape == a.aval.shape[:-1]:
        warnings.warn(
            f"scipy.linalg.{name}: a stack of vectors is deprecated; pass b[..., None].",
            DeprecationWarning,
            stacklevel=3,
        )
        is_vector = True
    columns = lax.expand_dims(b, (b.aval.ndim,)) if is_vector else b
    if b.aval.ndim == 0 or columns.aval.shape[-2] != size:
        raise ShapeError(
            message(
                f"scipy.linalg.{name}, argument b",
                given=f"{b.aval} for {a.aval}",
                expected=f"a vector of size {size}, or matrices of as many rows",
                fix="A stack of vectors is solved as columns: b[..., None].",
            )
        )
    return a, columns, is_vector


def of_one_stack(a: Any, b: Any) -> tuple[Any, Any]:
    """Matrices with the leading axes of both."""
    stack = lax.broadcast_shapes(a.aval.shape[:-2], b.aval.shape[:-2])
    return tuple([jnp.broadcast_to(x, (*stack, *x.aval.shape[-2:])) for x in (a, b)])


def without_column(x: Any, is_vector: bool) -> Any:
    """The solution as a vector, if that was asked for."""
    return lax.squeeze(x, (x.aval.ndim - 1,)) if is_vector else x
