"""Ranges with other spacings than `linspace`, and the coordinates of grids."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import check_callable, integer
from ..lax.ground.narrow import COMPUTED_IN
from ..transforms.vmap import vmap
from ..util.messages import described, message
from .arithmetic import multiply, power, true_divide
from .axes import canonical_size
from .creation import array
from .operands import as_array, inexact_type
from .progressions import linspace
from .searching import nonzero
from .selection import where
from .shaping import moveaxis, ravel, reshape


@replayed(2)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`base` to the powers that `linspace` gives for the same arguments.

    Args:
        start, stop, num, endpoint, dtype, axis: as for `linspace`, of the exponents.
        base: the number whose powers they are.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.logspace(0, 2, 3)
        Array([  1.,  10., 100.], dtype=float32)
    """
    result = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else convert(result, dtypes.requested(dtype, "logspace"))


@replayed(2)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    Args:
        start, stop: ends of equal sign, not 0, or complex; what is between others is NaN.
        num: how many numbers.
        endpoint: whether `stop` is the last of them.
        dtype: of the result; floating without it.
        axis: where the new axis goes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.geomspace(1.0, 8.0, 4).round(4)
        Array([1., 2., 4., 8.], dtype=float32)
    """
    low, high = as_array("geomspace", start), as_array("geomspace", stop)
    common, _ = inexact_type("geomspace", low, high)
    target = common if dtype is None else dtypes.requested(dtype, "geomspace")
    fractions = linspace(0, 1, num, endpoint)
    # No narrower than the fractions, which a short significand would round.
    wide = np.promote_types(COMPUTED_IN.get(common, common), fractions.dtype)
    low, high = convert(low, wide), convert(high, wide)
    ratio, is_lost = true_divide(high, low), None
    if not dtypes.issubdtype(wide, np.complexfloating):
        is_lost = _is_lost(ratio, wide)
        ratio = true_divide(where(is_lost, 1, high), where(is_lost, 1, low))
    shape = (index(num),) + (1,) * aval_of(ratio).ndim
    fractions = lax.reshape(convert(fractions, wide), shape)
    result = multiply(low, power(ratio, fractions))
    if is_lost is not None:
        result = where(is_lost, _between_far_ends(low, high, fractions), result)
    # The ends exactly, whatever the power gives.
    result = where(fractions == 0, low, where(fractions == 1, high, result))
    if dtypes.issubdtype(target, np.integer):
        result = lax.real(result) if dtypes.issubdtype(wide, np.complexfloating) else result
        result = lax.round(result, lax.RoundingMethod.TO_NEAREST_EVEN)
    return convert(moveaxis(result, 0, axis), target)


def _is_lost(ratio: Any, dtype: Any) -> Any:
    """Whether the quotient of two numbers is beyond the range of the dtype."""
    limits, size = dtypes.finfo(dtype), lax.abs(ratio)
    return (size < float(limits.tiny)) | (size > float(limits.max))


def _between_far_ends(low: Any, high: Any, fractions: Any) -> Any:
    """A product of powers of the ends, whose quotient is beyond the range; NaN if signs differ."""
    sign = where(low * lax.sign(high) > 0, lax.sign(low), np.nan)
    powers = power(lax.abs(low), 1 - fractions) * power(lax.abs(high), fractions)
    return sign * powers


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The coordinates of all elements of an array of shape `dimensions`.

    Args:
        dimensions: sizes of the axes.
        dtype: of the result.
        sparse: return a tuple of arrays that broadcast together instead of one array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.indices((2, 2))[0]
        Array([[0, 0],
               [1, 1]], dtype=int32)
    """
    shape = canonical_size("indices", dimensions)
    target = dtypes.requested(int if dtype is None else dtype, "indices")
    if sparse:
        shapes = [
            tuple([n if i == j else 1 for j, n in enumerate(shape)]) for i in range(len(shape))
        ]
        return tuple([lax.broadcasted_iota(target, s, i) for i, s in enumerate(shapes)])
    if not shape:
        return lax.full((0,), 0, target)
    return lax.stack([lax.broadcasted_iota(target, shape, i) for i in range(len(shape))], 0)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """The array whose element at (i, j, …) is ``function(i, j, …, **kwargs)``.

    Args:
        function: of scalars; it is mapped over the axes.
        shape: of the array; a result with axes adds these.
        dtype: of the coordinates.
        **kwargs: further arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
        Array([[ 0,  1,  2],
               [10, 11, 12]], dtype=int32)
    """
    check_callable("jnp.fromfunction, argument function", function)
    sizes = canonical_size("fromfunction", shape)
    target = dtypes.requested(dtype, "fromfunction")

    def mapped(*places: Any) -> Any:
        return function(*places, **kwargs)

    for axis in reversed(range(len(sizes))):
        in_axes = tuple([0 if i == axis else None for i in range(len(sizes))])
        mapped = vmap(mapped, in_axes=in_axes)
    return mapped(*[lax.iota(target, n) for n in sizes])


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors of indices, shaped to index their product together; masks count as indices.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arange(9).reshape(3, 3)[jnp.ix_(jnp.array([0, 2]), jnp.array([1]))]
        Array([[1],
               [7]], dtype=int32)
    """
    vectors = []
    for i, arg in enumerate(args):
        vector = as_array("ix_", arg)
        if vector.aval.ndim != 1:
            raise ShapeError(
                message(
                    "jnp.ix_",
                    given=f"{vector.aval}",
                    expected="vectors",
                    fix="Use jnp.ravel first.",
                )
            )
        if vector.aval.dtype == np.bool_:
            (vector,) = nonzero(vector)
        if not vector.aval.size:
            # What has no elements indexes, whatever its dtype is.
            vector = convert(vector, dtypes.canonicalize_dtype(np.intp))
        shape = [vector.aval.shape[0] if j == i else 1 for j in range(len(args))]
        vectors.append(lax.reshape(vector, shape))
    return tuple(vectors)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """The contents of a bytes-like object as a vector.

    Args:
        buffer: the object.
        dtype: how the bytes are to be read: ``float`` and ``int`` are of 64 bits here, as in NumPy.
            The result has 32 bits where 64-bit types are off.
        count: how many elements to read; -1 for all.
        offset: how many bytes to skip.

    Returns:
        Array (n,).

    Raises:
        TypeError: if `buffer` is not bytes-like.
        ValueError: if it does not hold so many whole elements.

    Example:
        >>> import numpy as np
        >>> import morphax.numpy as jnp
        >>> jnp.frombuffer(np.arange(3.0))
        Array([0., 1., 2.], dtype=float32)
    """
    stored = dtypes.dtype(float if dtype is None else dtype)
    try:
        buffer = memoryview(buffer)
    except TypeError:
        raise TypeError(
            message(
                "jnp.frombuffer, argument buffer",
                given=described(buffer),
                expected="a bytes-like object",
                fix="Pass bytes, or use jnp.asarray.",
            )
        ) from None
    numbers = [integer("jnp.frombuffer, arguments count and offset", n) for n in (count, offset)]
    try:
        elements = np.frombuffer(buffer, stored, *numbers)
        # A byte other than 0 and 1 is no bool that kernels understand.
        return array(elements.view(np.uint8) != 0 if stored == np.dtype(bool) else elements)
    except (ValueError, OverflowError) as error:
        raise type(error)(
            message(
                "jnp.frombuffer",
                given=f"{buffer.nbytes} bytes, dtype={stored}, count={count}, offset={offset}",
                expected="a buffer that holds so many whole elements behind the offset",
                fix="Pass count=-1 for all, and cut the buffer to whole elements.",
            )
        ) from None


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """The coordinates of all points of a grid, from the coordinates along each axis.

    Args:
        xi: for each axis its coordinates, an array of any shape, taken in order.
        copy: no effect, since arrays do not change.
        sparse: keep size 1 along the axes on which a coordinate does not depend.
        indexing: ``"xy"``: the first coordinate runs along columns, the second along rows;
            ``"ij"``: coordinate i runs along axis i.

    Raises:
        ValueError: if `indexing` is neither.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.meshgrid(jnp.arange(2), jnp.arange(3), indexing="ij")[1]
        Array([[0, 1, 2],
               [0, 1, 2]], dtype=int32)
    """
    if not (isinstance(indexing, str) and indexing in ("xy", "ij")):
        raise ValueError(
            message(
                "jnp.meshgrid, argument indexing",
                given=f"{indexing!r}",
                expected="'xy' or 'ij'",
                fix="Pass 'ij' for matrices, 'xy' for pictures.",
            )
        )
    vectors = [ravel(as_array("meshgrid", x)) for x in xi]
    # Axis of each vector: with "xy" the first one runs along columns.
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    shape = [vectors[i].aval.size for i in places]
    if sparse:
        shapes = [[n if i == p else 1 for i, n in enumerate(shape)] for p in places]
        return [reshape(v, s) for v, s in zip(vectors, shapes, strict=True)]
    return [lax.broadcast_in_dim(v, shape, (p,)) for v, p in zip(vectors, places, strict=True)]
