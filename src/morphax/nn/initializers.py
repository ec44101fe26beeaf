"""Initial values of parameters: functions of a key, a shape and a dtype.

The variance-scaling family keeps the size of activations (or gradients) from layer to layer: the
variance of a weight is a scale over the number of its inputs, its outputs, or a mean of both.

Orthogonal matrices keep the length of every vector.

References: LeCun et al., "Efficient BackProp" (1998); Glorot & Bengio, AISTATS 2010; He et al.,
ICCV 2015; Saxe, McClelland & Ganguli, ICLR 2014; Xiao et al., ICML 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .. import dtypes, random
from .. import numpy as jnp
from ..dtypes import canonicalize
from ..lax.ground.axes import canonical_axis, canonical_shape
from ..lax.shape.resharding import laid_out
from ..util.messages import message

# Standard deviation of a standard normal variable cut off at ±2.
_CUT_DEVIATION = 0.87962566103423978


class Initializer(Protocol):
    """Makes initial parameters."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        """Parameters of the given shape and dtype, drawn with `key`."""


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros; the key is not used.

    Example:
        >>> import morphax as jax
        >>> jax.nn.initializers.zeros(jax.random.key(0), (3,))
        Array([0., 0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, dtype, out_sharding=out_sharding)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones; the key is not used.

    Example:
        >>> import morphax as jax
        >>> jax.nn.initializers.ones(jax.random.key(0), (3,))
        Array([1., 1., 1.], dtype=float32)
    """
    return jnp.ones(shape, dtype, out_sharding=out_sharding)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that fills with `value`, in floating point unless a dtype is named.

    Example:
        >>> import morphax as jax
        >>> jax.nn.initializers.constant(7)(jax.random.key(0), (3,))
        Array([7., 7., 7.], dtype=float32)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        # Parameters are there to be trained: those made of an integer are floats too.
        chosen = next((d for d in (dtype, default) if d is not None), float)
        return jnp.full(shape, value, chosen, out_sharding=out_sharding)

    return init


def _drawn(draw: Callable[[Any, tuple[int, ...], Any], Any], default: Any) -> Initializer:
    """An initializer from a function of key, shape and dtype."""

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        sizes = canonical_shape("an initializer, argument shape", shape)
        chosen = default if dtype is None else dtype
        drawn = draw(key, sizes, canonicalize(float) if chosen is None else chosen)
        return laid_out("an initializer", drawn, out_sharding)

    return init


def uniform(scale: Any = 0.01, dtype: Any = None) -> Initializer:
    """An initializer that draws uniformly from [0, `scale`).

    Example:
        >>> import morphax as jax
        >>> weights = jax.nn.initializers.uniform(scale=0.1)(jax.random.key(0), (100, 100))
        >>> weights.max().round(2)
        Array(0.1, dtype=float32)
    """
    return _drawn(lambda key, shape, dt: _scaled(random.uniform(key, shape, dt), scale), dtype)


def normal(stddev: Any = 0.01, dtype: Any = None) -> Initializer:
    """An initializer that draws from the normal distribution with deviation `stddev`.

    Example:
        >>> import morphax as jax
        >>> weights = jax.nn.initializers.normal(stddev=0.1)(jax.random.key(0), (100, 100))
        >>> weights.std().round(2)
        Array(0.1, dtype=float32)
    """
    return _drawn(lambda key, shape, dt: _scaled(random.normal(key, shape, dt), stddev), dtype)


