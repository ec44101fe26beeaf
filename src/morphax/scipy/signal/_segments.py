"""Signals cut into segments that overlap, and the options that all short-time transforms share.

References:
    P. Welch, "The use of fast Fourier transform for the estimation of power spectra", IEEE
    Transactions on Audio and Electroacoustics 15 (1967).
    J. Allen, L. Rabiner, "A unified approach to short-time Fourier analysis and synthesis",
    Proceedings of the IEEE 65 (1977).
    F. Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform",
    Proceedings of the IEEE 66 (1978): the coefficients of windows that are sums of cosines.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...numpy.operands import as_array, inexact_type
from ...util.messages import message
from ...util.records import dataclass
from ._trends import without_line, without_mean

DEFAULT_SEGMENT = 256

# Σₖ (−1)ᵏ aₖ cos(2πkj / n) over a period of n samples.
_SUMS_OF_COSINES: Final[dict[str, tuple[float, ...]]] = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
}


@dataclass(frozen=True)
class Segments:
    """How signals are cut: the length of segments, the distance of their starts, the window."""

    size: int
    step: int
    transform: int
    window: Any

    def starts(self, samples: int) -> np.ndarray[Any, Any]:
        """The places of the first samples of all segments that lie inside of a signal."""
        return np.arange(0, samples - self.size + 1, self.step)

    def cut(self, x: Any) -> Any:
        """Segments (..., segments, size) of signals (..., samples)."""
        places = self.starts(x.aval.shape[-1])[:, None] + np.arange(self.size)
        return x[..., places]


def signals(name: str, *operands: Any) -> list[Any]:
    """Arrays of one dtype that has a Fourier transform."""
    where = f"scipy.signal.{name}"
    arrays = [as_array(where, x) for x in operands]
    dtype, _ = inexact_type(where, *arrays)
    return [convert(x, dtype) for x in arrays]


def is_complex(x: Any) -> bool:
    """Whether an array holds complex numbers."""
    return dtypes.issubdtype(x.aval.dtype, np.complexfloating)


def real_type(x: Any) -> np.dtype[Any]:
    """The dtype of the real parts of an array."""
    return dtypes.finfo(x.aval.dtype).dtype


def segments_of(
    name: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, samples: int, dtype: Any
) -> Segments:
    """The segments of signals with so many samples, once the options are checked."""
    nperseg = None if nperseg is None else positive(name, "nperseg", nperseg)
    if isinstance(window, (str, tuple)):
        size = DEFAULT_SEGMENT if nperseg is None else nperseg
        if size > samples:
            warnings.warn(
                f"scipy.signal.{name}: segments of {size} samples are longer than the signal; "
                f"they are cut to its {samples} samples.",
                UserWarning,
                stacklevel=4,
            )
            size = samples
    else:
        window = jnp.asarray(window)
        size = _size_of_window(name, window, nperseg, samples)
    return checked_segments(name, window, size, noverlap, nfft, dtype)


def checked_segments(
    name: str, window: Any, size: int, noverlap: Any, nfft: Any, dtype: Any
) -> Segments:
    """Segments of a size, which overlap by half unless `noverlap` says otherwise."""
    overlap = size // 2 if noverlap is None else _integer(name, "noverlap", noverlap)
    if overlap >= size:
        raise ValueError(
            message(
                f"scipy.signal.{name}, argument noverlap",
                given=f"{overlap} for segments of {size} samples",
                expected="fewer than the samples of a segment",
                fix="Leave it out for half of a segment.",
            )
        )
    transform = size if nfft is None else _integer(name, "nfft", nfft)
    if transform < size:
        raise ValueError(
            message(
                f"scipy.signal.{name}, argument nfft",
                given=f"{transform} for segments of {size} samples",
                expected="no fewer than the samples of a segment",
                fix="Leave it out for the length of a segment.",
            )
        )
    if isinstance(window, (str, tuple)):
        window = _named_window(name, window, size)
    return Segments(size, size - overlap, transform, convert(jnp.asarray(window), dtype))


def _named_window(name: str, window: Any, size: int) -> np.ndarray[Any, Any]:
    coefficients = _SUMS_OF_COSINES.get(window) if isinstance(window, str) else None
    if coefficients is not None:
        return _sum_of_cosines(coefficients, size)
    # Its package takes 0.7 s to import.
    from scipy import signal

    try:
        return signal.get_window(window, size)
    except ValueError as error:
        raise ValueError(
            message(
                f"scipy.signal.{name}, argument window",
                given=f"{window!r} ({error})",
                expected="a window of SciPy's, with its parameters if there are any",
                fix="Write 'hann', or ('kaiser', 8.0), or pass the numbers as an array.",
            )
        ) from None


def _sum_of_cosines(coefficients: tuple[float, ...], size: int) -> np.ndarray[Any, Any]:
    if size == 1:
        return np.ones(1)
    angles = np.linspace(-np.pi, np.pi, size + 1)[:-1]  # From −π on the signs are those of (−1)ᵏ.
    terms = [a * np.cos(k * angles) for k, a in enumerate(coefficients)]
    return np.sum(terms, axis=0)


def _size_of_window(name: str, window: Any, nperseg: int | None, samples: int) -> int:
    shape = window.aval.shape
    fits = len(shape) == 1 and nperseg in (None, shape[0]) and 0 < shape[0] <= samples
    if not fits:
        length = "" if nperseg is None else f", nperseg={nperseg}"
        raise ShapeError(
            message(
                f"scipy.signal.{name}, argument window",
                given=f"an array of shape {shape}{length}, for {samples} samples",
                expected="a vector of nperseg numbers, no longer than the signal",
                fix="Leave out nperseg, or pass the window's length.",
            )
        )
    return shape[0]


def positive(name: str, argument: str, value: Any) -> int:
    """An option that counts samples."""
    number = _integer(name, argument, value)
    if number < 1:
        raise ValueError(
            message(
                f"scipy.signal.{name}, argument {argument}",
                given=f"{value!r}",
                expected="a positive number of samples",
                fix="Leave it out for the usual number.",
            )
        )
    return number


def _integer(name: str, argument: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            message(
                f"scipy.signal.{name}, argument {argument}",
                given=f"{value!r}",
                expected="an integer",
                fix="Round it: samples are counted.",
            )
        ) from None


def detrending(name: str, detrend: Any) -> Callable[[Any], Any]:
    """What takes trends away from segments along the last axis."""
    if detrend is False:
        return lambda x: x
    if callable(detrend):
        return detrend
    if isinstance(detrend, str) and detrend in ("constant", "linear"):
        return without_mean if detrend == "constant" else without_line
    raise ValueError(
        message(
            f"scipy.signal.{name}, argument detrend",
            given=f"{detrend!r}",
            expected="False, 'constant', 'linear' or a function of segments",
            fix="Pass False to keep the segments as they are.",
        )
    )


def one_sided(name: str, wanted: bool, *operands: Any) -> bool:
    """Whether half of the frequencies tell everything: those of real signals."""
    if wanted and any(is_complex(x) for x in operands):
        warnings.warn(
            f"scipy.signal.{name}: the signal is complex, so return_onesided=False.",
            UserWarning,
            stacklevel=4,
        )
        return False
    return bool(wanted)


def spectra(x: Any, segments: Segments, trend: Callable[[Any], Any], half: bool) -> Any:
    """Fourier transforms (..., segments, frequencies) of windowed segments of (..., samples)."""
    pieces = trend(segments.cut(x)) * segments.window
    transform = jnp.fft.rfft if half else jnp.fft.fft
    return transform(pieces, segments.transform)


def frequencies(size: int, fs: Any, half: bool, dtype: Any) -> Any:
    """The frequencies of a transform of a length, with the samples 1/fs apart."""
    return (jnp.fft.rfftfreq if half else jnp.fft.fftfreq)(size, 1 / fs, dtype=dtype)


def overlap_added(pieces: Any, step: int) -> Any:
    """The sum (..., samples) of segments (..., segments, size), each a step behind the last."""
    count, size = pieces.aval.shape[-2:]
    places = np.arange(count)[:, None] * step + np.arange(size)
    length = (count - 1) * step + size
    empty = jnp.zeros((*pieces.aval.shape[:-2], length), pieces.aval.dtype)
    return empty.at[..., places].add(pieces)
