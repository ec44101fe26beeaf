"""Changing shapes: reshape, transpose, broadcast, add and drop axes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import ShapeDtypeStruct, aval_of
from ..core.dims import Dim, Shape
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert_as_asked
from ..lax.ground.axes import integer, members, size_tuple
from ..lax.ground.placing import device_put
from ..lax.shape.resharding import split_as
from ..util.messages import message
from .axes import canonical_axes, canonical_axis, canonical_size, listed
from .operands import as_array
from .repetition import repeated_alike


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes of `a`; those that NumPy tells, with a warning, of what is no array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.shape(jnp.ones((2, 3)))
        (2, 3)
    """
    if type(a) is ShapeDtypeStruct:
        return a.shape
    try:
        return as_array("shape", a).aval.shape
    except TypeError as error:
        found = np.shape(a)
        text = f"shape, ndim and size are for arrays and numbers: {error}"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return found


def ndim(a: Any) -> int:
    """The number of axes of `a`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ndim(jnp.ones((2, 3)))
        2
    """
    return len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of `a`, or its size along axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.size(jnp.ones((2, 3)), axis=1)
        3
    """
    sizes = shape(a)
    return math.prod([sizes[i] for i in canonical_axes("size", axis, len(sizes))])


def reshape(
    a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None
) -> Any:
    """The elements of `a` in another shape.

    Args:
        a: array.
        shape: sizes of the new axes; one may be −1: it is worked out.
        order: ``"C"`` reads the last axis fastest, ``"F"`` the first.
        copy, out_sharding: accepted for compatibility.

    Raises:
        TypeError: the number of elements differs.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.reshape(jnp.arange(6), (2, -1))
        Array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        shaped = partial(reshape, shape=shape, order=order, copy=copy)
        return split_as("jnp.reshape", out_sharding, shaped, a)
    a = as_array("reshape", a)
    sizes = _worked_out(a.aval, shape)
    if order == "C":
        return a if sizes == a.aval.shape else lax.reshape(a, sizes)
    if order != "F":
        raise ValueError(
            message(
                "jnp.reshape, argument order",
                given=f"{order!r}",
                expected="'C' or 'F'",
                fix="Leave out order.",
            )
        )
    reversed_result = lax.reshape(_reversed_axes(a), sizes[::-1])
    return _reversed_axes(reversed_result)


_AXES = "jnp.transpose, argument axes"


def _reversed_axes(a: Any) -> Any:
    return lax.transpose(a, tuple(range(aval_of(a).ndim))[::-1])


