"""Layers that slide windows over images: convolutions and pooling."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import lax, random
from .. import numpy as jnp
from ..nn.initializers import glorot_normal, normal
from ._layers import Initializer, Layer, Shape, stateless

_TINY = normal(1e-6)


def _convolution(
    convolve: Callable[..., Any],
    shape_tuple: Callable[..., Shape],
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    W_init: Initializer | None,
    b_init: Initializer,
) -> Layer:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    steps = tuple(strides or (1,) * len(filter_shape))
    init_weights = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel = tuple([channels[c] if c in channels else next(sizes) for c in rhs_spec])
        bias = tuple([out_chan if c == "C" else 1 for c in out_spec])
        output = shape_tuple(input_shape, kernel, steps, padding, dimension_numbers)
        weights_rng, bias_rng = random.split(rng)
        return output, (init_weights(weights_rng, kernel), b_init(bias_rng, bias))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        numbers = tuple(dimension_numbers)
        return convolve(inputs, weights, steps, padding, dimension_numbers=numbers) + bias

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _TINY,
) -> Layer:
    """A convolution with axes in any order.

    Args:
        dimension_numbers: axes of inputs, filters and outputs: ``("NHWC", "HWIO", "NHWC")``.
        out_chan: number of filters.
        filter_shape: sizes of the filters along the spatial axes.
        strides: steps of the filters, 1 by default.
        padding: ``"VALID"``, ``"SAME"``, or pairs, as in `lax.conv_general_dilated`.
        W_init: makes the filters; Glorot's rule by default.
        b_init: makes the biases.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.GeneralConv(("NHWC", "HWIO", "NHWC"), 16, (3, 3), padding="SAME")
        >>> shape, (w, b) = init(jax.random.key(0), (1, 8, 8, 3))
        >>> shape, w.shape, b.shape
        ((1, 8, 8, 16), (3, 3, 3, 16), (1, 1, 1, 16))
    """
    return _convolution(
        lax.conv_general_dilated,
        lax.conv_general_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _TINY,
) -> Layer:
    """A transposed convolution, which `strides` make larger; the arguments are `GeneralConv`'s.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> dims = ("NHWC", "HWIO", "NHWC")
        >>> init, apply = stax.GeneralConvTranspose(dims, 16, (3, 3), (2, 2), padding="SAME")
        >>> init(jax.random.key(0), (1, 8, 8, 3))[0]
        (1, 16, 16, 16)
    """
    return _convolution(
        lax.conv_transpose,
        lax.conv_transpose_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def _pooling(
    combine: Callable[[Any, Any], Any],
    initial: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    spec: str | None,
    *,
    mean: bool = False,
) -> Layer:
    """A layer that combines the elements of each window, or takes their mean if they are summed."""
    batch, channel = (spec.index(c) for c in "NC") if spec else (0, len(window_shape) + 1)
    kept = {batch, channel}

    def over_all_axes(sizes: Sequence[int]) -> Shape:
        spatial = iter(sizes)
        return tuple([1 if i in kept else next(spatial) for i in range(len(sizes) + 2)])

    window = over_all_axes(window_shape)
    steps = over_all_axes(strides or (1,) * len(window_shape))

    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, jnp.asarray(initial, x.dtype), combine, window, steps, padding)

    def one_image(shape: Sequence[int]) -> Shape:
        return tuple([1 if i in kept else n for i, n in enumerate(shape)])

    def output_shape(input_shape: Shape) -> Shape:
        one = one_image(input_shape)
        named = isinstance(padding, str)
        pads = lax.padtype_to_pads(one, window, steps, padding) if named else padding
        sizes = lax.reduce_window_shape_tuple(one, window, steps, pads)
        return tuple([input_shape[i] if i in kept else n for i, n in enumerate(sizes)])

    def apply(inputs: Any, **_: Any) -> Any:
        inputs = jnp.asarray(inputs)
        if not mean:
            return pooled(inputs)
        # At the border, windows have fewer elements.
        return pooled(inputs) / pooled(jnp.ones(one_image(inputs.shape), inputs.dtype))

    return stateless(apply, output_shape)


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The largest element of each window.

    Args:
        window_shape: sizes of the windows along the spatial axes.
        strides: steps of the windows, 1 by default.
        padding: ``"VALID"`` or ``"SAME"``.
        spec: names of the axes, such as ``"NHWC"``, which is the default.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.MaxPool((2, 2), strides=(2, 2))
        >>> apply((), jnp.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0]
        Array([[ 5.,  7.],
               [13., 15.]], dtype=float32)
    """
    return _pooling(lax.max, -math.inf, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window; the arguments are those of `MaxPool`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.SumPool((2, 2), strides=(2, 2))
        >>> apply((), jnp.ones((1, 4, 4, 1))).reshape(2, 2)
        Array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, padding left out; the arguments are those of `MaxPool`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.AvgPool((2, 2), strides=(2, 2))
        >>> apply((), jnp.arange(16.0).reshape(1, 4, 4, 1)).reshape(2, 2)
        Array([[ 2.5,  4.5],
               [10.5, 12.5]], dtype=float32)
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, mean=True)
