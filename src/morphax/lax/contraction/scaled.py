"""`scaled_dot`: the product of matrices whose numbers share scales, block by block.

Numbers of few bits reach further if each block of them along the contracting axis has a factor of
its own.  The product is that of the numbers that are meant, number times factor, in a wider dtype.

Reference: Rouhani et al., "Microscaling Data Formats for Deep Learning", arXiv:2310.10537.
"""

from __future__ import annotations

from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from ... import dtypes
from ...core import aval_of
from ...util.messages import message
from ..elementwise.arithmetic import mul
from ..elementwise.convert import convert
from ..ground.kinds import COMPLEX, FLOATING
from ..shape.shape_operations import broadcast_in_dim, reshape
from .dot import DotDimensionNumbers, dot_general

_WHERE = "lax.scaled_dot"


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: Any = None,
) -> Any:
    """Σₖ (lhs[i, k] · lhs_scale[i, ⌊k/m⌋]) · (rhs[k, j] · rhs_scale[⌊k/n⌋, j]).

    Operands and scales are converted to `preferred_element_type` first; products are rounded to it.

    Args:
        lhs: array (..., i, k) of real numbers, mostly of a narrow dtype such as float8_e4m3fn.
        rhs: array (..., k, j), of any real dtype.
        lhs_scale: array (..., i, k / m) of real numbers with m ≥ 2, mostly of dtype
            float8_e8m0fnu; 1 if left out.
        rhs_scale: array (..., k / n, j) with n ≥ 2; 1 if left out.
        dimension_numbers: as of `dot_general`; without them the last axis of `lhs` is contracted
            with the last but one of `rhs`, and the axes before these are batch axes.
        preferred_element_type: floating dtype of the result, bfloat16 if left out.

    Returns:
        Array (..., i, j): batch axes, free axes of `lhs`, free axes of `rhs`.

    Raises:
        TypeError: ranks differ or are below 2, a dtype is complex, axes do not pair up, or a scale
            does not fit its operand.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x, scale = jnp.ones((1, 4), jnp.float8_e4m3fn), jnp.array([[2.0, 8.0]])
        >>> jax.lax.scaled_dot(x, x.T, lhs_scale=scale)
        Array([[20]], dtype=bfloat16)
    """
    operands = [lhs, rhs, *[s for s in (lhs_scale, rhs_scale) if s is not None]]
    avals = [aval_of(x) for x in operands]
    ranks = {aval.ndim for aval in avals}
    if len(ranks) > 1 or min(ranks) < 2 or any(aval.dtype in COMPLEX for aval in avals):
        _refuse(
            ", ".join([aval.str_short() for aval in avals]),
            "real operands and scales of one rank, 2 or more",
            "Insert axes of size 1, and multiply real and imaginary parts by themselves.",
        )
    rank = avals[0].ndim
    if dimension_numbers is None:
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    out = np.dtype(ml_dtypes.bfloat16)
    if preferred_element_type is not None:
        out = dtypes.requested(preferred_element_type, f"{_WHERE}, argument preferred_element_type")
    if out not in FLOATING:
        _refuse(
            f"preferred_element_type {out}",
            "a floating dtype",
            "Leave it out for bfloat16, or pass float32.",
        )
    contracting, _ = dimension_numbers
    return dot_general(
        _scaled(convert(lhs, out), lhs_scale, contracting[0], "lhs"),
        _scaled(convert(rhs, out), rhs_scale, contracting[1], "rhs"),
        dimension_numbers,
        preferred_element_type=out,
    )


def _scaled(x: Any, scale: Any, contracting: Any, name: str) -> Any:
    """`x` times its scale, each element of which is for a block along the contracting axes."""
    if scale is None:
        return x
    shape, given = aval_of(x).shape, aval_of(scale).shape
    blocks: list[int] = []
    for axis, (size, count) in enumerate(zip(shape, given, strict=True)):
        block = size // count if count else 1
        is_contracted = axis in [i % len(shape) for i in contracting]
        if block * count != size or (block < 2 if is_contracted and size else block != 1):
            _refuse(
                f"{name} of shape {shape} with {name}_scale of shape {given}",
                f"sizes that agree, but along the contracting axes {tuple(contracting)} of "
                f"{name} parts of at most half of them",
                f"Reshape {name}_scale so that it has one element for each block of {name}.",
            )
        blocks.append(block)
    split = [n for pair in zip(given, blocks, strict=True) for n in pair]
    kept = tuple(range(0, 2 * len(shape), 2))
    wide = convert(scale, aval_of(x).dtype)
    return mul(x, reshape(broadcast_in_dim(wide, tuple(split), kept), shape))


def _refuse(given: str, expected: str, fix: str) -> NoReturn:
    raise TypeError(message(_WHERE, given=given, expected=expected, fix=fix))
