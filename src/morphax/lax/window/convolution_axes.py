"""Which axis of a convolution is what, and which shapes follow.

A convolution has a batch axis N, a feature axis C and spatial axes on the left; output features O,
input features I and the same spatial axes on the right; and N, C and spatial axes in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.dims import max_dim, min_dim
from ...errors import ShapeError
from ...util.messages import message
from ..ground.axes import size_tuple
from .window_geometry import AxisWindow, pads_by_name


class ConvDimensionNumbers(NamedTuple):
    """Which axis of a convolution is what.

    Args:
        lhs_spec: the axes of the left operand: batch, features, then spatial ones.
        rhs_spec: the axes of the right operand: output features, input features, spatial ones.
        out_spec: the axes of the result: batch, features, spatial ones.

    Example:
        >>> from morphax import lax
        >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 16), ("NHWC", "HWIO", "NHWC"))
        ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]
_LETTERS = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_general_permutations(
    dimension_numbers: Sequence[str],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The three specifications that three strings stand for.

    Args:
        dimension_numbers: strings such as ``("NHWC", "HWIO", "NHWC")``; letters other than these of
            batch and features name spatial axes.

    Raises:
        TypeError: if letters repeat, are missing, or differ between the strings.

    Example:
        >>> import morphax as jax
        >>> jax.lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
        ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    spatial = [c for c in dimension_numbers[1] if c not in _LETTERS[1]]
    permutations = []
    for position, (text, letters) in enumerate(zip(dimension_numbers, _LETTERS, strict=True)):
        wanted = [*letters, *spatial]
        if len(set(text)) != len(text) or sorted(text) != sorted(wanted):
            raise ShapeError(
                message(
                    f"convolution, dimension_numbers[{position}]",
                    given=f"{text!r} in {tuple(dimension_numbers)}",
                    expected=f"{letters[0]} and {letters[1]} once each, and the spatial letters of "
                    "dimension_numbers[1]",
                    fix='Write for instance ("NHWC", "HWIO", "NHWC").',
                )
            )
        permutations.append(tuple([text.index(c) for c in wanted]))
    lhs, rhs, out = permutations
    return lhs, rhs, out


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Dimension numbers in their explicit form.

    Args:
        lhs_shape: shape of the left operand.
        rhs_shape: shape of the right operand.
        dimension_numbers: `None` for batch (or output features), features, spatial axes in this
            order; or three strings, see `conv_general_permutations`; or the explicit form itself.

    Raises:
        TypeError: if ranks differ, or the numbers do not fit them.

    Example:
        >>> import morphax as jax
        >>> jax.lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
        ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    where = "lax.conv_dimension_numbers"
    rank = len(size_tuple(f"{where}, argument lhs_shape", lhs_shape))
    rhs_shape = size_tuple(f"{where}, argument rhs_shape", rhs_shape)
    if len(rhs_shape) != rank:
        raise ShapeError(
            message(
                "convolution",
                given=f"operands of shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}",
                expected="operands of one rank",
                fix="Give both operands as many spatial axes.",
            )
        )
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*map(tuple, dimension_numbers))
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    is_text = isinstance(dimension_numbers, (tuple, list)) and all(
        [isinstance(spec, str) and len(spec) == rank for spec in dimension_numbers]
    )
    if not is_text or len(dimension_numbers) != 3:
        raise ShapeError(
            message(
                "convolution, argument dimension_numbers",
                given=f"{dimension_numbers!r} for operands of rank {rank}",
                expected=f"None, three strings of {rank} letters, or ConvDimensionNumbers",
                fix='Write for instance ("NHWC", "HWIO", "NHWC").',
            )
        )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def spatial_windows(
    lhs_sizes: Sequence[int],
    rhs_sizes: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
) -> list[AxisWindow]:
    """The windows of a convolution along its spatial axes, numbered from 2 as in (N, C, …)."""
    return [
        AxisWindow(axis, n, k, stride, low, high, base, dilation)
        for axis, (n, k, stride, (low, high), base, dilation) in enumerate(
            zip(lhs_sizes, rhs_sizes, strides, pads, lhs_dilation, rhs_dilation, strict=True),
            start=2,
        )
    ]


