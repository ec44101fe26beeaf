"""The discrete Fourier transform: precision, what is ignored, batches in place, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

from morphax import core, enable_x64, grad, jit, lax, make_jaxpr, vmap
from morphax.core.dims import symbol
from morphax.errors import InconclusiveDimensionOperation
from tests.lax.engines import check_engines_agree
from tests.lax.test_axis_flow import split_array, texts

Z = np.ones((4, 6), np.complex64)
X = np.ones((4, 6), np.float32)


def test_types_are_numbers_with_names() -> None:
    assert [t.name for t in lax.FftType] == ["FFT", "IFFT", "RFFT", "IRFFT"]
    assert lax.FftType.RFFT == 2
    assert make_jaxpr(lambda z: lax.fft(z, "fft", (6,)))(Z).eqns[0].params == {
        "fft_type": lax.FftType.FFT,
        "fft_lengths": (6,),
    }


@pytest.mark.parametrize("size", [1009, 1024, 3 * 5 * 7 * 11, 20011])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precision_of_long_transforms(size: int, kind: str, dtype: str) -> None:
    """The error of all numbers together is a few roundings, also for large primes."""
    rng = np.random.default_rng(size)
    x = rng.normal(size=size).astype(dtype)
    if kind != "RFFT":
        x = x[: size // 2 + 1] if kind == "IRFFT" else x
        x = x + 1j * rng.normal(size=x.size).astype(dtype)
    truth = getattr(scipy.fft, kind.lower())(x.astype(np.result_type(x, np.longdouble)), size)
    with enable_x64(True):
        for run in (lax.fft, jit(lax.fft, static_argnums=(1, 2))):
            out = np.asarray(run(x, kind, (size,)))
            assert out.real.dtype == dtype
            assert (out.dtype.kind == "f") is (kind == "IRFFT")
            error = np.linalg.norm(out - truth) / np.linalg.norm(truth)
            assert error < 10 * np.finfo(dtype).eps


def test_of_no_axes_is_the_array_itself() -> None:
    assert lax.fft(X, "FFT", ()).dtype == np.complex64
    assert lax.fft(X, "RFFT", ()).dtype == np.float32
    np.testing.assert_array_equal(lax.fft(Z, "IRFFT", ()), Z)


@pytest.mark.parametrize("length", [4, 5])
def test_what_a_real_signal_cannot_have_is_ignored(length: int) -> None:
    spectrum = np.array([[1 + 5j, 2 + 1j, 3 + 7j]], np.complex64)
    plain = spectrum.copy()
    plain[:, [0, 2] if length == 4 else [0]].imag = 0
    given = check_engines_agree(lambda z: lax.fft(z, "IRFFT", (length,)), spectrum, rtol=1e-6)
    expected = check_engines_agree(lambda z: lax.fft(z, "IRFFT", (length,)), plain, rtol=1e-6)
    np.testing.assert_allclose(given, expected, rtol=1e-6)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("size", [1, 2, 7, 40, 1000])
def test_ends_of_the_spectrum_of_a_real_signal_are_real(size: int, engine: str) -> None:
    """Otherwise the angle of a negative number could be −π."""
    x = np.random.default_rng(size).normal(size=(30, 2, size)).astype(np.float32)
    for lengths in ((size,), (2, size)):
        run = jit(
            lambda x, n=lengths: lax.fft(x, "RFFT", n), compiler_options={"jax_cpu_engine": engine}
        )
        for out in (np.asarray(lax.fft(x, "RFFT", lengths)), np.asarray(run(x))):
            ends = out[:, :1, [0, -1] if size % 2 == 0 else [0]]
            np.testing.assert_array_equal(ends.imag, 0)
            assert len(lengths) == 2 or not np.signbit(ends.imag).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_a_number_spreads(bad: float) -> None:
    z = np.array([1, complex(bad, bad), 0, 2, 3], np.complex64)
    for run in (lax.fft, jit(lax.fft, static_argnums=(1, 2))):
        assert not np.isfinite(np.asarray(run(z, "FFT", (5,)))).any()


def test_a_batch_axis_in_front_stays_where_it_is() -> None:
    z = np.ones((2, 3, 4, 5), np.complex64)
    for axis in (0, 1, 2):
        program = make_jaxpr(vmap(lambda z: lax.fft(z, "FFT", (5,)), axis, axis))(z)
        assert [e.primitive.name for e in program.eqns] == ["fft"]
    program = make_jaxpr(vmap(lambda z: lax.fft(z, "FFT", (4,)), 3))(z)
    assert [e.primitive.name for e in program.eqns] == ["transpose", "fft"]


def test_the_axes_that_are_transformed_are_whole_and_known() -> None:
    def last(x: Any) -> Any:
        return lax.fft(x, "RFFT", (8,))

    assert texts(last, split_array((4, 8), "x", "")) == ["c64[4@x,5]"]
    with pytest.raises(TypeError, match="axis 1 of operand 0 whole"):
        texts(last, split_array((4, 8), "", "y"))
    assert texts(grad(lambda x: abs(last(x)).sum()), split_array((4, 8), "x", "")) == ["f32[4@x,8]"]
    n = symbol("n")
    assert core.stage(lambda x: [last(x)], [core.ShapedArray((n, 8), np.float32)])[0].out_avals == (
        core.ShapedArray((n, 5), np.complex64),
    )
    with pytest.raises(InconclusiveDimensionOperation, match="a size that is known"):
        core.stage(lambda x: [lax.fft(x, "RFFT", x.shape)], [core.ShapedArray((n,), np.float32)])


REFUSED = [
    (lambda: lax.fft(Z, "foo", (6,)), ValueError, "fft_type[\\s\\S]*'foo'"),
    (lambda: lax.fft(Z, "Fft", (6,)), ValueError, "fft_type"),
    (lambda: lax.fft(Z, 0, (6,)), TypeError, "fft_type"),
    (lambda: lax.fft(Z, None, (6,)), TypeError, "fft_type"),
    (lambda: lax.fft(Z, "FFT", 6), TypeError, "fft_lengths"),
    (lambda: lax.fft(Z, "FFT", (6.0,)), TypeError, "fft_lengths"),
    (lambda: lax.fft(Z, "FFT", (6, 6)), ValueError, r"ends in \(6, 6\)"),
    (lambda: lax.fft(Z, "FFT", (2, 4, 6)), ValueError, r"ends in \(2, 4, 6\)"),
    (lambda: lax.fft(Z, "FFT", (-6,)), ValueError, r"ends in \(-6,\)"),
    (lambda: lax.fft(1j, "FFT", (1,)), ValueError, r"ends in \(1,\)"),
    (lambda: lax.fft(X, "RFFT", (5,)), ValueError, r"ends in \(5,\)"),
    (lambda: lax.fft(X[:, :0], "RFFT", (0,)), ValueError, "not empty"),
    (lambda: lax.fft(Z, "RFFT", (6,)), ValueError, "real part"),
    (lambda: lax.fft(X.astype(np.float16), "RFFT", (6,)), ValueError, "astype"),
    (lambda: lax.fft(Z, "IRFFT", (6,)), ValueError, r"ends in \(4,\)"),
    (lambda: lax.fft(Z, "IRFFT", (5, 10)), ValueError, r"ends in \(5, 6\)"),
    (lambda: lax.fft(Z[:, :0], "IRFFT", (-2,)), ValueError, "ends in"),
    (
        lambda: lax.fft_p.bind(X, fft_type=lax.FftType.FFT, fft_lengths=(6,)),
        ValueError,
        "complex64 or complex128",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_refused(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()