def _worked_out(aval: Any, shape: Any) -> Shape:
    sizes = size_tuple("jnp.reshape, argument shape", shape if np.iterable(shape) else (shape,))
    known = math.prod([n for n in sizes if n != -1])
    if sizes.count(-1) == 1 and known and aval.size % known == 0:
        sizes = tuple([aval.size // known if n == -1 else n for n in sizes])
    if math.prod(sizes) != aval.size or any(n < 0 for n in sizes):
        raise ShapeError(
            message(
                "jnp.reshape, argument shape",
                given=f"{sizes} for {aval} with {aval.size} elements",
                expected="sizes whose product is the number of elements, one of them perhaps -1",
                fix=_fix_of_sizes(sizes, aval.size),
            )
        )
    return sizes


def _fix_of_sizes(sizes: Shape, elements: Dim) -> str:
    if sizes.count(-1) > 1:
        return "Leave one size open: write -1 once."
    if -1 in sizes:
        others = math.prod([n for n in sizes if n != -1])
        return f"{elements} elements are no multiple of the {others} that the other sizes make."
    return f"These sizes make {math.prod(sizes)} elements; write -1 for one to have it worked out."


@replayed(1)
def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements of `a` along one axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]), order="F")
        Array([1, 3, 2, 4], dtype=int32)
    """
    if out_sharding is not None:
        return split_as("jnp.ravel", out_sharding, partial(ravel, order=order), a)
    a = as_array("ravel", a)
    return reshape(a, -1 if math.prod(a.aval.shape) else (0,), order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """`a` with its axes permuted, reversed without `axes`.

    Args:
        a: array.
        axes: which axis of `a` each axis of the result is.

    Raises:
        ValueError: `axes` does not name each axis once.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.transpose(jnp.ones((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    a = as_array("transpose", a)
    if axes is None:
        return _reversed_axes(a) if a.aval.ndim > 1 else a
    places = canonical_axes("transpose", tuple(members(_AXES, axes)), a.aval.ndim)
    try:
        return lax.transpose(a, places)
    except ShapeError as error:
        raise ShapeError(
            message(
                _AXES,
                given=f"{tuple(axes)} for {a.aval}",
                expected=f"each of its {a.aval.ndim} axes once",
                fix="Name all axes, or none to reverse them; jnp.moveaxis moves some of them.",
            )
        ) from error


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """`x` with its last two axes exchanged.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.matrix_transpose(jnp.ones((5, 2, 3))).shape
        (5, 3, 2)
    """
    x = as_array("matrix_transpose", x)
    if x.aval.ndim < 2:
        raise ValueError(
            message(
                "jnp.matrix_transpose",
                given=f"{x.aval}",
                expected="at least two axes",
                fix="Add an axis with x[None].",
            )
        )
    return swapaxes(x, -1, -2)


@replayed(1)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`a` with two axes exchanged.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
    """
    a = as_array("swapaxes", a)
    order = list(range(a.aval.ndim))
    i, j = (canonical_axis("swapaxes", x, len(order)) for x in (axis1, axis2))
    order[i], order[j] = order[j], order[i]
    return lax.transpose(a, order)


@replayed(1)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`a` with axes moved to other places; the others keep their order.

    Args:
        a: array.
        source, destination: axes, and their places in the result.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    a = as_array("moveaxis", a)
    rank = a.aval.ndim
    sources, targets = (canonical_axes("moveaxis", x, rank) for x in (source, destination))
    if len(sources) != len(targets):
        raise ShapeError(
            message(
                "jnp.moveaxis",
                given=f"source {source} and destination {destination}",
                expected="as many places as axes",
                fix="Give one destination per source.",
            )
        )
    order = [i for i in range(rank) if i not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return a if order == list(range(rank)) else lax.transpose(a, order)


@replayed(1)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`a` with `axis` moved before the axis `start`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
        (4, 2, 3)
    """
    a = as_array("rollaxis", a)
    rank = a.aval.ndim
    axis = canonical_axis("rollaxis", axis, rank)
    start = integer("jnp.rollaxis, argument start", start)
    if not -rank <= start <= rank:
        raise ValueError(
            message(
                "jnp.rollaxis, argument start",
                given=f"{start} for an array with {rank} axes",
                expected=f"a place from {-rank} to {rank}",
                fix="Name the axis in front of which the other shall stand.",
            )
        )
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """`a` with axes of size 1 at places `axis` of the result.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.expand_dims(jnp.ones((2, 3)), (0, -1)).shape
        (1, 2, 3, 1)
    """
    a = as_array("expand_dims", a)
    axes = listed(axis)
    return lax.expand_dims(a, canonical_axes("expand_dims", axes, a.aval.ndim + len(axes)))


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """`a` without axes of size 1: those named, or all.

    Raises:
        ValueError: the size of an axis that is named is not 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.squeeze(jnp.ones((1, 3, 1))).shape
        (3,)
    """
    a = as_array("squeeze", a)
    if axis is None:
        dropped = tuple([i for i, n in enumerate(a.aval.shape) if n == 1])
    else:
        dropped = canonical_axes("squeeze", axis, a.aval.ndim)
    try:
        return lax.squeeze(a, dropped) if dropped else a
    except ValueError as error:
        raise ValueError(
            message(
                "jnp.squeeze, argument axis",
                given=f"{axis} for {a.aval}",
                expected="axes of size 1",
                fix="Take one element of a longer axis by its index, x[0], or reduce it.",
            )
        ) from error


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """`array` repeated to `shape`.

    Raises:
        ValueError: the array has a size that is neither 1 nor that of the shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    if out_sharding is not None:
        wide = partial(broadcast_to, shape=shape)
        return split_as("jnp.broadcast_to", out_sharding, wide, array)
    array = as_array("broadcast_to", array)
    sizes, given = canonical_size("broadcast_to", shape), array.aval.shape
    first = len(sizes) - len(given)
    if first < 0 or any(n not in (1, m) for n, m in zip(given, sizes[first:], strict=False)):
        raise ShapeError(
            message(
                "jnp.broadcast_to, argument shape",
                given=f"{sizes} for {array.aval}",
                expected="a shape that ends in the array's sizes, but where these are 1",
                fix="Reshape the array first.",
            )
        )
    if given == sizes:
        return array
    return lax.broadcast_in_dim(array, sizes, tuple(range(first, len(sizes))))


def broadcast_arrays(*args: Any) -> list[Any]:
    """All arrays repeated to their common shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> a, b = jnp.broadcast_arrays(jnp.ones((2, 1)), jnp.ones(3))
        >>> a.shape, b.shape
        ((2, 3), (2, 3))
    """
    arrays = [as_array("broadcast_arrays", a) for a in args]
    common = lax.broadcast_shapes(*[a.aval.shape for a in arrays])
    return repeated_alike([broadcast_to(a, common) for a in arrays], [a.aval for a in arrays])


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """`x` converted to `dtype`; complex numbers lose their imaginary part, but not as booleans.

    That they lose it is a `ComplexWarning`: take ``x.real`` before.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.astype(jnp.array([1.9, -1.9]), int)
        Array([ 1, -1], dtype=int32)
    """
    x = as_array("astype", x)
    target = dtypes.requested(float if dtype is None else dtype, "astype")
    if target == np.bool_ and dtypes.issubdtype(x.aval.dtype, np.complexfloating):
        x = lax.ne(x, 0)
    converted = convert_as_asked("jnp.astype", x, target)
    return converted if device is None else device_put(converted, device)