def windows_of(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers,
    **_: Any,
) -> list[AxisWindow]:
    """The windows of a convolution of arrays with these shapes, along its spatial axes."""
    return spatial_windows(
        arranged(lhs_shape, dimension_numbers.lhs_spec)[2:],
        arranged(rhs_shape, dimension_numbers.rhs_spec)[2:],
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
    )


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape (N, O, …) of a convolution of operands (N, C, …) and (O, I, …).

    Example:
        >>> from morphax import lax
        >>> lax.conv_shape_tuple((1, 3, 8, 8), (16, 3, 3, 3), (1, 1), "VALID")
        (1, 16, 6, 6)
    """
    if isinstance(pads, str):
        pads = pads_by_name("lax.conv_shape_tuple", lhs_shape[2:], rhs_shape[2:], strides, pads)
    ones = (1,) * len(strides)
    windows = spatial_windows(lhs_shape[2:], rhs_shape[2:], strides, pads, ones, ones)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *[w.count for w in windows])


def arranged(shape: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    """The sizes of a shape in the order of a specification."""
    return tuple([shape[i] for i in spec])


def placed(sizes: Sequence[Any], spec: Sequence[int]) -> tuple[Any, ...]:
    """The shape in which ``sizes[i]`` is the size of axis ``spec[i]``."""
    shape: list[Any] = [0] * len(spec)
    for axis, size in zip(spec, sizes, strict=True):
        shape[axis] = size
    return tuple(shape)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a convolution with axes named by strings.

    Example:
        >>> from morphax import lax
        >>> axes = ("NHWC", "HWIO", "NHWC")
        >>> lax.conv_general_shape_tuple((1, 8, 8, 3), (3, 3, 3, 16), (2, 2), "SAME", axes)
        (1, 4, 4, 16)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    sizes = conv_shape_tuple(
        arranged(lhs_shape, lhs), arranged(rhs_shape, rhs), window_strides, padding
    )
    return placed(sizes, out)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a transposed convolution with axes named by strings.

    Example:
        >>> from morphax import lax
        >>> axes = ("NHWC", "HWIO", "NHWC")
        >>> lax.conv_transpose_shape_tuple((1, 8, 8, 3), (3, 3, 3, 16), (2, 2), "SAME", axes)
        (1, 16, 16, 16)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    lhs_sizes, rhs_sizes = arranged(lhs_shape, lhs), arranged(rhs_shape, rhs)
    if isinstance(padding, str):
        padding = [
            transposed_padding(k, stride, padding)
            for k, stride in zip(rhs_sizes[2:], window_strides, strict=True)
        ]
    ones = (1,) * len(window_strides)
    windows = spatial_windows(lhs_sizes[2:], rhs_sizes[2:], ones, padding, window_strides, ones)
    return placed((lhs_sizes[0], rhs_sizes[0], *[w.count for w in windows]), out)


def transposed_padding(reach: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding of a transposed convolution along one axis.

    Args:
        reach: size of the kernel, after dilation.
        stride: of the convolution that is transposed.
        padding: its padding: ``"SAME"`` makes ``size * stride`` results; ``"VALID"`` all that the
            kernel touches, at least ``size * stride``.

    Raises:
        ValueError: if `padding` is another name.
    """
    kind = padding.upper()
    if kind == "SAME":
        total = reach + stride - 2
        low = min_dim(reach - 1, -(-total // 2))
    elif kind == "VALID":
        total = reach + stride - 2 + max_dim(reach - stride, 0)
        low = reach - 1
    else:
        raise ValueError(
            message(
                "transposed convolution, argument padding",
                given=f"{padding!r}",
                expected='"SAME", "VALID", or a pair of integers per spatial axis',
                fix='Write padding="SAME", or give the pairs (low, high).',
            )
        )
    return low, total - low
