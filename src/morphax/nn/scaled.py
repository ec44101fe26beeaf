"""Products of matrices in narrow dtypes, whose blocks have scales of their own.

Reference: Rouhani et al., "Microscaling data formats for deep learning", 2023.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..errors import ShapeError
from ..lax.ground.kinds import FLOATING
from ..numpy.operands import as_array
from ..util.messages import message


def scaled_matmul(
    lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32
) -> Any:
    """Batches of products A Bᵀ, where each run of elements along a row has a scale of its own.

    With blocks of size b = K / Kₛ, the element (m, k) of A is lhs[m, k] · lhs_scales[m, k // b],
    and likewise for B.  All is computed in float32.

    Args:
        lhs: array (B, M, K) of real numbers.
        rhs: array (B, N, K), likewise.
        lhs_scales: array (B, M, Kₛ), where Kₛ divides K.
        rhs_scales: array (B, N, Kₛ).
        preferred_element_type: floating dtype of the result.

    Returns:
        Array of shape (B, M, N).

    Raises:
        ValueError: the shapes do not fit.
        TypeError: operands are not real, or the dtype of the result is not floating.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> a, b = jnp.array([[[1, 2, 3]]]), jnp.array([[[4, 5, 6]]])
        >>> half = jnp.array([[[0.5]]])
        >>> jax.nn.scaled_matmul(a, b, half, half)
        Array([[[8.]]], dtype=float32)
    """
    operands = [as_array("nn.scaled_matmul", x) for x in (lhs, rhs, lhs_scales, rhs_scales)]
    _check_scaled(*operands)
    target = dtypes.requested(preferred_element_type, "nn.scaled_matmul")
    if target not in FLOATING:
        raise _refused(TypeError, f"preferred_element_type={target}", "a floating dtype")
    a, b, a_scales, b_scales = [lax.convert_element_type(x, np.float32) for x in operands]
    numbers = (((2,), (2,)), ((0,), (0,)))
    product = lax.dot_general(_times_scales(a, a_scales), _times_scales(b, b_scales), numbers)
    return lax.convert_element_type(product, target)


def _times_scales(x: Any, scales: Any) -> Any:
    """The elements of (B, M, K) times the scales (B, M, Kₛ) of their blocks."""
    *rows, size = x.shape
    count = scales.shape[2]
    blocks = lax.reshape(x, (*rows, count, size // max(count, 1)))
    return lax.reshape(lax.mul(blocks, lax.expand_dims(scales, (3,))), x.shape)


def _check_scaled(a: Any, b: Any, a_scales: Any, b_scales: Any) -> None:
    operands = a, b, a_scales, b_scales
    given = ", ".join(f"{x.dtype}{x.shape}" for x in operands)
    if any(dtypes.issubdtype(x.dtype, np.complexfloating) for x in operands):
        raise _refused(TypeError, given, "real numbers")
    expected = "shapes (B, M, K), (B, N, K), (B, M, S) and (B, N, S)"
    if any(x.ndim != 3 for x in operands):
        raise _refused(ShapeError, given, expected)
    rows = a.shape[:2] == a_scales.shape[:2] and b.shape[:2] == b_scales.shape[:2]
    columns = a.shape[2] == b.shape[2] and a_scales.shape[2] == b_scales.shape[2]
    if not rows or not columns or a.shape[0] != b.shape[0]:
        raise _refused(ShapeError, given, expected)
    size, count = a.shape[2], a_scales.shape[2]
    if size % count if count else size:
        raise _refused(ShapeError, given, "a number S of scales in a row that divides K")


def _refused(error: type[Exception], given: str, expected: str) -> Exception:
    fix = "Give each row of an operand as many scales as it has blocks, all of one size."
    return error(message("nn.scaled_matmul", given=given, expected=expected, fix=fix))
