"""Axis numbers and shapes as users write them, made canonical: plain integers, none negative.

Each function takes `where`, the function and argument that error text should name.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any, Final

from ...core.dims import Dim, Shape, SymbolicDim, dims, is_negative, max_dim
from ...errors import AxisError, InconclusiveDimensionOperation, JAXTypeError, ShapeError
from ...util.messages import described, message

# Sizes are 64-bit numbers in programs.
_TOO_LARGE: Final = 1 << 63


def integer(where: str, value: Any) -> int:
    """A number known while tracing as an int; `TypeError` unless it is an integer."""
    try:
        return index(value)
    except JAXTypeError as error:
        error.add_note(f"in {where}")
        raise
    except TypeError:
        raise TypeError(
            message(
                where,
                given=described(value),
                expected="an integer, known while tracing",
                fix="Pass a Python integer.",
            )
        ) from None


def counted(where: str, value: Any) -> int:
    """How many of something: `ValueError` if negative, `OverflowError` if no array has so many."""
    number = integer(where, value)
    if 0 <= number < _TOO_LARGE:
        return number
    kind = ValueError if number < 0 else OverflowError
    raise kind(
        message(
            where,
            given=f"{number}",
            expected="an integer that is not negative and below 2**63",
            fix="Compute the number anew: it says how many elements there are.",
        )
    )


def counted_or_symbolic(where: str, value: Any) -> Dim:
    """The same of what may be the symbolic size of an axis."""
    return value if type(value) is SymbolicDim else counted(where, value)


def integer_tuple(where: str, values: Any) -> tuple[int, ...]:
    """Integers known while tracing as a tuple; `TypeError` if there is anything else."""
    try:
        return tuple(map(index, (values,) if type(values) is bytes else values))
    except JAXTypeError as error:
        error.add_note(f"in {where}")
        raise
    except TypeError:
        raise TypeError(
            message(
                where,
                given=described(values),
                expected="a sequence of integers, known while tracing",
                fix="Pass a tuple of Python integers.",
            )
        ) from None


def size_tuple(where: str, values: Any) -> Shape:
    """Integers or symbolic sizes as a tuple; `TypeError` if there is anything else."""
    try:
        return tuple(map(index, values))
    except InconclusiveDimensionOperation:
        return dims(values)
    except TypeError:
        return integer_tuple(where, values)


def integer_or_size(where: str, value: Any) -> Dim:
    """An integer or a symbolic size; `TypeError` if it is anything else."""
    return value if type(value) is SymbolicDim else integer(where, value)


def dilated(length: Dim, dilation: int) -> Dim:
    """The length of an axis once its elements are `dilation` places apart."""
    return max_dim((length - 1) * dilation + 1, 0)


def padded_places(n: int, config: Any) -> tuple[slice, slice, int]:
    """Of padding along one axis: which elements are kept, where they go, and the new size."""
    low, high, interior = config
    step = interior + 1
    size = low + high + dilated(n, step)
    first = max(0, -(low // step))
    last = min(n, (size - 1 - low) // step + 1)
    start = low + first * step
    if last <= first:
        return slice(0, 0), slice(0, 0), size
    stop = low + (last - 1) * step + 1
    return slice(first, last), slice(start, stop, step), size


def integer_pairs(where: str, values: Any) -> list[tuple[Dim, Dim]]:
    """Pairs of integers or sizes known while tracing, as a list of tuples."""
    pairs = [size_tuple(where, pair) for pair in members(where, values, "pairs of integers")]
    if all([len(pair) == 2 for pair in pairs]):
        return pairs
    raise TypeError(
        message(
            where,
            given=f"{values!r:.80}",
            expected="pairs of integers",
            fix="Pass a sequence of pairs (low, high).",
        )
    )


def members(where: str, values: Any, what: str = "a sequence of arrays") -> list[Any]:
    """The members of a sequence as a list; `TypeError` if it is none."""
    if isinstance(values, Iterable) and not isinstance(values, str) and _has_members(values):
        return list(values)
    raise TypeError(
        message(
            where,
            given=described(values),
            expected=what,
            fix="Put the values in a list or tuple.",
        )
    )


def _has_members(values: Any) -> bool:
    """Whether it is more than the look of a sequence: arrays of rank 0 have that too."""
    return getattr(values, "ndim", 1) != 0


def check_callable(where: str, function: Any) -> None:
    """Raise `TypeError` unless `function` can be called."""
    if not callable(function):
        raise TypeError(
            message(
                where,
                given=described(function),
                expected="a callable",
                fix="Pass the function itself, not its result.",
            )
        )


def canonical_axis(where: str, axis: Any, ndim: int) -> int:
    """`axis` counted from the front; if there is no such axis, NumPy's error.

    That is a ValueError and an IndexError; JAX raises the one or the other.
    """
    number = integer(where, axis)
    if not -ndim <= number < ndim:
        raise AxisError(
            message(
                where,
                given=f"axis {number} of an array of rank {ndim}",
                expected=f"an axis in [{-ndim}, {ndim})" if ndim else "no axis: the rank is 0",
                fix="Count axes from 0 at the front, or from -1 at the end.",
            )
        )
    return number + ndim if number < 0 else number


def canonical_axes(where: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; `ValueError` if one is missing or named twice."""
    given = integer_tuple(where, axes)
    numbers = tuple([canonical_axis(where, axis, ndim) for axis in given])
    if len(set(numbers)) != len(numbers):
        raise ValueError(
            message(
                where,
                given=f"axes {given} of an array of rank {ndim}",
                expected="axes that all differ",
                fix="Name each axis once.",
            )
        )
    return numbers


def canonical_shape(where: str, shape: Any) -> Shape:
    """A shape as a tuple of sizes; one integer stands for a shape of rank 1."""
    # Bytes are a sequence of integers, and no shape.
    is_sequence = hasattr(shape, "__len__") and type(shape) is not bytes
    try:
        sizes = tuple(map(index, shape)) if is_sequence else (index(shape),)
    except InconclusiveDimensionOperation:
        return _symbolic_shape(where, shape if hasattr(shape, "__len__") else (shape,))
    except JAXTypeError:
        raise
    except TypeError:
        raise TypeError(_bad_shape(where, shape)) from None
    if sizes and (min(sizes) < 0 or max(sizes) >= _TOO_LARGE):
        kind = ShapeError if min(sizes) < 0 else OverflowError
        raise kind(_bad_shape(where, shape))
    return sizes


def _symbolic_shape(where: str, shape: Any) -> Shape:
    sizes = dims(shape)
    if any(map(is_negative, sizes)):
        raise ShapeError(_bad_shape(where, shape))
    return sizes


def integers(where: str, values: Any, count: int) -> Shape:
    """`count` integers or sizes, one per axis."""
    numbers = size_tuple(where, values)
    if len(numbers) != count:
        raise ShapeError(
            message(
                where,
                given=f"{len(numbers)} numbers, {numbers}",
                expected=f"{count}, one per axis of the operand",
                fix="Give one number for each axis.",
            )
        )
    return numbers


def _bad_shape(where: str, shape: Any) -> str:
    return message(
        where,
        given=f"{shape}",
        expected="a non-negative integer per axis, known while tracing",
        fix="Give the sizes as Python integers.",
    )
