"""The vector product in space, and Kronecker's product of matrices."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..core import aval_of
from ..core.dims import Shape
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..util.messages import message
from .arithmetic import multiply
from .axes import canonical_axis
from .operands import of_one_dtype
from .shaping import moveaxis, reshape


@replayed(2)
def kron(a: Any, b: Any) -> Any:
    """Kronecker product: blocks of `b`, each times an element of `a`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2, 3]))
        Array([ 1,  2,  3, 10, 20, 30], dtype=int32)
    """
    a, b = of_one_dtype("kron", a, b)
    rank = max(a.aval.ndim, b.aval.ndim)
    left, right = ((1,) * (rank - x.aval.ndim) + x.aval.shape for x in (a, b))
    pairs = tuple([n for pair in zip(left, right, strict=True) for n in pair])
    wide = lax.broadcast_in_dim(reshape(a, left), pairs, tuple(range(0, 2 * rank, 2)))
    deep = lax.broadcast_in_dim(reshape(b, right), pairs, tuple(range(1, 2 * rank, 2)))
    return reshape(multiply(wide, deep), tuple([m * n for m, n in zip(left, right, strict=True)]))


@replayed(2)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Vector product of 3-vectors along an axis; 2-vectors lie in the plane z = 0.

    Args:
        a, b: arrays whose other axes broadcast.
        axisa, axisb: where their vectors are.
        axisc: where those of the result are; two 2-vectors have the scalar z as product.
        axis: stands for all three.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
        Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = [convert(x, x.aval.dtype) for x in of_one_dtype("cross", a, b)]
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    sizes = a.aval.shape[-1], b.aval.shape[-1]
    if not {2, 3}.issuperset(sizes):
        raise ValueError(
            message(
                "jnp.cross",
                given=f"vectors of sizes {sizes[0]} and {sizes[1]}",
                expected="size 2 or 3",
                fix="Name the vectors' axes with axisa and axisb.",
            )
        )
    shape = lax.broadcast_shapes(a.aval.shape[:-1], b.aval.shape[:-1])
    (a1, a2, a3), (b1, b2, b3) = _components(a, shape), _components(b, shape)
    z = lax.sub(lax.mul(a1, b2), lax.mul(a2, b1))
    if sizes == (2, 2):
        return z
    x = lax.sub(lax.mul(a2, b3), lax.mul(a3, b2))
    y = lax.sub(lax.mul(a3, b1), lax.mul(a1, b3))
    # XLA makes a loop of each part that it puts behind others on the first axis; on the last one,
    # it asks for each element which part it is of.
    parts = lax.stack([x, y, z], 0)
    return moveaxis(parts, 0, canonical_axis("cross", axisc, aval_of(parts).ndim))


def _components(vectors: Any, shape: Shape) -> list[Any]:
    """The three components of vectors along the last axis, broadcast to `shape`."""
    parts = []
    for i in range(vectors.aval.shape[-1]):
        part = lax.index_in_dim(vectors, i, -1, keepdims=False)
        first = len(shape) - aval_of(part).ndim
        parts.append(lax.broadcast_in_dim(part, shape, tuple(range(first, len(shape)))))
    return parts if len(parts) == 3 else [*parts, lax.full_like(parts[0], 0)]
