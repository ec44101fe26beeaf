"""Convolutions, trends and spectra of signals, against SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.signal as reference

import morphax as jax
import morphax.scipy.integrate as integrate
import morphax.scipy.signal as signal
from morphax import enable_x64, lax
from morphax.errors import ShapeError
from morphax.scipy.signal._segments import _named_window
from morphax.test_util import check_grads

RNG = np.random.default_rng(0)
LONG, SHORT = RNG.normal(size=(6, 5)), RNG.normal(size=(2, 3))
X, Y = RNG.normal(size=(2, 3, 40))
MODES = ("full", "same", "valid")


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, 1e-9, 1e-12)


@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("turn", [1, 1 + 2j])
def test_convolutions(name: str, mode: str, turn: complex) -> None:
    for a, b in ((LONG * turn, SHORT / turn), (SHORT * turn, LONG), (LONG[0], SHORT[0] * turn)):
        _close(getattr(signal, name)(a, b, mode), getattr(reference, name)(a, b, mode))


@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
@pytest.mark.parametrize("mode", MODES)
def test_convolutions_of_matrices(name: str, mode: str) -> None:
    for a, b in ((LONG, SHORT * 1j), (SHORT, LONG * 1j), (LONG[:4, :4], LONG[:4, :4])):
        _close(getattr(signal, name)(a, b, mode), getattr(reference, name)(a, b, mode))


@pytest.mark.parametrize("mode", MODES)
def test_convolutions_by_transforms(mode: str) -> None:
    for name in ("convolve", "correlate"):
        found = getattr(signal, name)(LONG, SHORT, mode, method="fft")
        _close(found, getattr(reference, name)(LONG, SHORT, mode))
    for axes in (0, (1,), (-1, 0), ()):
        along = np.atleast_1d(axes).astype(int) % 2
        b = LONG[: 2 if 0 in along else None, : 3 if 1 in along else None]
        found = signal.fftconvolve(LONG, b, mode, axes)
        _close(found, reference.fftconvolve(LONG, b, mode, axes) if along.size else LONG * b)


def test_derivatives_of_convolutions() -> None:
    for run in (signal.convolve, signal.correlate2d, signal.fftconvolve):
        check_grads(lambda a, b, run=run: run(a, b, "same"), (LONG, SHORT), order=2)


def test_dtypes_of_convolutions() -> None:
    assert signal.convolve(np.arange(3), np.ones(2, bool)).dtype == np.float64
    assert signal.convolve(np.ones(3, np.float16), np.ones(2, np.float16)).dtype == np.float16
    by_transforms = signal.fftconvolve(np.arange(4, dtype=np.float16), np.ones(2, np.float16))
    assert by_transforms.dtype == np.float16
    np.testing.assert_allclose(by_transforms, [0, 1, 3, 5, 3], atol=1e-3)
    assert signal.correlate(np.float32(2), np.complex64(1j)) == -2j
    weak = lax.full((4,), 0.5)
    for run in (signal.convolve, signal.correlate):
        assert run(weak, weak).weak_type
        assert not run(weak, weak, method="fft").weak_type
        assert run(weak, weak.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64])
def test_frequencies_have_the_precision_of_the_signal(dtype: Any) -> None:
    x = np.ones(8, dtype)
    expected = x.real.dtype
    for found in (signal.welch, lambda x, **kw: signal.csd(x, x, **kw), signal.stft):
        assert found(x, nperseg=4, return_onesided=False)[0].dtype == expected


def test_operands_that_cannot_be_convolved() -> None:
    for name in ("convolve", "correlate", "fftconvolve"):
        run = getattr(signal, name)
        with pytest.raises(ValueError, match="argument mode"):
            run(X, Y, "some")
        with pytest.raises(ShapeError, match="as many axes"):
            run(X, Y[0])
        with pytest.raises(ShapeError, match="at least as large"):
            run(np.ones((3, 5)), np.ones((4, 2)), "valid")
    with pytest.raises(ShapeError, match="not empty"):
        signal.convolve(np.ones(0), np.ones(2))
    for mode in ("full", "same", "valid"):
        for x, y in ((np.ones(0), np.ones(2)), (np.ones(2), np.ones(0))):
            with pytest.raises(ShapeError, match="not empty"):
                signal.fftconvolve(x, y, mode)
    assert signal.fftconvolve(np.ones((0, 3)), np.ones((0, 2)), axes=1).shape == (0, 4)
    with pytest.raises(ValueError, match="argument method"):
        signal.correlate(X, Y, method="slow")
    with pytest.raises(NotImplementedError, match="boundary='wrap'"):
        signal.convolve2d(LONG, SHORT, boundary="wrap")
    with pytest.raises(ShapeError, match="two matrices"):
        signal.correlate2d(X[0], Y[0])
    with pytest.raises(ShapeError, match="same lengths along the other axes"):
        signal.fftconvolve(LONG, SHORT, axes=0)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["linear", "constant"])
@pytest.mark.parametrize("bp", [0, [1, 2]])
def test_detrend(axis: int, kind: str, bp: Any) -> None:
    _close(signal.detrend(X, axis, kind, bp), reference.detrend(X, axis, kind, bp))
    _close(signal.detrend(X * 1j, axis, kind, bp), reference.detrend(X * 1j, axis, kind, bp))


def test_trends_at_the_edges() -> None:
    assert signal.detrend(np.ones(1)) == 0
    assert signal.detrend(np.ones((2, 0))).shape == (2, 0)
    line = np.arange(4000, dtype=np.float32) + 1e4
    assert abs(signal.detrend(line.astype(np.float32))).max() < 0.01
    with pytest.raises(ValueError, match="argument type"):
        signal.detrend(X, type="l")
    with pytest.raises(NotImplementedError, match="overwrite_data"):
        signal.detrend(X, overwrite_data=True)  # type: ignore[arg-type]
    for bp, kind in ((41, ShapeError), (-1, ShapeError), (0.5, TypeError), ([[1, 2]], ShapeError)):
        with pytest.raises(kind, match="argument bp"):
            signal.detrend(X, bp=bp)  # type: ignore[arg-type]


SPECTRA = (
    {"nperseg": 8},
    {"nperseg": 9, "noverlap": 3, "axis": 0},
    {"nperseg": 16, "nfft": 20, "detrend": "linear", "window": ("kaiser", 3.0)},
    {"nperseg": 7, "noverlap": -2, "return_onesided": False},
)


@pytest.mark.parametrize("options", SPECTRA)
@pytest.mark.parametrize("scaling", ["density", "spectrum"])
@pytest.mark.parametrize("average", ["mean", "median"])
def test_densities(options: dict[str, Any], scaling: str, average: str) -> None:
    x, y = (X.T, Y.T) if options.get("axis") == 0 else (X, Y)
    options = {**options, "fs": 2.5, "scaling": scaling, "average": average}
    for found, expected in (
        (signal.welch(x, **options), reference.welch(x, **options)),
        (signal.csd(x, y, **options), reference.csd(x, y, **options)),
        (signal.csd(x, None, **options), reference.csd(x, x, **options)),
    ):
        _close(found[0], expected[0])
        _close(found[1], expected[1])


@pytest.mark.parametrize("options", SPECTRA)
@pytest.mark.parametrize("boundary", ["zeros", "even", "odd", "constant", None])
@pytest.mark.parametrize("padded", [True, False])
def test_short_time_transforms(options: dict[str, Any], boundary: Any, padded: bool) -> None:
    x = X.T if options.get("axis") == 0 else X
    options = {**options, "boundary": boundary, "padded": padded}
    found, expected = signal.stft(x, **options), reference.stft(x, **options)
    for f, e in zip(found, expected, strict=True):
        _close(f, e)
    if boundary is None or options.get("noverlap") == -2:
        return
    back = {name: options.get(name) for name in ("nperseg", "noverlap", "nfft")}
    back["window"], axis = options.get("window", "hann"), options.get("axis", -2)
    given = signal.istft(found[2], **back, freq_axis=axis)
    _close(given[1], reference.istft(expected[2], **back, freq_axis=axis)[1])
    assert given[0].shape == given[1].shape[-1:]
    if padded and "detrend" not in options:
        _close(given[1][:, :40], X)


def test_spectra_of_complex_signals() -> None:
    for name in ("welch", "stft"):
        with pytest.warns(UserWarning, match="return_onesided=False"):
            found = getattr(signal, name)(X * (1 + 2j), nperseg=8)
        expected = getattr(reference, name)(X * (1 + 2j), nperseg=8, return_onesided=False)
        _close(found[-1], expected[-1])
    z = signal.stft(X * 1j, nperseg=8, return_onesided=False)[2]
    _close(signal.istft(z, input_onesided=False)[1], X * 1j)


@pytest.mark.parametrize("name", ["boxcar", "hann", "hamming", "blackman", "blackmanharris"])
def test_windows_that_are_sums_of_cosines(name: str) -> None:
    for size in (1, 2, 3, 8, 15, 256):
        found = _named_window("welch", name, size)
        np.testing.assert_allclose(found, reference.get_window(name, size), atol=1e-15)


def test_spectra_at_the_edges() -> None:
    with pytest.warns(UserWarning, match="cut to its 40 samples"):
        _close(signal.welch(X)[1], reference.welch(X, nperseg=40)[1])
    window = np.hanning(8)
    _close(signal.welch(X, window=window)[1], reference.welch(X, window=window)[1])
    _close(
        signal.csd(X, Y[:1, :20], nperseg=8)[1],
        reference.csd(X, np.broadcast_to(Y[:1, :20], (3, 20)), nperseg=8)[1],
    )
    assert [v.shape for v in signal.stft(X[:, :0], nperseg=8)] == [(3, 0)] * 3
    z = signal.stft(X, nperseg=8)[2]
    with pytest.warns(UserWarning, match="do not cover all samples"):
        signal.istft(z, noverlap=0)
    check_grads(lambda x: signal.welch(x, nperseg=8)[1], (X,), order=2)
    check_grads(lambda x: signal.istft(signal.stft(x, nperseg=8)[2])[1], (X,), order=2)
    same = jax.jit(lambda x: signal.istft(signal.stft(x, nperseg=8)[2])[1])(X)
    _close(same, X)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"nperseg": 0}, "argument nperseg"),
        ({"nperseg": 8, "noverlap": 8}, "argument noverlap"),
        ({"nperseg": 8, "nfft": 4}, "argument nfft"),
        ({"nperseg": 8, "detrend": True}, "argument detrend"),
        ({"nperseg": 8, "axis": 2}, "axis"),
        ({"nperseg": 8, "window": "none such"}, "window"),
        ({"nperseg": 9, "window": np.ones(8)}, "argument window"),
        ({"nperseg": None, "window": np.ones((2, 2))}, "argument window"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], text: str) -> None:
    for run in (signal.stft, signal.welch):
        with pytest.raises(ValueError, match=text):
            run(X, **options)


def test_more_options_that_are_refused() -> None:
    with pytest.raises(TypeError, match="argument nperseg"):
        signal.welch(X, nperseg=8.5)  # type: ignore[arg-type]
    for window in ("none such", ("kaiser",)):
        with pytest.raises(ValueError, match="argument window"):
            signal.welch(X, nperseg=8, window=window)
    for name in ("scaling", "average"):
        with pytest.raises(ValueError, match=f"argument {name}"):
            signal.welch(X, nperseg=8, **{name: "none such"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="float32 or float64"):
        signal.welch(lax.convert_element_type(X, "bfloat16"), nperseg=8)
    with pytest.raises(ValueError, match="argument boundary"):
        signal.stft(X, nperseg=8, boundary="none such")
    with pytest.raises(ShapeError, match="as many axes"):
        signal.csd(X, Y[0])
    z = signal.stft(X, nperseg=8)[2]
    with pytest.raises(ShapeError, match="two different axes"):
        signal.istft(z, time_axis=1, freq_axis=-2)
    with pytest.raises(ShapeError, match="argument Zxx"):
        signal.istft(z[0, 0])
    with pytest.raises(ShapeError, match="vector of 8 numbers"):
        signal.istft(z, window=np.ones(5))


def test_trapezoid() -> None:
    x = np.sort(RNG.normal(size=40))
    _close(integrate.trapezoid(X, x), scipy.integrate.trapezoid(X, x))
    _close(integrate.trapezoid(X, dx=0.5, axis=0), scipy.integrate.trapezoid(X, dx=0.5, axis=0))
    assert integrate.trapezoid(np.ones((2, 1))).tolist() == [0, 0]
    assert integrate.trapezoid(np.arange(3, dtype=np.int32)) == 2
    with pytest.raises(TypeError, match="list"):
        integrate.trapezoid([1.0, 2.0])
