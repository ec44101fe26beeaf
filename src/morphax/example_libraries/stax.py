"""Layers of neural networks as pairs of functions.

    init_fun(rng, input_shape) -> (output_shape, params)
    apply_fun(params, inputs, **kwargs) -> outputs

`serial` and `parallel` put layers together to one that is such a pair again.  A shape may have -1
for the size of a batch.  Layers that draw at random take the key as the keyword ``rng``.

Example:
    >>> import morphax as jax
    >>> from morphax.example_libraries import stax
    >>> init, apply = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(2), stax.LogSoftmax)
    >>> output_shape, params = init(jax.random.key(0), (-1, 4))
    >>> output_shape, apply(params, jax.numpy.ones((5, 4))).shape
    ((-1, 2), (5, 2))
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import nn, random
from .. import numpy as jnp
from ..nn import log_softmax as logsoftmax
from ..nn.initializers import glorot_normal as glorot
from ..nn.initializers import normal as randn
from ..nn.initializers import ones, zeros
from ..util.messages import message
from ._layers import Initializer, Layer, Shape, stateless
from ._windowed_layers import (
    AvgPool,
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    GeneralConv,
    GeneralConvTranspose,
    MaxPool,
    SumPool,
)

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "glorot",
    "logsoftmax",
    "ones",
    "parallel",
    "randn",
    "serial",
    "shape_dependent",
    "zeros",
]


_GLOROT, _SMALL = glorot(), randn()


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies `fun`, with some keywords, to each element.

    Example:
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.elementwise(pow, exp=2)
        >>> apply((), 3)
        9
    """
    return stateless(lambda inputs, **_: fun(inputs, **fun_kwargs))


Tanh = elementwise(jnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)
Identity = stateless(lambda inputs, **_: inputs, lambda shape: shape)
Flatten = stateless(
    lambda inputs, **_: jnp.reshape(inputs, (inputs.shape[0], -1)),
    lambda shape: (shape[0], math.prod(shape[1:])),
)
FanInSum = stateless(
    lambda inputs, **_: functools.reduce(jnp.add, inputs), lambda shapes: shapes[0]
)


