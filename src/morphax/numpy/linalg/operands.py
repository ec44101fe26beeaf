"""What functions of `jnp.linalg` do to their operands: promote dtypes, check shapes.

Integers and booleans become floating.  Leading axes are those of the stack; nothing is broadcast
here.  Functions of `scipy.linalg` give their names in full, for messages.
"""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...util.messages import message
from ..operands import as_array, in_full, inexact_type


def _of_linalg(name: str) -> str:
    return name if name.startswith("scipy.") else f"linalg.{name}"


def inexact_arrays(name: str, *operands: Any) -> list[Any]:
    """Arrays of their common floating or complex dtype."""
    name = _of_linalg(name)
    arrays = [as_array(name, x) for x in operands]
    dtype, _ = inexact_type(name, *arrays)
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
                in_full(_of_linalg(name)),
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
                in_full(_of_linalg(name)),
                given=f"matrices of shape {x.aval.shape[-2:]}",
                expected="square matrices (..., n, n)",
                fix="Pass a square matrix, or a stack of them.",
            )
        )


def linear_system(name: str, a: Any, b: Any) -> list[Any]:
    """Square matrices `(..., n, n)`, and a vector `(n,)` or right-hand sides `(..., n, k)`."""
    a, b = inexact_arrays(name, a, b)
    check_square(name, a)
    size = a.aval.shape[-1]
    if b.aval.ndim == 0 or b.aval.shape[0 if b.aval.ndim == 1 else -2] != size:
        raise ShapeError(
            message(
                f"{in_full(_of_linalg(name))}, argument b",
                given=f"{b.aval} for {a.aval}",
                expected=f"a vector of size {size}, or matrices of as many rows",
                fix="A stack of vectors is solved as columns: b[..., None].",
            )
        )
    return [a, b]
