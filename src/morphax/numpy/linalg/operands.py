"""What functions of `jnp.linalg` do to their operands: promote dtypes, check shapes.

Integers and booleans become floating.  Leading axes are those of the stack; nothing is broadcast
here.
"""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...util.messages import message
from ..operands import as_array, inexact_type


def inexact_arrays(name: str, *operands: Any) -> list[Any]:
    """Arrays of their common floating or complex dtype."""
    arrays = [as_array(f"linalg.{name}", x) for x in operands]
    dtype, _ = inexact_type(f"linalg.{name}", *arrays)
    return [convert(x, dtype) for x in arrays]


def matrices(name: str, x: Any) -> Any:
    """A stack of matrices `(..., m, n)` of inexact dtype."""
    (x,) = inexact_arrays(name, x)
    check_matrices(name, x)
    return x


def square_matrices(name: str, x: Any) -> Any:
    """A stack of square matrices `(..., n, n)` of inexact dtype."""
    (x,) = inexact_arrays(name, x)
    check_square(name, x)
    return x


def check_matrices(name: str, x: Any) -> None:
    """Refuse arrays with fewer than two axes."""
    if x.aval.ndim < 2:
        raise ShapeError(
            message(
                f"jnp.linalg.{name}",
                given=f"{x.aval}",
                expected="a matrix, or a stack of matrices (..., m, n)",
                fix="Add axes with x[:, None] or x[None].",
            )
        )


def check_square(name: str, x: Any) -> None:
    """Refuse what is no stack of square matrices."""
    check_matrices(name, x)
    if x.aval.shape[-1] != x.aval.shape[-2]:
        raise ShapeError(
            message(
                f"jnp.linalg.{name}",
                given=f"matrices of shape {x.aval.shape[-2:]}",
                expected="square matrices (..., n, n)",
                fix="Pass a square matrix, or a stack of them.",
            )
        )
