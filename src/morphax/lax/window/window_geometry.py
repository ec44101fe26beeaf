"""Where windows lie: the geometry that window reductions and convolutions share.

Along one axis of n elements: `base_dilation` − 1 gaps go between neighbouring elements, ``padding``
(low, high) gaps around all; negative padding cuts elements off.  A window has k places,
`window_dilation` apart, and moves by `stride`.  A place in a gap counts as the identity of the
operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ...core.dims import max_dim
from ...engines import loops
from ...util.memo import memoize
from ...util.messages import message
from ...util.records import dataclass
from ..ground.axes import dilated, integer_pairs, integer_tuple, padded_places

Pads = tuple[tuple[int, int], ...]


@final
@dataclass(frozen=True, slots=True)
class AxisWindow:
    """The windows along one axis of an array with `length` elements."""

    axis: int
    length: int
    size: int
    stride: int
    low: int
    high: int
    base_dilation: int
    dilation: int

    @property
    def padded_length(self) -> int:
        """Elements and gaps."""
        return self.low + dilated(self.length, self.base_dilation) + self.high

    @property
    def count(self) -> int:
        """How many windows there are."""
        room = self.padded_length - dilated(self.size, self.dilation)
        return 0 if self.padded_length == 0 else max_dim(room // self.stride + 1, 0)

    @property
    def is_trivial(self) -> bool:
        """Whether each window is one element, in order."""
        geometry = (self.size, self.stride, self.low, self.high, self.base_dilation)
        return geometry == (1, 1, 0, 0, 1)

    @property
    def has_gaps(self) -> bool:
        """Whether a place may be no element."""
        return (self.low, self.high, self.base_dilation) != (0, 0, 1)

    def padding_config(self, rank: int) -> tuple[tuple[int, int, int], ...]:
        """The configuration of `pad` that makes the gaps explicit."""
        own = (self.low, self.high, self.base_dilation - 1)
        return tuple([own if i == self.axis else (0, 0, 0) for i in range(rank)])

    def sliding(self) -> loops.windows.Sliding:
        """The windows as loop programs have them."""
        config = self.low, self.high, self.base_dilation - 1
        padding = padded_places(self.length, config)
        return loops.windows.Sliding(self.count, self.size, self.stride, self.dilation, padding)

    def places(self, position: int) -> tuple[int, int, int]:
        """Start, stop and step in the padded axis of the place number `position` of all windows."""
        start = position * self.dilation
        return start, start + (self.count - 1) * self.stride + 1, self.stride


@final
@dataclass(frozen=True, slots=True)
class Window:
    """Windows over all axes, with parameters as JAX names them."""

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Pads
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    def along(self, shape: Sequence[int]) -> list[AxisWindow]:
        """The windows along each axis of an array of this shape."""
        return [
            AxisWindow(i, n, k, stride, low, high, base, dilation)
            for i, (n, k, stride, (low, high), base, dilation) in enumerate(
                zip(
                    shape,
                    self.window_dimensions,
                    self.window_strides,
                    self.padding,
                    self.base_dilation,
                    self.window_dilation,
                    strict=True,
                )
            )
        ]

    def moving(self, shape: Sequence[int]) -> list[AxisWindow]:
        """The axes along which windows do something, last axis first.

        A window is combined along its last axis first, so that of equal elements the one that comes
        first in row-major order is met first.
        """
        return [w for w in reversed(self.along(shape)) if not w.is_trivial]

    def out_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        return tuple([w.count for w in self.along(shape)])

    def inserted(self, axis: int) -> Window:
        """The same windows in an array with one more axis, along which nothing is combined."""

        def widened(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
            return (*values[:axis], value, *values[axis:])

        return Window(
            widened(self.window_dimensions, 1),
            widened(self.window_strides, 1),
            widened(self.padding, (0, 0)),
            widened(self.base_dilation, 1),
            widened(self.window_dilation, 1),
        )


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The padding that a name stands for.

    Args:
        in_shape: sizes of the axes.
        window_shape: sizes of the windows, after dilation.
        window_strides: their strides.
        padding: ``"VALID"`` for none; ``"SAME"`` for as much as makes ``ceil(size / stride)``
            windows, the odd one after the last element; ``"SAME_LOWER"`` with it before the first.

    Returns:
        Low and high padding for each axis.

    Raises:
        ValueError: if the name is not known.

    Example:
        >>> from morphax import lax
        >>> lax.padtype_to_pads((8,), (3,), (1,), "SAME")
        [(1, 1)]
    """
    return pads_by_name("lax.padtype_to_pads", in_shape, window_shape, window_strides, padding)


def pads_by_name(
    where: str,
    in_shape: Sequence[Any],
    window_shape: Sequence[Any],
    window_strides: Sequence[Any],
    padding: str,
) -> list[tuple[Any, Any]]:
    """`padtype_to_pads` for the function that the text `where` names."""
    kind = padding.upper() if isinstance(padding, str) else padding
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise ValueError(
            message(
                f"{where}, argument padding",
                given=f"{padding!r}",
                expected='"VALID", "SAME", "SAME_LOWER", or a pair of integers per axis',
                fix='Write padding="SAME", or give the pairs (low, high).',
            )
        )
    pads = []
    for n, k, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max_dim((-(-n // stride) - 1) * stride + k - n, 0)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if kind == "SAME" else (large, small))
    return pads


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of a window reduction: how many windows lie along each axis.

    Example:
        >>> from morphax import lax
        >>> lax.reduce_window_shape_tuple((8,), (2,), (2,), [(0, 0)])
        (4,)
    """
    rank = len(operand_shape)
    window = Window(
        tuple(window_dimensions),
        tuple(window_strides),
        tuple([(low, high) for low, high in padding]),
        _or_ones(base_dilation, rank),
        _or_ones(window_dilation, rank),
    )
    return window.out_shape(operand_shape)


def _or_ones(values: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    return (1,) * rank if values is None else integer_tuple("windows, strides or dilation", values)


@memoize
def canonical_window(
    where: str,
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> Window:
    """Windows from arguments as users give them.

    Raises:
        TypeError: if there is not one value per axis, or one is not positive.
        ValueError: if `padding` is an unknown name.
    """
    rank = len(shape)
    fields = {
        "window_dimensions": integer_tuple(f"{where}, window_dimensions", window_dimensions),
        "window_strides": _or_ones(window_strides, rank),
        "base_dilation": _or_ones(base_dilation, rank),
        "window_dilation": _or_ones(window_dilation, rank),
    }
    for name, values in fields.items():
        if len(values) != rank or not all([v > 0 for v in values]):
            raise TypeError(_window_message(where, name, values, shape))
    if isinstance(padding, str):
        dilated_shape = [
            dilated(k, d)
            for k, d in zip(fields["window_dimensions"], fields["window_dilation"], strict=True)
        ]
        # By name the padding is that of elements without gaps between them, as in JAX.
        pads = pads_by_name(where, shape, dilated_shape, fields["window_strides"], padding)
    else:
        pads = integer_pairs(f"{where}, argument padding", padding)
        if len(pads) != rank:
            raise TypeError(_window_message(where, "padding", pads, shape))
    return Window(padding=tuple(pads), **fields)


def _window_message(where: str, name: str, values: Sequence[Any], shape: Sequence[int]) -> str:
    return message(
        f"{where}, argument {name}",
        given=f"{tuple(values)} for an array of shape {tuple(shape)}",
        expected=f"{len(shape)} positive integers, one per axis"
        if name != "padding"
        else f"{len(shape)} pairs (low, high), one per axis",
        fix="Use 1 (for padding (0, 0)) for axes along which nothing is combined.",
    )
