"""Products of vectors, matrices and stacks of them.

The dtype of a product is the common dtype of its operands unless `preferred_element_type` says
otherwise.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.contraction.dot import DotDimensionNumbers, dot_general_p
from ..lax.contraction.precision import canonical_precision
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer
from ..util.memo import ResultTable, memoize
from ..util.messages import message
from .arithmetic import multiply
from .axes import canonical_axes
from .contraction import Contraction, Shape, plan_contraction
from .of_numpy import outer_of_numpy
from .operands import as_array, check_no_out, factors, of_one_dtype
from .partial_products import product_as
from .reductions import sum as sum_
from .selection import diagonal
from .shaping import moveaxis, ravel

_ROW, _COLUMN, _SUMMED = "row", "column", "summed"


def _element_type(name: str, preferred: Any, array: Any) -> Any:
    return array.aval.dtype if preferred is None else dtypes.requested(preferred, name)


@replayed(2)
def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Matrix product: Σₖ a[..., i, k] b[..., k, j], where leading axes broadcast.

    Args:
        a: array (k,) or (..., m, k).
        b: array (k,) or (..., k, n).
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sums and of the result.
        out_sharding: sharding of the result.

    Raises:
        ValueError: an operand has no axes.
        TypeError: sizes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
        Array([21, 43], dtype=int32)
    """
    if out_sharding is not None:
        options = {"precision": precision, "preferred_element_type": preferred_element_type}
        return product_as("jnp.matmul", out_sharding, partial(matmul, **options), a, b)
    left, right = factors("matmul", preferred_element_type, a, b)
    return _multiplied("matmul", left, right, precision, preferred_element_type)


def _multiplied(name: str, left: Any, right: Any, precision: Any, preferred: Any) -> Any:
    element_type = _element_type(name, preferred, left)
    if preferred is not None:
        left, right = convert(left, left.aval.dtype), convert(right, right.aval.dtype)
    level = canonical_precision(f"jnp.{name}", precision)
    plan = _matmul_plan(name, left.aval.shape, right.aval.shape)
    return plan(left, right, level, element_type)


@memoize
def _matmul_plan(name: str, left: Shape, right: Shape) -> Contraction:
    if not left or not right:
        raise ValueError(
            message(
                f"jnp.{name}",
                given=f"operands of shapes {left} and {right}",
                expected="at least one axis in both",
                fix="Use * to multiply with a scalar.",
            )
        )
    batch = max(len(left), len(right), 2) - 2
    left_names = (*range(-max(len(left) - 2, 0), 0), *((_ROW,) * (len(left) > 1)), _SUMMED)
    right_names = (*range(-max(len(right) - 2, 0), 0), _SUMMED, *((_COLUMN,) * (len(right) > 1)))
    out = [n for n in (*range(-batch, 0), _ROW, _COLUMN) if n in (*left_names, *right_names)]
    if left[-1] != right[right_names.index(_SUMMED)]:
        raise _sizes_error(name, left, right)
    return plan_contraction(name, (left_names, right_names), (left, right), tuple(out))


def _sizes_error(name: str, left: Any, right: Any) -> TypeError:
    return ShapeError(
        message(
            f"jnp.{name}",
            given=f"operands of shapes {left} and {right}",
            expected="equal sizes of the axes that are summed over",
            fix="Transpose an operand.",
        )
    )


def _along(
    name: str, a: Any, b: Any, axes: tuple[tuple[int, ...], tuple[int, ...]], options: Any
) -> Any:
    """The sums of products along pairs of axes; the other axes of `a`, then those of `b`."""
    precision, preferred = options
    if preferred is not None:
        a, b = convert(a, a.aval.dtype), convert(b, b.aval.dtype)
    level = canonical_precision("jnp." + name, precision)
    return dot_general_p.bind(
        a,
        b,
        dimension_numbers=_numbers_along[name, a.aval.shape, b.aval.shape, axes],
        precision=level,
        preferred_element_type=_element_type(name, preferred, a),
        out_sharding=None,
    )


def _dimension_numbers(name: str, left: Shape, right: Shape, axes: Any) -> DotDimensionNumbers:
    if [left[x] for x in axes[0]] != [right[y] for y in axes[1]]:
        raise _sizes_error(name, left, right)
    return axes, ((), ())


_numbers_along = ResultTable(_dimension_numbers)


@replayed(2)
def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Sums of products along the last axis of `a` and the last but one (or only) axis of `b`.

    Unlike `matmul`, it takes scalars, and combines each matrix of `a` with each of `b`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
        Array([3, 7], dtype=int32)
    """
    if out_sharding is not None:
        options = {"precision": precision, "preferred_element_type": preferred_element_type}
        return product_as("jnp.dot", out_sharding, partial(dot, **options), a, b)
    a, b = factors("dot", preferred_element_type, a, b)
    left, right = a.aval.ndim, b.aval.ndim
    axes: Any = ((left - 1,), (max(right - 2, 0),)) if left and right else ((), ())
    return _along("dot", a, b, axes, (precision, preferred_element_type))


@replayed(2)
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Σᵢ āᵢ bᵢ over all elements; complex `a` is conjugated.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 3]))
        Array(7.+0.j, dtype=complex64)
    """
    a, b = factors("vdot", preferred_element_type, a, b)
    options = precision, preferred_element_type
    return _along("vdot", ravel(_conjugate(a)), ravel(b), ((0,), (0,)), options)


def _conjugate(x: Any) -> Any:
    return lax.conj(x) if dtypes.issubdtype(x.aval.dtype, np.complexfloating) else x


