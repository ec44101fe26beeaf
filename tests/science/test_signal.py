"""Filters, smoothing and peaks of signals, against SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.signal

import morphax as jax
from morphax import enable_x64
from morphax.errors import ConcretizationTypeError, ShapeError
from morphax.science import integrate, linalg, ndimage, signal
from morphax.test_util import check_grads

RNG = np.random.default_rng(4)
COEFFICIENTS: list[tuple[Any, Any]] = [
    ([1.0], [2.0]),
    ([2.0], [2.0, 1.0]),
    ([1, 2, 3], [2]),
    ([1.0, 0.5], [1.0, -0.3, 0.2]),
    ([1.0, 2, 3, 4, 5], [1.0, 0.5]),
    ([1j, 1.0], [1.0, 0.5j]),
]
CONDITIONS: list[dict[str, Any]] = [
    {},
    {"height": 0.2, "threshold": 0.1},
    {"height": (None, 1.0)},
    {"threshold": (None, 1.5)},
    {"distance": 3},
    {"distance": 200},
    {"prominence": 0.5},
    {"prominence": (None, 1.0), "wlen": 5},
    {"width": 1, "wlen": 7.2, "rel_height": 1.0},
    {"width": (None, 3), "rel_height": 0.8},
    {"plateau_size": 2},
    {"height": -1, "threshold": 0, "prominence": 0.1, "width": 0.5, "plateau_size": (1, 1)},
]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _close(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


@pytest.mark.parametrize(("b", "a"), COEFFICIENTS, ids=str)
def test_recursive_filters(b: Any, a: Any) -> None:
    order = max(len(b), len(a)) - 1
    for shape, axis in (((12,), 0), ((3, 12), -1), ((12, 2), 0), ((1,), 0), ((2, 1), 1)):
        x = RNG.normal(size=shape)
        _close(signal.lfilter(b, a, x, axis), scipy.signal.lfilter(b, a, x, axis))
        if order:
            state = RNG.normal(size=(*shape[:axis], order, *shape[axis:][1:])) if axis >= 0 else (
                RNG.normal(size=(*shape[:-1], order))
            )  # fmt: skip
            for pair in zip(
                signal.lfilter(b, a, x, axis, state),
                scipy.signal.lfilter(b, a, x, axis, state),
                strict=True,
            ):
                _close(*pair)
    if not order:
        return
    _close(signal.lfilter_zi(b, a), scipy.signal.lfilter_zi(b, a))
    x = RNG.normal(size=(20, 2))
    for padtype in ("odd", "even", "constant", None):
        expected = scipy.signal.filtfilt(b, a, x, 0, padtype, 5)
        _close(signal.filtfilt(b, a, x, 0, padtype, 5), expected)
    _close(signal.filtfilt(b, a, x, 0), scipy.signal.filtfilt(b, a, x, 0))


@pytest.mark.parametrize("order", [1, 4, 5])
def test_sections(order: int) -> None:
    sos = scipy.signal.butter(order, 0.3, output="sos")
    x = RNG.normal(size=(30, 2))
    _close(signal.sosfilt(sos, x, 0), scipy.signal.sosfilt(sos, x, 0))
    _close(signal.sosfilt_zi(sos), scipy.signal.sosfilt_zi(sos))
    for axis, shape in ((0, (2, 2)), (-1, (30, 2))):
        zi = RNG.normal(size=(len(sos), *shape))
        pairs = [p.sosfilt(sos, x, axis, zi) for p in (signal, scipy.signal)]
        for pair in zip(*pairs, strict=True):
            _close(*pair)
    _close(signal.sosfiltfilt(sos, x, 0), scipy.signal.sosfiltfilt(sos, x, 0))
    found = jax.jit(lambda s: signal.sosfiltfilt(s, x, 0, "even", 7))(sos)
    _close(found, scipy.signal.sosfiltfilt(sos, x, 0, "even", 7))
    with pytest.raises(ConcretizationTypeError, match="padlen="):
        jax.jit(lambda s: signal.sosfiltfilt(s, x, 0))(sos)


def test_long_signals_stay_stable() -> None:
    x = RNG.normal(size=5000)
    b, a = scipy.signal.butter(4, 0.05)
    _close(jax.jit(signal.lfilter)(b, a, x), scipy.signal.lfilter(b, a, x))
    sos = scipy.signal.butter(10, 0.02, output="sos")
    with enable_x64(False):
        found = jax.jit(signal.sosfilt)(sos.astype("f4"), x.astype("f4"))
        assert found.dtype == "f4"
    _close(found, scipy.signal.sosfilt(sos.astype("f4"), x.astype("f4")), 1e-4)


def test_derivatives_of_filters() -> None:
    b, a, x = np.array([0.5, 1.0]), np.array([1.5, -0.3, 0.2]), RNG.normal(size=(2, 6))
    check_grads(signal.lfilter, (b, a, x), order=2, atol=1e-4, rtol=1e-4)
    check_grads(lambda b, x: signal.lfilter(b, [2.0], x), (b, x), order=1, atol=1e-4, rtol=1e-4)
    run = lambda x: signal.filtfilt(b, a, x, padlen=3)  # noqa: E731
    check_grads(run, (x,), order=1, atol=1e-4, rtol=1e-4)
    sos = scipy.signal.butter(3, 0.3, output="sos")
    free = np.arange(6) != 3
    run = lambda change, x: signal.sosfilt(sos + free * change, x)  # noqa: E731
    check_grads(run, (np.zeros_like(sos), x), order=1, atol=1e-4, rtol=1e-4)
    many = jax.vmap(signal.lfilter, (0, None, 0))(np.stack([b, 2 * b]), a, x)
    _close(many, [signal.lfilter(b, a, x[0]), signal.lfilter(2 * b, a, x[1])])


@pytest.mark.parametrize("size", [1, 2, 4, 5, 11])
@pytest.mark.parametrize("mode", ["interp", "mirror", "nearest", "constant", "wrap"])
def test_smoothing_by_polynomials(size: int, mode: str) -> None:
    for degree, order in ((0, 0), (1, 1), (3, 0), (4, 2)):
        if degree >= size:
            continue
        options = {"pos": size - 1, "use": "dot"}
        for given in ({}, options):
            expected = scipy.signal.savgol_coeffs(size, degree, order, 0.5, **given)
            _close(signal.savgol_coeffs(size, degree, order, 0.5, **given), expected)
        for x, axis in ((RNG.normal(size=(2, 11)), -1), (RNG.normal(size=(12, 2)), 0)):
            args = (x, size, degree, order, 0.5, axis, mode, 2.0)
            _close(signal.savgol_filter(*args), scipy.signal.savgol_filter(*args))


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_analytic_signals(size: int) -> None:
    x = RNG.normal(size=(3, size))
    for length in (None, 4, 9):
        _close(signal.hilbert(x, length), scipy.signal.hilbert(x, length))
        _close(signal.hilbert(x.T, length, 0), scipy.signal.hilbert(x.T, length, 0))
    check_grads(signal.hilbert, (x,), order=1)


def _signals() -> Iterator[np.ndarray]:
    for size in (0, 1, 2, 3, 9, 40):
        yield RNG.normal(size=size)
    yield RNG.integers(-3, 4, 40)
    for special in (np.nan, np.inf):
        x = RNG.normal(size=30)
        x[[3, 4, 17]] = special, -np.inf, 2.5
        yield x


@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
def test_peaks(conditions: dict[str, Any]) -> None:
    for x in _signals():
        if "distance" in conditions and x.dtype.kind == "i":
            continue  # Which of equal peaks is left out first, SciPy leaves to its sort.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            peaks, properties = scipy.signal.find_peaks(x, **conditions)
        found, at_peaks = signal.find_peaks(x, **conditions)
        assert found.tolist() == peaks.tolist()
        assert set(at_peaks) == set(properties)
        for name, expected in properties.items():
            _close(at_peaks[name], expected)


def test_peaks_that_are_equal() -> None:
    x = np.array([0, 2, 0, 2, 0, 2, 2, 2, 0.0])
    assert signal.find_peaks(x)[0].tolist() == [1, 3, 6]
    # The later of equal peaks stay.
    assert signal.find_peaks(x, distance=3)[0].tolist() == [3, 6]
    assert signal.find_peaks(x, distance=4)[0].tolist() == [1, 6]
    assert signal.find_peaks(x, plateau_size=np.array([1, 1]))[0].tolist() == [1, 3]
    heights = np.linspace(3, 1, 9)
    assert signal.find_peaks(x, height=heights)[0].tolist() == [6]


def test_peaks_among_thousands_of_samples_of_few_values() -> None:
    for kind, x in (
        ("noise", RNG.normal(size=3000)),
        ("trend", RNG.normal(size=1000) + np.arange(1000)),
        ("valley", RNG.normal(size=1000) + abs(np.arange(1000) - 500)),
        ("steps", RNG.integers(0, 4, 2000).astype(float)),
    ):
        # SciPy takes equal peaks in an order of its own, so that those have no distance.
        far = {} if kind == "steps" else {"distance": 30}
        for options in ({}, far, {"prominence": 0}, {"width": 0, "rel_height": 0.9}, {"wlen": 9}):
            full = {"prominence": (None, None)} | options if "wlen" in options else options
            peaks, properties = scipy.signal.find_peaks(x, **full)
            found, at_peaks = jax.jit(partial(signal.find_peaks, **full, size=1400))(x)
            assert found[: len(peaks)].tolist() == peaks.tolist()
            assert (found[len(peaks) :] == -1).all()
            for name, expected in properties.items():
                _close(at_peaks[name][: len(peaks)], expected)


def test_peaks_of_signals_too_short_to_have_any() -> None:
    for size in range(3):
        x = np.arange(float(size))
        found, at_peaks = signal.find_peaks(x, height=0 * x, distance=2, width=0, plateau_size=1)
        assert found.shape == (0,)
        assert {v.shape for v in at_peaks.values()} == {(0,)}
        assert signal.find_peaks(x, prominence=0, size=2)[0].tolist() == [-1, -1]


def test_peaks_of_traced_signals() -> None:
    x = RNG.normal(size=30)
    options = {"prominence": 0.5, "width": 0, "height": 0, "distance": 2}
    peaks, properties = scipy.signal.find_peaks(x, **options)
    found, padded = jax.jit(lambda x: signal.find_peaks(x, **options, size=12))(x)
    assert found.tolist() == [*peaks.tolist(), *[-1] * (12 - len(peaks))]
    for name, expected in properties.items():
        _close(padded[name][: len(peaks)], expected)
        rest = padded[name][len(peaks) :]
        assert np.isnan(rest).all() if rest.dtype.kind == "f" else (rest == -1).all()
    several = np.stack([x, -x])
    rows = jax.vmap(lambda x: signal.find_peaks(x, **options, size=4)[0])(several)
    assert rows.tolist() == [signal.find_peaks(v, **options, size=4)[0].tolist() for v in several]
    with pytest.raises(ConcretizationTypeError):
        jax.jit(signal.find_peaks)(x)

    def measured(x: Any) -> Any:
        properties = signal.find_peaks(x, width=0, height=0, threshold=0, size=3)[1]
        names = ("widths", "prominences", "peak_heights", "left_thresholds", "right_ips")
        return [properties[name] for name in names]

    smooth = np.sin(np.arange(24)) + 0.05 * np.arange(24)
    check_grads(measured, (smooth,), order=2, atol=1e-3, rtol=1e-3, eps=1e-5)


def test_signals_without_samples_and_numbers_that_are_none() -> None:
    for b, a in COEFFICIENTS:
        y, state = signal.lfilter(b, a, np.zeros((2, 0)), zi=np.ones((2, max(len(b), len(a)) - 1)))
        assert y.shape == (2, 0)
        assert (state == 1).all()
    x = np.array([1.0, np.nan, 0, 0, 0])
    for b, a in (([1, 1], [1]), ([1], [1, 0.5])):
        _close(signal.lfilter(b, a, x), scipy.signal.lfilter(b, a, x))
    assert signal.lfilter([1.0], [1, -1], np.array([True, False, True])).tolist() == [1, 1, 2]
    with enable_x64(False):
        assert signal.lfilter([1], [1, -1], np.arange(3)).dtype == np.float32


@pytest.mark.parametrize("given", ["3", None, {}, [2, [3]], np.ones(3), 2j, np.array([None])])
def test_what_is_no_number_is_refused_as_such(given: Any) -> None:
    x = np.ones(5)
    if given is not None:
        with pytest.raises(TypeError, match="find_peaks, argument distance"):
            signal.find_peaks(x, distance=given)
        with pytest.raises(TypeError, match="find_peaks, argument wlen"):
            signal.find_peaks(x, prominence=1, wlen=given)
    with pytest.raises(TypeError, match="find_peaks, argument rel_height"):
        signal.find_peaks(x, width=1, rel_height=given)
    with pytest.raises(TypeError, match="percentile_filter, argument percentile"):
        ndimage.percentile_filter(x, given, 3)
    with pytest.raises((TypeError, ValueError), match="argument t_span"):
        integrate.solve_ivp(lambda t, y: y, 1.0 if given is None else given, x)
    with pytest.raises((TypeError, ValueError), match="argument l_and_u"):
        linalg.solve_banded(given, np.ones((3, 5)), x)


@pytest.mark.parametrize(("size", "error"), [(-1, ValueError), (2.5, TypeError)])
def test_numbers_of_peaks_that_are_refused(size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="find_peaks, argument size"):
        signal.find_peaks(np.ones(5), size=size)


def test_arguments_that_are_refused() -> None:
    x, sos = np.ones(5), np.array([[1.0, 0, 0, 1, 0, 0]])
    for name, args, text in (
        ("lfilter", ([], [1], x), "argument b"),
        ("lfilter", ([1], [[1]], x), "argument a"),
        ("lfilter", ([1], [0, 1], x), "first one is 0"),
        ("lfilter", ([1], [1, 1], x, -1, np.ones(2)), "argument zi"),
        ("lfilter_zi", ([1], [1]), "order 0"),
        ("sosfilt", (np.ones((1, 5)), x), "argument sos"),
        ("sosfilt", (2 * sos, x), "a₀ = 1"),
        ("sosfilt", (sos, x, -1, np.ones((1, 3))), "argument zi"),
        ("filtfilt", ([1], [1, 0.5], x), "longer than the extension"),
        ("filtfilt", ([1], [1, 0.5], x, -1, "other"), "argument padtype"),
        ("savgol_filter", (x, 3, 3), "argument polyorder"),
        ("savgol_filter", (x, 7, 3), "argument window_length"),
        ("savgol_filter", (x, 3, 1, 0, 1, -1, "other"), "argument mode"),
        ("savgol_coeffs", (3, 1, 0, 1, 3), "argument pos"),
        ("hilbert", (1j * x,), "real signal"),
        ("hilbert", (x, 0), "argument N"),
        ("find_peaks", (np.ones((2, 2)),), "argument x"),
        ("find_peaks", (1j * x,), "real signal"),
        ("find_peaks", (x, [1, 2, 3]), "one for each sample"),
        ("find_peaks", (x, None, None, 0), "argument distance"),
        ("find_peaks", (x, None, None, np.nan), "argument distance"),
        ("find_peaks", (x, None, None, None, 1, None, 1), "argument wlen"),
        ("find_peaks", (x, None, None, None, None, 1, None, -1), "argument rel_height"),
    ):
        with pytest.raises(ValueError, match=text):
            getattr(signal, name)(*args)
    with pytest.raises(ShapeError):
        signal.lfilter([1], [1, 1], x, -1, np.ones((1, 1)))
