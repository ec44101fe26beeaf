"""Spectral densities by Welch's method: averages over the spectra of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...lax.ground.axes import canonical_axis
from ...lax.ground.linear_structure import moved_axis
from ...util.messages import message
from ._segments import (
    Segments,
    detrending,
    frequencies,
    is_complex,
    one_sided,
    real_type,
    segments_of,
    signals,
    spectra,
)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The power spectral density of signals: the mean of |X|² over segments that overlap.

    See `csd`, which this is for one signal; the density is real.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.array([0.0, 1.0, 0.0, -1.0] * 4)
        >>> jax.scipy.signal.welch(x, nperseg=8, window="boxcar")[1].round(4)
        Array([0., 0., 4., 0., 0.], dtype=float32)
    """
    (x,) = signals("welch", x)
    options = window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    return _density("welch", x, None, fs, *options)


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The cross spectral density of two signals: the mean of X* Y over segments that overlap.

    Args:
        x: signals (..., n, ...), float32 or float64 or complex; integers become floating.
        y: signals of as many axes, or `None` for `x` itself.  The shorter one is padded with zeros.
        fs: samples per unit of time; frequencies are in its reciprocal.
        window: name of a window, a tuple of name and parameters as in SciPy, or a vector.
        nperseg: samples of a segment, 256 by default or the length of the window.
        noverlap: samples that segments share, by default half of them.
        nfft: length of the transforms; segments are padded with zeros.
        detrend: what each segment loses: ``"constant"`` its mean, ``"linear"`` the line that fits
            it best, `False` nothing; or a function of segments (..., segments, nperseg).
        return_onesided: whether half of the frequencies of real signals are returned, with the
            power of both.
        scaling: ``"density"`` for power per frequency, ``"spectrum"`` for power.
        axis: the axis of the samples.
        average: ``"mean"`` or ``"median"`` over segments; the latter is corrected for its bias.

    Returns:
        `(f, Pxy)`: frequencies (m,), and densities (..., m, ...).

    Raises:
        ValueError: if an option is none of the above, or shapes do not suit.
        ZeroDivisionError: if `fs` is 0.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.array([0.0, 1.0, 0.0, -1.0] * 4)
        >>> f, density = jax.scipy.signal.csd(x, 2 * x, nperseg=8, window="boxcar")
        >>> density.real.round(4)
        Array([0., 0., 8., 0., 0.], dtype=float32)
    """
    x, *other = signals("csd", *((x,) if y is None else (x, y)))
    options = window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    return _density("csd", x, other[0] if other else None, fs, *options)


def _density(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Any, Any]:
    _check_choice(name, "scaling", scaling, ("density", "spectrum"))
    _check_choice(name, "average", average, ("mean", "median"))
    trend = detrending(name, detrend)
    place = canonical_axis(f"scipy.signal.{name}, argument axis", axis, x.aval.ndim)
    given = [moved_axis(v, place, x.aval.ndim - 1) for v in _of_one_shape(name, x, y, place)]
    samples = given[0].aval.shape[-1]
    half = one_sided(name, return_onesided, *given)
    if not (samples and all(v.aval.size for v in given)):
        empty = jnp.zeros(given[0].aval.shape, real_type(x))
        return jnp.zeros(empty.aval.shape, empty.aval.dtype), empty
    cut = segments_of(name, window, nperseg, noverlap, nfft, samples, real_type(x))
    first, *second = [spectra(v, cut, trend, half) for v in given]
    power = lax.conj(first) * second[0] if second else lax.square(jnp.abs(first))
    power = power * _scale(cut, fs, scaling)
    if half:
        # Frequencies that stand for their negatives too: all but 0 and, of an even length, n/2.
        twice = np.full(power.aval.shape[-1], 2)
        twice[0] = 1
        if cut.transform % 2 == 0:
            twice[-1] = 1
        power = power * twice.astype(real_type(x))
    found = _averaged(power, average)
    places = frequencies(cut.transform, fs, half, real_type(x))
    return places, moved_axis(found, found.aval.ndim - 1, place)


def _check_choice(name: str, argument: str, value: Any, choice: tuple[str, str]) -> None:
    if value not in choice:
        raise ValueError(
            message(
                f"scipy.signal.{name}, argument {argument}",
                given=f"{value!r}",
                expected=" or ".join(map(repr, choice)),
                fix="Choose one of them.",
            )
        )


def _of_one_shape(name: str, x: Any, y: Any, axis: int) -> list[Any]:
    """The signals with as many samples, padded with zeros at their end."""
    if y is None:
        return [x]
    shapes = [[1 if i == axis else n for i, n in enumerate(v.aval.shape)] for v in (x, y)]
    fits = x.aval.ndim == y.aval.ndim and all(
        n == m or 1 in (n, m) for n, m in zip(*shapes, strict=True)
    )
    if not fits:
        raise ShapeError(
            message(
                f"scipy.signal.{name}",
                given=f"{x.aval} and {y.aval}",
                expected="as many axes, of lengths that broadcast but for that of the samples",
                fix="Add axes of length 1, as in x[None].",
            )
        )
    samples = max(x.aval.shape[axis], y.aval.shape[axis])
    padded = []
    for v in (x, y):
        widths = [(0, samples - v.aval.shape[i] if i == axis else 0) for i in range(v.aval.ndim)]
        padded.append(jnp.pad(v, widths))
    return padded


def _scale(cut: Segments, fs: Any, scaling: str) -> Any:
    if scaling == "density":
        return 1 / (fs * jnp.sum(lax.square(cut.window)))
    return 1 / lax.square(jnp.sum(cut.window))


def _averaged(power: Any, average: str) -> Any:
    """The average over segments, the last axis but one."""
    if average == "mean":
        return jnp.mean(power, axis=-2)
    # The median of n exponential variables is 1 + Σ (1/(2i + 1) − 1/2i) times their mean.
    pairs = 2 * np.arange(1, (power.aval.shape[-2] - 1) // 2 + 1)
    bias = float(1 + np.sum(1 / (pairs + 1) - 1 / pairs))
    if is_complex(power):
        medians = [jnp.median(v, axis=-2) for v in (lax.real(power), lax.imag(power))]
        return lax.complex(*medians) / bias
    return jnp.median(power, axis=-2) / bias
