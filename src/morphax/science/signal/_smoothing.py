"""Smoothing by polynomials, and the analytic signal.

References: A. Savitzky and M. J. E. Golay, "Smoothing and differentiation of data by simplified
least squares procedures", Anal. Chem. 36 (1964) 1627–1639; S. L. Marple, "Computing the
discrete-time analytic signal via FFT", IEEE Transactions on Signal Processing 47 (1999) 2600–2603.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...lax.ground.axes import canonical_axis, integer
from ..arguments import check_choice, inexact, refuse, refuse_shape
from ..ndimage import correlate1d
from ..ndimage._correlation import weighted_sum

_PACKAGE = "science.signal"
_MODES = ("interp", "mirror", "nearest", "constant", "wrap")


def savgol_coeffs(
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: Any = 1.0,
    pos: float | None = None,
    use: str = "conv",
) -> Any:
    """The weights of a window's samples in a derivative of the polynomial that fits them best.

    Args:
        window_length: number of samples.
        polyorder: degree of the polynomial, less than that.
        deriv: order of the derivative.
        delta: distance of the samples.
        pos: where in the window it is taken, counted from 0; by default in the middle.
        use: ``"conv"`` for weights to convolve with, ``"dot"`` for those in the samples' order.

    Returns:
        Vector of length `window_length`.

    Raises:
        ValueError: if the degree is not less than the length, the place lies outside, or a number
            is negative.

    Example:
        >>> from morphax.science.signal import savgol_coeffs
        >>> savgol_coeffs(3, 1)
        Array([0.33333334, 0.33333334, 0.33333334], dtype=float32)
    """
    where = f"{_PACKAGE}.savgol_coeffs"
    size, degree, order = _checked(where, window_length, polyorder, deriv)
    check_choice(where, "use", use, ("conv", "dot"))
    place = (size - 1) / 2 if pos is None else float(pos)
    if not 0 <= place < size:
        refuse(where, "pos", f"{pos}", f"0 ≤ pos < {size}", "Leave it out for the middle.")
    weights = _weights(size, degree, order, [place])[0]
    found = jnp.asarray(weights[::-1] if use == "conv" else weights)
    return found / jnp.asarray(delta, found.dtype) ** order


def _checked(where: str, window_length: Any, polyorder: Any, deriv: Any) -> tuple[int, int, int]:
    given = {"window_length": window_length, "polyorder": polyorder, "deriv": deriv}
    size, degree, order = [integer(f"{where}, argument {k}", v) for k, v in given.items()]
    if not 0 <= degree < size or order < 0:
        refuse(
            where,
            "polyorder",
            f"degree {degree} and derivative {order} for windows of {size} samples",
            "0 ≤ polyorder < window_length and deriv ≥ 0",
            "Take longer windows.",
        )
    return size, degree, order


def _weights(size: int, degree: int, order: int, places: Any) -> np.ndarray[Any, Any]:
    """The weights (places, size) of samples in derivatives of the polynomial, in their order.

    Places are counted in half windows from the middle: powers stay near 1.
    """
    half = max((size - 1) / 2, 1)
    middle = (size - 1) / 2
    fit = np.linalg.pinv(np.vander((np.arange(size) - middle) / half, degree + 1, increasing=True))
    at = (np.asarray(places) - middle) / half
    rows = np.zeros((len(at), degree + 1))
    for power in range(order, degree + 1):
        rows[:, power] = math.perm(power, order) * at ** (power - order)
    return rows @ fit / half**order


def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: Any = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: Any = 0.0,
) -> Any:
    """A signal, or its derivative, smoothed by polynomials that fit the windows around its samples.

    Args:
        x: signals (..., n, ...), real or complex; integers become floating.
        window_length: number of samples of a window.
        polyorder: degree of the polynomials, less than that.
        deriv: order of the derivative.
        delta: distance of the samples.
        axis: the axis along which the samples follow one another.
        mode: at the ends, ``"interp"`` for the polynomials of the first and the last window, or
            how the signal goes on: ``"mirror"``, ``"nearest"``, ``"constant"``, ``"wrap"``.
        cval: the value beyond the ends with ``"constant"``.

    Returns:
        Array of the shape of `x`.

    Raises:
        ValueError: as `savgol_coeffs`, or if there is no such mode, or the windows of ``"interp"``
            are longer than the signal.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.signal import savgol_filter
        >>> savgol_filter(jnp.array([0.0, 1.0, 4.0, 9.0, 16.0]), 5, 2).round(4) + 0.0
        Array([ 0.,  1.,  4.,  9., 16.], dtype=float32)
    """
    where = f"{_PACKAGE}.savgol_filter"
    size, degree, order = _checked(where, window_length, polyorder, deriv)
    check_choice(where, "mode", mode, _MODES)
    (x,) = inexact(where, x)
    place = canonical_axis(f"{where}, argument axis", axis, x.aval.ndim)
    real = np.finfo(x.aval.dtype).dtype
    scale = jnp.asarray(delta, real) ** order
    count = x.aval.shape[place]
    if mode == "interp" and size > count:
        refuse(
            where,
            "window_length",
            f"{size} for signals of {count} samples",
            "windows that the signal holds, for mode='interp'",
            "Pass another mode, or a shorter window.",
        )
    if mode == "interp":
        return _polynomials(x, place, (size, degree, order), scale)
    weights = jnp.asarray(_weights(size, degree, order, [(size - 1) / 2])[0].astype(real)) / scale
    # SciPy convolves: of an even number of samples the window begins one later.
    return correlate1d(x, weights, place, None, mode, cval, -(size % 2 == 0))


def _polynomials(x: Any, axis: int, fit: tuple[int, int, int], scale: Any) -> Any:
    """The polynomials of the windows that the signal holds, at the middles of these.

    At the ends those of the first and the last window.
    """
    size, count = fit[0], x.aval.shape[axis]
    half = size // 2
    real = np.finfo(x.aval.dtype).dtype
    before, middle, behind = [
        jnp.asarray(_weights(*fit, places).astype(real)) / scale
        for places in (np.arange(half), [(size - 1) / 2], np.arange(size - half, size))
    ]

    def at_end(weights: Any, begin: int) -> Any:
        samples = lax.slice_in_dim(x, begin, begin + size, axis=axis)
        values = jnp.tensordot(weights, samples, (1, axis), precision="highest")
        return jnp.moveaxis(values, 0, axis)

    # Of an even number of samples the middle is taken for the sample before it.
    windows = count - 2 * half
    shape, offsets = list(x.aval.shape), np.zeros((size, x.aval.ndim), int)
    shape[axis], offsets[:, axis] = windows, np.arange(size) + (size % 2 == 0)
    within = weighted_sum(x, middle[0], offsets.tolist(), tuple(shape))
    return jnp.concatenate([at_end(before, 0), within, at_end(behind, count - size)], axis)


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal: x + i times its Hilbert transform, by leaving out negative frequencies.

    Args:
        x: real signals (..., n, ...).
        N: length of the Fourier transform; the signal is cut or padded with zeros to it.
        axis: the axis along which the samples follow one another.

    Returns:
        Complex array, of length N along `axis`.

    Raises:
        ValueError: if the signal is complex or N is not positive.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.signal import hilbert
        >>> abs(hilbert(jnp.array([1.0, 0.0, -1.0, 0.0])))
        Array([1., 1., 1., 1.], dtype=float32)
    """
    where = f"{_PACKAGE}.hilbert"
    (x,) = inexact(where, x)
    if x.aval.dtype.kind == "c":
        refuse(where, "x", f"{x.aval}", "a real signal", "Take the real part.")
    place = canonical_axis(f"{where}, argument axis", axis, x.aval.ndim)
    size = x.aval.shape[place] if N is None else integer(f"{where}, argument N", N)
    if size <= 0:
        refuse_shape(where, "N", f"{size} samples", "one at least", "Skip the call.")
    weights = np.zeros(size, np.finfo(x.aval.dtype).dtype)
    weights[0] = 1
    weights[1 : (size + 1) // 2] = 2
    if size % 2 == 0:
        weights[size // 2] = 1
    column = (-1, *(1,) * (x.aval.ndim - 1 - place))
    spectrum = jnp.fft.fft(x, size, place) * jnp.asarray(weights).reshape(column)
    return jnp.fft.ifft(spectrum, axis=place)