@replayed(2)
def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Σᵢ x̄₁ᵢ x₂ᵢ along one axis, where the others broadcast.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
        Array([3, 7], dtype=int32)
    """
    x1, x2 = factors("vecdot", preferred_element_type, x1, x2)
    left, right = moveaxis(_conjugate(x1), axis, -1), moveaxis(x2, axis, -1)
    shapes = left.aval.shape, right.aval.shape
    if shapes[0][-1] != shapes[1][-1]:
        raise _sizes_error("vecdot", x1.aval.shape, x2.aval.shape)
    names: Any = tuple([(*range(1 - len(s), 0), _SUMMED) for s in shapes])
    out = tuple(range(1 - max(map(len, shapes)), 0))
    plan = plan_contraction("vecdot", names, shapes, out)
    level = canonical_precision("jnp.vecdot", precision)
    return plan(left, right, level, _element_type("vecdot", preferred_element_type, left))


def _check_axes(name: str, x1: Any, first: int, x2: Any, second: int) -> None:
    """Refuse operands with fewer axes than a product takes away."""
    if x1.aval.ndim < first or x2.aval.ndim < second:
        raise ShapeError(
            message(
                f"jnp.{name}",
                given=f"{x1.aval} and {x2.aval}",
                expected=f"at least {first} and {second} axes",
                fix="Use jnp.vecdot for the product of vectors.",
            )
        )


@replayed(2)
def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrix times vector: Σⱼ x₁[..., i, j] x₂[..., j], where leading axes broadcast.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 0]))
        Array([1, 3], dtype=int32)
    """
    x1, x2 = of_one_dtype("matvec", x1, x2)
    _check_axes("matvec", x1, 2, x2, 1)
    product = _multiplied("matvec", x1, lax.expand_dims(x2, (x2.aval.ndim,)), None, None)
    return lax.squeeze(product, (product.aval.ndim - 1,))


@replayed(2)
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Vector times matrix: Σᵢ x̄₁[..., i] x₂[..., i, j], where leading axes broadcast.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.vecmat(jnp.array([1, 0]), jnp.array([[1, 2], [3, 4]]))
        Array([1, 2], dtype=int32)
    """
    x1, x2 = of_one_dtype("vecmat", x1, x2)
    _check_axes("vecmat", x1, 1, x2, 2)
    row = lax.expand_dims(_conjugate(x1), (x1.aval.ndim - 1,))
    product = _multiplied("vecmat", row, x2, None, None)
    return lax.squeeze(product, (product.aval.ndim - 2,))


@replayed(2)
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products along the last axes of both; a plain product with a scalar.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.inner(jnp.array([1, 2]), jnp.array([[3, 4], [5, 6]]))
        Array([11, 17], dtype=int32)
    """
    a, b = factors("inner", preferred_element_type, a, b)
    left, right = a.aval.ndim, b.aval.ndim
    axes: Any = ((left - 1,), (right - 1,)) if left and right else ((), ())
    return _along("inner", a, b, axes, (precision, preferred_element_type))


@replayed(2, of_many=outer_of_numpy)
def outer(a: Any, b: Any, out: None = None) -> Any:
    """aᵢ bⱼ for all pairs of elements.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
        Array([[3, 4],
               [6, 8]], dtype=int32)
    """
    check_no_out("outer", out)
    a, b = of_one_dtype("outer", a, b)
    shape = (a.aval.size, b.aval.size)
    rows = lax.broadcast_in_dim(ravel(a), shape, (0,))
    return multiply(rows, lax.broadcast_in_dim(ravel(b), shape, (1,)))


def _axes_of_tensordot(axes: Any, left: int, right: int) -> tuple[Shape, Shape] | None:
    """The axes of either operand that go together; None if there are no such pairs."""
    if isinstance(axes, (tuple, list)) and len(axes) == 2:
        firsts = canonical_axes("tensordot", axes[0], left)
        seconds = canonical_axes("tensordot", axes[1], right)
        return (firsts, seconds) if len(firsts) == len(seconds) else None
    count = integer("jnp.tensordot, argument axes", axes)
    if count > min(left, right):
        return None
    return tuple(range(left - count, left)), tuple(range(count))


@replayed(2)
def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Sums of products along pairs of axes.

    Args:
        a, b: arrays.
        axes: how many of the last axes of `a` go with the first of `b`, or a pair: the axes of `a`
            and those of `b`.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sums and of the result.
        out_sharding: sharding of the result.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5))).shape
        (2, 5)
    """
    if out_sharding is not None:
        product = partial(
            tensordot,
            axes=axes,
            precision=precision,
            preferred_element_type=preferred_element_type,
        )
        return product_as("jnp.tensordot", out_sharding, product, a, b)
    a, b = factors("tensordot", preferred_element_type, a, b)
    pairs = _axes_of_tensordot(axes, a.aval.ndim, b.aval.ndim)
    if pairs is None:
        raise ShapeError(
            message(
                "jnp.tensordot, argument axes",
                given=f"{axes} for shapes {a.aval.shape} and {b.aval.shape}",
                expected="a number of axes that both have, or as many axes of one as of the other",
                fix="Pass for instance axes=([0, 1], [1, 0]).",
            )
        )
    return _along("tensordot", a, b, pairs, (precision, preferred_element_type))


@replayed(1)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """The sum of the diagonal of two axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
        Array(5, dtype=int32)
    """
    return sum_(diagonal(as_array("trace", a), offset, axis1, axis2), -1, dtype, out)
