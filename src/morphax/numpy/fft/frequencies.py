"""The frequencies of transforms, and the order in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes, lax
from ...engines.reference.replay import replayed
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import integer_tuple
from ...util.messages import described, message
from ..arithmetic import divide, multiply
from ..axes import whole_number
from ..creation import placed
from ..operands import as_array
from ..rearranging import roll


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `fft`: ``[0, 1, …, −2, −1] / (d n)``, the negative ones last.

    Args:
        n: the length of the transform, known while tracing.
        d: the time between samples, a number.
        dtype: of the result, by default floating.
        device: where to put it.

    Returns:
        Array (n,), in cycles per unit of `d`.

    Raises:
        TypeError: if `n` is traced, or `d` complex.
        ValueError: if `n` is no whole number, or `d` a sequence.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.fftfreq(5, 0.1)
        Array([ 0.,  2.,  4., -4., -2.], dtype=float32)
    """
    count = whole_number("jnp.fft.fftfreq, argument n", n)
    k = np.concatenate([np.arange((count + 1) // 2), np.arange(-(count // 2), 0)])
    return _frequencies("fftfreq", k, count, d, dtype, device)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `rfft`: ``[0, 1, …, n // 2] / (d n)``; see `fftfreq` for the arguments.

    Returns:
        Array (n // 2 + 1,).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.rfftfreq(4)
        Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    count = whole_number("jnp.fft.rfftfreq, argument n", n)
    return _frequencies("rfftfreq", np.arange(count // 2 + 1), count, d, dtype, device)


@replayed(1)
def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """`x` with the frequency 0 in the middle: along each axis the last ⌊n/2⌋ elements come first.

    Args:
        x: array (...), in the order of `fftfreq`.
        axes: axis or axes, all by default.

    Returns:
        Array like `x`.

    Raises:
        IndexError: if there is no such axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.fftshift(jnp.array([0, 1, 2, -2, -1]))
        Array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _shifted("fftshift", x, axes, 1)


@replayed(1)
def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """The inverse of `fftshift`; see there for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.ifftshift(jnp.array([-2, -1, 0, 1, 2]))
        Array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, -1)


def _frequencies(
    name: str, k: np.ndarray[Any, Any], n: int, d: Any, dtype: Any, device: Any
) -> Any:
    """``k / (d n)``; by NumPy, in float64, where `d` is a number on the host."""
    where = f"jnp.fft.{name}, argument d"
    target = dtypes.requested(float if dtype is None else dtype, f"fft.{name}")
    if isinstance(d, (list, tuple)):
        raise ValueError(
            message(where, given=described(d), expected="a number", fix="Pass the number itself.")
        )
    if isinstance(d, (int, float, np.bool_, np.integer, np.floating)):
        with np.errstate(all="ignore"):
            values = k / (np.float64(d) * n)
        return placed(lax.convert_element_type(values, target), device)
    step = as_array(f"fft.{name}", d)
    if dtypes.issubdtype(step.aval.dtype, np.complexfloating):
        raise TypeError(
            message(
                where, given=f"{step.aval}", expected="a real number", fix="Take its real part."
            )
        )
    return placed(convert(divide(k.astype(dtypes.dtype(float)), multiply(step, n)), target), device)


def _shifted(name: str, x: Any, axes: Any, sign: int) -> Any:
    x = as_array(f"fft.{name}", x)
    shape = x.aval.shape
    if axes is None:
        named = tuple(range(len(shape)))
    else:
        given = axes if np.iterable(axes) else (axes,)
        named = integer_tuple(f"jnp.fft.{name}, argument axes", given)
    if named and not -len(shape) <= min(named) <= max(named) < len(shape):
        raise IndexError(
            message(
                f"jnp.fft.{name}, argument axes",
                given=f"{axes} for an array of rank {len(shape)}",
                expected=f"axes from {-len(shape)} to {len(shape) - 1}",
                fix="Name axes that the array has.",
            )
        )
    return roll(x, tuple([sign * (shape[axis] // 2) for axis in named]), named)