def truncated_normal(
    stddev: Any = 0.01, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """`stddev` times a standard normal variable that is kept in [`lower`, `upper`].

    Example:
        >>> import morphax as jax
        >>> weights = jax.nn.initializers.truncated_normal(0.1)(jax.random.key(0), (100, 100))
        >>> weights.max().round(2)
        Array(0.2, dtype=float32)
    """
    return _drawn(
        lambda key, shape, dt: _scaled(
            random.truncated_normal(key, lower, upper, shape, dt), stddev
        ),
        dtype,
    )


def _scaled(x: Any, scale: Any) -> Any:
    return x * jnp.asarray(scale, x.dtype)


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer of weights with variance `scale` / n.

    Args:
        scale: of the variance.
        mode: what n is: ``"fan_in"`` (the number of inputs of a unit), ``"fan_out"`` (of outputs),
            ``"fan_avg"`` (their mean), ``"fan_geo_avg"`` (their geometric mean).
        distribution: ``"truncated_normal"`` (cut off at two deviations), ``"normal"`` or
            ``"uniform"`` (around zero).
        in_axis, out_axis: axes of inputs and outputs.  All other axes but `batch_axis` are those of
            a receptive field.
        batch_axis: axes that are left out of account.
        dtype: of the weights unless the call names one.

    Raises:
        ValueError: an unknown mode or distribution, or a shape without the axes.

    Example:
        >>> import morphax as jax
        >>> init = jax.nn.initializers.variance_scaling(2.0, "fan_in", "normal")
        >>> init(jax.random.key(0), (3, 2)).shape
        (3, 2)
    """
    _check_choice("mode", mode, _FANS)
    _check_choice("distribution", distribution, _DISTRIBUTIONS)

    def draw(key: Any, shape: tuple[int, ...], dt: Any) -> Any:
        sizes = _fans(shape, in_axis, out_axis, batch_axis)
        variance = scale / max(1.0, _FANS[mode](*sizes))
        is_complex = dtypes.issubdtype(dt, np.complexfloating)
        known = _COMPLEX_DISTRIBUTIONS if is_complex else _DISTRIBUTIONS
        factor, sample = known[distribution]
        return _scaled(sample(key, shape, dt), factor * variance**0.5)

    return _drawn(draw, dtype)


_FANS: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda n_in, n_out: n_in,
    "fan_out": lambda n_in, n_out: n_out,
    "fan_avg": lambda n_in, n_out: (n_in + n_out) / 2,
    "fan_geo_avg": lambda n_in, n_out: (n_in * n_out) ** 0.5,
}
# What makes the variance one, and how to draw.
_DISTRIBUTIONS: dict[str, tuple[float, Callable[[Any, Any, Any], Any]]] = {
    "truncated_normal": (
        1 / _CUT_DEVIATION,
        lambda key, shape, dt: random.truncated_normal(key, -2, 2, shape, dt),
    ),
    "normal": (1.0, random.normal),
    "uniform": (3**0.5, lambda key, shape, dt: random.uniform(key, shape, dt, -1)),
}


def _in_disc(key: Any, shape: tuple[int, ...], dt: Any, square: Callable[[Any], Any]) -> Any:
    """Complex numbers of any direction, with |z|² = `square` of numbers that are uniform."""
    for_size, for_angle = random.split(key)
    real = np.finfo(dt).dtype
    size = jnp.sqrt(square(random.uniform(for_size, shape, real)))
    angle = 2 * np.pi * random.uniform(for_angle, shape, real)
    return (size * jnp.exp(1j * angle)).astype(dt)


def _truncated_complex(key: Any, shape: tuple[int, ...], dt: Any) -> Any:
    # Of the normal distribution |z|² is that of Exp(1), here cut off at 4.
    return _in_disc(key, shape, dt, lambda u: -jnp.log1p(u * np.expm1(-4.0)))


# The first number is 1 over the deviation that JAX takes for that of the distribution.
_COMPLEX_DISTRIBUTIONS: dict[str, tuple[float, Callable[[Any, Any, Any], Any]]] = {
    "truncated_normal": (1 / 0.953111643804912, _truncated_complex),
    "normal": (1.0, random.normal),
    "uniform": (2**0.5, lambda key, shape, dt: _in_disc(key, shape, dt, lambda u: u)),
}


def _check_choice(name: str, given: str, choices: dict[str, Any]) -> None:
    if not isinstance(given, str) or given not in choices:
        raise ValueError(
            message(
                f"nn.initializers.variance_scaling, argument {name}",
                given=f"{given!r}",
                expected=f"one of {sorted(choices)}",
                fix="Choose one of these.",
            )
        )


def _fans(
    shape: tuple[int, ...], in_axis: Any, out_axis: Any, batch_axis: Any
) -> tuple[float, float]:
    """Numbers of inputs and outputs of a unit."""
    where = "nn.initializers.variance_scaling"
    if len(shape) < 2 and isinstance(in_axis, int) and isinstance(out_axis, int):
        raise ValueError(
            message(
                f"{where}, argument shape",
                given=f"{shape}",
                expected="at least two axes, one of inputs and one of outputs",
                fix="Give weights two axes, or use normal or uniform, which do not need them.",
            )
        )
    sizes = [
        math.prod([shape[canonical_axis(where, i, len(shape))] for i in _sequence(axes)])
        for axes in (in_axis, out_axis, batch_axis)
    ]
    field = math.prod(shape) / max(1, math.prod(sizes))
    return sizes[0] * field, sizes[1] * field


def _sequence(axes: int | Sequence[int]) -> Sequence[int]:
    return (axes,) if isinstance(axes, int) else axes


def _family(name: str, scale: float, mode: str, distribution: str, text: str) -> Any:
    def initializer(
        in_axis: int | Sequence[int] = -2,
        out_axis: int | Sequence[int] = -1,
        batch_axis: int | Sequence[int] = (),
        dtype: Any = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    initializer.__name__ = initializer.__qualname__ = name
    fan = {"fan_in": 100, "fan_avg": (100 + 300) // 2}[mode]
    initializer.__doc__ = f"""{text}: `variance_scaling` with {scale}, {mode!r}, {distribution!r}.

    Example:
        >>> import morphax as jax
        >>> weights = jax.nn.initializers.{name}()(jax.random.key(0), (100, 300))
        >>> (weights.var() * {fan} / {scale}).round(1)  # the variance, by the one it should have
        Array(1., dtype=float32)
    """
    return initializer


_CUT = "truncated_normal"
glorot_uniform = _family("glorot_uniform", 1.0, "fan_avg", "uniform", "Glorot's rule, uniform")
glorot_normal = _family("glorot_normal", 1.0, "fan_avg", _CUT, "Glorot's rule, normal")
lecun_uniform = _family("lecun_uniform", 1.0, "fan_in", "uniform", "LeCun's rule, uniform")
lecun_normal = _family("lecun_normal", 1.0, "fan_in", _CUT, "LeCun's rule, normal")
he_uniform = _family("he_uniform", 2.0, "fan_in", "uniform", "He's rule for relu, uniform")
he_normal = _family("he_normal", 2.0, "fan_in", _CUT, "He's rule for relu, normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of matrices whose columns, or rows if they are fewer, are orthonormal.

    Args:
        scale: by which the matrices are multiplied.
        column_axis: axis of the columns; all others are rows.
        dtype: float32, float64, complex64 or complex128, unless the call names one.

    Raises:
        ValueError: a shape of fewer than two axes, or without the axis.

    Example:
        >>> import morphax as jax
        >>> q = jax.nn.initializers.orthogonal()(jax.random.key(0), (4, 2))
        >>> abs(q.T @ q).round(5)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """

    def draw(key: Any, shape: tuple[int, ...], dt: Any) -> Any:
        if len(shape) < 2:
            raise _bad_shape("orthogonal", shape, "at least two axes", "Use normal for vectors.")
        where = "nn.initializers.orthogonal, argument column_axis"
        axis = canonical_axis(where, column_axis, len(shape))
        rest = (*shape[:axis], *shape[axis + 1 :])
        columns = random.orthogonal(key, math.prod(rest), (), dt, shape[axis])
        return _scaled(jnp.moveaxis(columns.reshape(*rest, shape[axis]), -1, axis), scale)

    return _drawn(draw, dtype)


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of convolution kernels: an orthogonal matrix in the middle, 0 elsewhere.

    Such a convolution keeps the size of signals, however deep a network.

    Args:
        scale: by which the matrix is multiplied.
        column_axis: axis of the columns of the matrix, which are orthonormal.
        dtype: as for `orthogonal`.

    Raises:
        ValueError: a shape that is not (*window, inputs, outputs) with a window of one to three
            axes, none of size 0, and with no fewer outputs than inputs.

    Example:
        >>> import morphax as jax
        >>> kernel = jax.nn.initializers.delta_orthogonal()(jax.random.key(0), (3, 2, 2))
        >>> kernel.any((1, 2))
        Array([False,  True, False], dtype=bool)
    """
    matrix = orthogonal(scale, column_axis, dtype)

    def draw(key: Any, shape: tuple[int, ...], dt: Any) -> Any:
        window, sizes = shape[:-2], shape[-2:]
        if not 1 <= len(window) <= 3 or 0 in window or sizes[0] > sizes[1]:
            expected = "(*window, inputs, outputs), at most as many inputs as outputs"
            fix = "Give the window one to three axes, none empty, and the kernel enough outputs."
            raise _bad_shape("delta_orthogonal", shape, expected, fix)
        middle = tuple([(n - 1) // 2 for n in window])
        return jnp.zeros(shape, dt).at[middle].set(matrix(key, sizes, dt))

    return _drawn(draw, dtype)


def _bad_shape(function: str, shape: tuple[int, ...], expected: str, fix: str) -> ValueError:
    where = f"nn.initializers.{function}, argument shape"
    return ValueError(message(where, given=f"{shape}", expected=expected, fix=fix))
