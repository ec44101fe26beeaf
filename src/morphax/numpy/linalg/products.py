"""Products and powers of matrices, and functions of `jnp` that the array standard has here too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import lax
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.ground.axes import integer, members
from ...util.messages import message
from .. import products, selection, shaping, vector_products
from ..axes import canonical_axis
from ..matrices import eye
from ..operands import as_array
from ..shaping import broadcast_to
from .operands import check_matrices, check_square
from .systems import inv


@replayed(1)
def matrix_power(a: Any, n: int) -> Any:
    """The n-th power of square matrices, in O(log n) products.

    Args:
        a: matrices `(..., n, n)` of any numbers.
        n: integer; powers below 0 are those of the inverse.

    Raises:
        TypeError: if `n` is no integer.
        ShapeError: if the matrices are not square.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [1, 0]]), 10)
        Array([[89, 55],
               [55, 34]], dtype=int32)
    """
    a, exponent = (
        as_array("linalg.matrix_power", a),
        integer("jnp.linalg.matrix_power, argument n", n),
    )
    check_square("matrix_power", a)
    if exponent == 0:
        return broadcast_to(eye(a.aval.shape[-1], dtype=a.aval.dtype), a.aval.shape)
    if exponent < 0:
        a, exponent = inv(a), -exponent
    result = None
    while True:
        if exponent & 1:
            result = a if result is None else products.matmul(result, a)
        exponent >>= 1
        if not exponent:
            return result
        a = products.matmul(a, a)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of several matrices, in the order of fewest multiplications.

    Args:
        arrays: at least two matrices, of which the first and the last may be vectors.
        precision: how exactly an accelerator multiplies.

    Raises:
        ShapeError: if there are too few arrays, or they do not fit.

    Reference:
        T. H. Cormen et al., "Introduction to Algorithms", 3rd ed., 2009, §15.2.

    Example:
        >>> import morphax.numpy as jnp
        >>> x, y = jnp.ones((2, 100)), jnp.ones((100, 3))
        >>> jnp.linalg.multi_dot([x, y, jnp.array([1.0, 0.0, 0.0])])
        Array([100., 100.], dtype=float32)
    """
    factors = [as_array("linalg.multi_dot", x) for x in members("jnp.linalg.multi_dot", arrays)]
    ranks = [x.aval.ndim for x in factors]
    if len(factors) < 2 or not {ranks[0], ranks[-1]} <= {1, 2} or {*ranks[1:-1]} - {2}:
        raise _unfit(factors)
    first, last = factors[0], factors[-1]
    if ranks[0] == 1:
        factors[0] = lax.expand_dims(first, (0,))
    if ranks[-1] == 1:
        factors[-1] = lax.expand_dims(last, (1,))
    sizes = [factors[0].aval.shape[0], *[x.aval.shape[1] for x in factors]]
    if any([x.aval.shape[0] != n for x, n in zip(factors, sizes, strict=False)]):
        raise _unfit([first, *factors[1:-1], last])
    cuts = _best_cuts(sizes)

    def multiplied(start: int, stop: int) -> Any:
        """The product of the factors from `start` on, before `stop`."""
        if stop - start == 1:
            return factors[start]
        cut = cuts[start, stop]
        left, right = multiplied(start, cut), multiplied(cut, stop)
        return products.matmul(left, right, precision=precision)

    found = multiplied(0, len(factors))
    vectors = [axis for axis, rank in ((0, ranks[0]), (1, ranks[-1])) if rank == 1]
    return lax.squeeze(found, vectors) if vectors else found


def _unfit(arrays: Sequence[Any]) -> ShapeError:
    return ShapeError(
        message(
            "jnp.linalg.multi_dot",
            given=f"arrays of shapes {[x.aval.shape for x in arrays]}",
            expected="at least two matrices that fit; the first and the last may be vectors",
            fix="Stacks of matrices are multiplied with @.",
        )
    )


def _best_cuts(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to cut each run of factors, matrices of sizes[i] × sizes[i + 1], last to be joined."""
    count = len(sizes) - 1
    cost = {(i, i + 1): 0 for i in range(count)}
    cuts = {}
    for length in range(2, count + 1):
        for start in range(count - length + 1):
            stop = start + length
            cost[start, stop], cuts[start, stop] = min(
                [
                    (
                        cost[start, cut]
                        + cost[cut, stop]
                        + sizes[start] * sizes[cut] * sizes[stop],
                        cut,
                    )
                    for cut in range(start + 1, stop)
                ]
            )
    return cuts


def matmul(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """Matrix product, as `jnp.matmul`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
        Array([21, 43], dtype=int32)
    """
    return products.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Σᵢ x̄₁ᵢ x₂ᵢ along one axis, as `jnp.vecdot`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.vecdot(jnp.array([1, 2]), jnp.array([3, 4]))
        Array(11, dtype=int32)
    """
    return products.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Sums of products along pairs of axes, as `jnp.tensordot`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5))).shape
        (2, 5)
    """
    return products.tensordot(
        x1,
        x2,
        axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


@replayed(2)
def outer(x1: Any, x2: Any, /) -> Any:
    """The outer product x₁ᵢ x₂ⱼ of two vectors.

    Raises:
        ShapeError: if an operand is no vector.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
        Array([[3, 4],
               [6, 8]], dtype=int32)
    """
    x1, x2 = [as_array("linalg.outer", x) for x in (x1, x2)]
    if (x1.aval.ndim, x2.aval.ndim) != (1, 1):
        raise ShapeError(
            message(
                "jnp.linalg.outer",
                given=f"{x1.aval} and {x2.aval}",
                expected="two vectors",
                fix="jnp.outer takes the elements of arrays of any rank.",
            )
        )
    return products.outer(x1, x2)


@replayed(2)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector product of 3-vectors along an axis.

    Raises:
        ShapeError: if the vectors have not three components.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
        Array([0, 0, 1], dtype=int32)
    """
    x1, x2 = [as_array("linalg.cross", x) for x in (x1, x2)]
    sizes = [x.aval.shape[canonical_axis("linalg.cross", axis, x.aval.ndim)] for x in (x1, x2)]
    if sizes != [3, 3]:
        raise ShapeError(
            message(
                "jnp.linalg.cross",
                given=f"vectors of sizes {sizes[0]} and {sizes[1]}",
                expected="size 3",
                fix="Name the axis of the vectors with axis=; jnp.cross takes vectors of size 2.",
            )
        )
    return vector_products.cross(x1, x2, axis=axis)


@replayed(1)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonal of each matrix, `(..., k)`, or the one `offset` above it.

    Raises:
        ShapeError: if there are fewer than two axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.diagonal(jnp.arange(4).reshape(2, 2))
        Array([0, 3], dtype=int32)
    """
    x = as_array("linalg.diagonal", x)
    check_matrices("diagonal", x)
    return selection.diagonal(x, offset, -2, -1)


@replayed(1)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of the diagonal of each matrix, or of the one `offset` above it.

    Raises:
        ShapeError: if there are fewer than two axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.trace(jnp.arange(4).reshape(2, 2))
        Array(3, dtype=int32)
    """
    x = as_array("linalg.trace", x)
    check_matrices("trace", x)
    return products.trace(x, offset, -2, -1, dtype)


def matrix_transpose(x: Any, /) -> Any:
    """The transpose of each matrix, as `jnp.matrix_transpose`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.matrix_transpose(jnp.ones((5, 2, 3))).shape
        (5, 3, 2)
    """
    return shaping.matrix_transpose(x)