def Dense(out_dim: int, W_init: Initializer = _GLOROT, b_init: Initializer = _SMALL) -> Layer:
    """A layer of units that each see all inputs: x W + b.

    Args:
        out_dim: number of units.
        W_init: makes the weights, of shape (number of inputs, `out_dim`).
        b_init: makes the biases, of shape (`out_dim`,).

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.Dense(16)
        >>> shape, (w, b) = init(jax.random.key(0), (-1, 28))
        >>> shape, w.shape, b.shape
        ((-1, 16), (28, 16), (16,))
    """

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        weights_rng, bias_rng = random.split(rng)
        weights = W_init(weights_rng, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, b_init(bias_rng, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init_fun, apply_fun


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """A layer that brings each channel to mean 0 and variance 1 over the batch: γ x̂ + β.

    Args:
        axis: the axes to take mean and variance over.
        epsilon: added to the variance.
        center: whether there is a β.
        scale: whether there is a γ.
        beta_init: makes β.
        gamma_init: makes γ.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.BatchNorm(axis=0)
        >>> _, params = init(jax.random.key(0), (2, 1))
        >>> apply(params, jnp.array([[1.0], [3.0]])).round(2)
        Array([[-1.],
               [ 1.]], dtype=float32)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        shape = tuple([n for i, n in enumerate(input_shape) if i not in axes])
        beta_rng, gamma_rng = random.split(rng)
        beta = beta_init(beta_rng, shape) if center else ()
        return input_shape, (beta, gamma_init(gamma_rng, shape) if scale else ())

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        out = nn.standardize(inputs, axes, epsilon=epsilon)
        reduced = [i for i in range(jnp.ndim(inputs)) if i in axes]
        if scale:
            out = jnp.expand_dims(gamma, reduced) * out
        return out + jnp.expand_dims(beta, reduced) if center else out

    return init_fun, apply_fun


def FanOut(num: int) -> Layer:
    """A layer that copies its inputs `num` times, for `parallel` layers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.FanOut(3)
        >>> apply((), 1.0)
        [1.0, 1.0, 1.0]
    """
    return stateless(lambda inputs, **_: [inputs] * num, lambda shape: [shape] * num)


def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins the outputs of `parallel` layers along an axis.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.FanInConcat()
        >>> apply((), (jnp.ones((1, 2)), jnp.zeros((1, 1))))
        Array([[1., 1., 0.]], dtype=float32)
    """

    def output_shape(shapes: Sequence[Shape]) -> Shape:
        out = list(shapes[0])
        out[axis] = sum([shape[axis] for shape in shapes])
        return tuple(out)

    return stateless(lambda inputs, **_: jnp.concatenate(inputs, axis), output_shape)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """A layer that keeps each element with probability `rate`, divided by it, and drops the others.

    Args:
        rate: the probability, that is to *keep*.
        mode: ``"train"``, or ``"test"`` for a layer that keeps everything.

    Raises:
        ValueError: another mode; when applied for training, that there is no ``rng=``.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.Dropout(0.5)
        >>> y = apply((), jnp.ones(1000), rng=jax.random.key(0))
        >>> sorted(set(y.tolist()))
        [0.0, 2.0]
    """
    if mode not in ("train", "test"):
        raise ValueError(
            message(
                "stax.Dropout, argument mode",
                given=f"{mode!r:.80}",
                expected="'train' or 'test'",
                fix="Choose one of these.",
            )
        )

    def apply(inputs: Any, *, rng: Any = None, **_: Any) -> Any:
        if mode == "test":
            return inputs
        if rng is None:
            raise ValueError(
                message(
                    "stax.Dropout, apply_fun",
                    given="a call without rng=",
                    expected="a key to draw with",
                    fix="Call apply_fun(params, inputs, rng=key), or make the layer for 'test'.",
                )
            )
        kept = random.bernoulli(rng, rate, jnp.shape(inputs))
        return jnp.where(kept, inputs / rate, 0)

    return stateless(apply)


def serial(*layers: Layer) -> Layer:
    """The layer that applies `layers` one after the other.

    Args:
        *layers: pairs of init_fun and apply_fun.  A key given to the whole is split among them.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.example_libraries import stax
        >>> init, apply = stax.serial(stax.Dense(16), stax.Relu, stax.Dense(1))
        >>> shape, params = init(jax.random.key(0), (-1, 28))
        >>> shape, apply(params, jnp.ones((5, 28))).shape
        ((-1, 1), (5, 1))
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init, _ in layers:
            rng, layer_rng = random.split(rng)
            input_shape, own = init(layer_rng, input_shape)
            params.append(own)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        for (_, apply), own, key in zip(layers, params, _keys(rng, layers), strict=True):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """The layer that applies each of `layers` to an input of its own.

    Args:
        *layers: pairs of init_fun and apply_fun.  A key given to the whole is split among them.

    Example:
        >>> import morphax as jax
        >>> from morphax.example_libraries import stax
        >>> both = stax.parallel(stax.Identity, stax.elementwise(abs))
        >>> init, apply = stax.serial(stax.FanOut(2), both, stax.FanInSum)
        >>> apply([(), [(), ()], ()], jax.numpy.array([-1.0, 2.0]))
        Array([0., 4.], dtype=float32)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        each = zip(layers, random.split(rng, len(layers)), input_shape, strict=True)
        shapes, params = zip(*[init(key, shape) for (init, _), key, shape in each], strict=True)
        return list(shapes), list(params)

    def apply_fun(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        each = zip(layers, params, inputs, _keys(rng, layers), strict=True)
        return [apply(own, x, rng=key, **kwargs) for (_, apply), own, x, key in each]

    return init_fun, apply_fun


def _keys(rng: Any, layers: Sequence[Layer]) -> Sequence[Any]:
    """A key for each layer, if there is one for all."""
    if rng is None or not layers:
        return (None,) * len(layers)
    return list(random.split(rng, len(layers)))


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known.

    Args:
        make_layer: shape → layer.
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(jnp.shape(inputs))[1](params, inputs, **kwargs)

    return init_fun, apply_fun
