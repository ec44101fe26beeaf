"""Products of vectors and matrices, as the one operation that they are."""

from __future__ import annotations

from typing import Any

from ...core import aval_of
from ...errors import ShapeError
from ...util.messages import message
from .dot import DotDimensionNumbers, dot_general
from .precision import PrecisionLike


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Product of vectors and matrices, or `dot_general` if `dimension_numbers` are given.

    Args:
        lhs: array (k,) or (m, k).
        rhs: array (k,) or (k, n).
        dimension_numbers: see `dot_general`, as for all that follow.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sum and of the result.
        out_sharding: sharding of the result.

    Raises:
        ValueError: if ranks or sizes do not fit and there are no `dimension_numbers`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
        Array(11., dtype=float32)
    """
    x, y = aval_of(lhs), aval_of(rhs)
    if dimension_numbers is None:
        if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2 and x.shape[-1] == y.shape[0]):
            raise ShapeError(
                message(
                    "lax.dot",
                    given=f"{x.str_short(short_dtypes=False)} and "
                    f"{y.str_short(short_dtypes=False)}",
                    expected="vectors or matrices: (k,) or (m, k), and (k,) or (k, n)",
                    fix="Pass dimension_numbers, or use jnp.matmul.",
                )
            )
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return dot_general(
        lhs,
        rhs,
        dimension_numbers,
        precision,
        preferred_element_type,
        out_sharding=out_sharding,
    )


def batch_matmul(lhs: Any, rhs: Any, precision: PrecisionLike = None) -> Any:
    """Matrix product of ``lhs (..., m, k)`` and ``rhs (..., k, n)``, of equal leading axes.

    Raises:
        ValueError: if the ranks differ or are below 2.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
        (5, 2, 4)
    """
    x, y = aval_of(lhs), aval_of(rhs)
    if x.ndim < 2 or x.ndim != y.ndim:
        raise ShapeError(
            message(
                "lax.batch_matmul",
                given=f"{x.str_short(short_dtypes=False)} and {y.str_short(short_dtypes=False)}",
                expected="two arrays of one rank, at least 2",
                fix="Use jnp.matmul, which broadcasts.",
            )
        )
    batch = tuple(range(x.ndim - 2))
    return dot_general(lhs, rhs, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)), precision)
