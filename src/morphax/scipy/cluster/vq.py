"""`morphax.scipy.cluster.vq`: vector quantisation."""

from __future__ import annotations

from typing import Any

from ... import lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...numpy.operands import as_array, inexact_type
from ...util.messages import message

_WHERE = "scipy.cluster.vq.vq"


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """For each vector the nearest one of a code book, in Euclidean distance.

    Args:
        obs: vectors (m, n), or numbers (m,).
        code_book: vectors (k, n), or numbers (k,).
        check_finite: without meaning, as numbers are not known while tracing.

    Returns:
        `(code, dist)`: the places of the nearest, int32 (m,), of equally near ones the first; and
        the distances (m,), whose derivative is 0 where they are 0.

    Raises:
        ValueError: if the arrays have other shapes, or the code book is empty.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> book = jnp.array([[0.0, 0.0], [3.0, 4.0]])
        >>> jax.scipy.cluster.vq.vq(jnp.array([[0.0, 1.0], [3.0, 4.0]]), book)
        (Array([0, 1], dtype=int32), Array([1., 0.], dtype=float32))
    """
    arrays = [as_array(_WHERE, x) for x in (obs, code_book)]
    dtype, _ = inexact_type(_WHERE, *arrays)
    x, codes = [convert(v, dtype) for v in arrays]
    ndim = x.aval.ndim
    fits = ndim == codes.aval.ndim in (1, 2) and x.aval.shape[1:] == codes.aval.shape[1:]
    if not (fits and codes.aval.shape[0]):
        raise ShapeError(
            message(
                _WHERE,
                given=f"{x.aval} and a code book {codes.aval}",
                expected="(m, n) and (k, n), or (m,) and (k,), with k > 0",
                fix="Add an axis to vectors of one number with x[:, None].",
            )
        )
    if ndim == 1:
        x, codes = x[:, None], codes[:, None]
    squares = jnp.sum(lax.square(jnp.abs(x[:, None] - codes[None])), axis=-1)
    code = lax.argmin(squares, 1, jnp.int32)
    least = jnp.take_along_axis(squares, code[:, None], axis=1)[:, 0]
    # The root has no derivative at 0: there a constant stands for it.
    is_zero = least == 0
    return code, jnp.where(is_zero, 0, lax.sqrt(jnp.where(is_zero, 1, least)))
