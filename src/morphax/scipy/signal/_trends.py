"""Signals without their trend."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axis
from ...lax.ground.linear_structure import moved_axis
from ...numpy.operands import as_array, inexact_type
from ...util.messages import message


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray[Any, Any] = 0,
    overwrite_data: None = None,
) -> Any:
    """Signals less the straight line that fits them best, or less their mean.

    With t the centred places of n samples, the line is ȳ + t Σ tᵢ yᵢ / Σ tᵢ²: its two terms are
    orthogonal, so that neither disturbs the other.

    Args:
        data: array (..., n, ...), real or complex; integers become floating.
        axis: the axis along which the samples follow one another.
        type: ``"linear"`` or ``"constant"``.
        bp: where further lines begin; each piece has its own.
        overwrite_data: must be `None`.

    Returns:
        Array of the shape of `data`.

    Raises:
        NotImplementedError: if data are to be overwritten.
        ValueError: if there is no such type or axis, or a place lies outside of the signal.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.signal.detrend(jnp.array([1.0, 2.0, 0.0]), type="constant")
        Array([ 0.,  1., -1.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(
            message(
                "scipy.signal.detrend, argument overwrite_data",
                given=f"{overwrite_data!r}",
                expected="None: arrays are immutable",
                fix="Use the result.",
            )
        )
    if type not in ("linear", "constant"):
        raise ValueError(
            message(
                "scipy.signal.detrend, argument type",
                given=f"{type!r}",
                expected="'linear' or 'constant'",
                fix="Choose one of them.",
            )
        )
    x = as_array("scipy.signal.detrend", jnp.asarray(data))
    x = convert(x, inexact_type("scipy.signal.detrend", x)[0])
    place = canonical_axis("scipy.signal.detrend, argument axis", axis, x.aval.ndim)
    last = x.aval.ndim - 1
    x = moved_axis(x, place, last)
    if type == "constant":
        return moved_axis(without_mean(x), last, place)
    limits = _limits(bp, x.aval.shape[last])
    pieces = [
        without_line(lax.slice_in_dim(x, low, high, 1, last))
        for low, high in itertools.pairwise(limits)
    ]
    return moved_axis(lax.concatenate(pieces, last) if pieces else x, last, place)


def without_mean(x: Any) -> Any:
    """Signals along the last axis, less their mean."""
    return x - jnp.mean(x, axis=-1, keepdims=True) if x.aval.size else x


def without_line(x: Any) -> Any:
    """Signals along the last axis, less the line that fits them best."""
    size = x.aval.shape[-1]
    x = without_mean(x)
    places = np.arange(size) - (size - 1) / 2
    square = np.square(places).sum()
    if not square:
        return x
    # The division comes first: Σ t² overflows float16 for signals of a hundred samples.
    t, weights = [v.astype(x.aval.dtype) for v in (places, places / square)]
    return x - jnp.sum(x * weights, axis=-1, keepdims=True) * t


def _limits(bp: Any, size: int) -> list[int]:
    """Where pieces begin and end."""
    places = np.atleast_1d(np.asarray(bp))
    if places.size and not np.issubdtype(places.dtype, np.integer):
        raise TypeError(
            message(
                "scipy.signal.detrend, argument bp",
                given=f"{places.dtype} numbers",
                expected="integers",
                fix="Give places of samples, counted from 0.",
            )
        )
    if places.ndim > 1 or (places.size and not (places.min() >= 0 and places.max() <= size)):
        raise ShapeError(
            message(
                "scipy.signal.detrend, argument bp",
                given=f"{places.tolist()} for {size} samples",
                expected=f"one place, or a vector of places, from 0 to {size}",
                fix="Count from the beginning of the signal.",
            )
        )
    return sorted({0, *places.tolist(), size})
