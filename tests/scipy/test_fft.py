"""Cosine transforms against SciPy: lengths, norms, axes, dtypes, derivatives, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

from morphax import enable_x64, errors, jit, make_jaxpr, vjp, vmap
from morphax import numpy as jnp
from morphax.core.check import check_jaxpr
from morphax.scipy import fft

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 5, 4)).astype(np.float32)
NAMES = ("dct", "idct", "dctn", "idctn")


def check(name: str, x: Any, rtol: float, **options: Any) -> None:
    """Eager and compiled, against SciPy in double precision."""
    wide = x.astype(np.result_type(x.dtype, np.float64))
    truth = getattr(scipy.fft, name)(wide, **options)
    function = getattr(fft, name)
    for run in (function, jit(lambda x: function(x, **options))):
        given = run(x, **options) if run is function else run(x)
        assert given.dtype == np.result_type(x.dtype, np.float32)
        np.testing.assert_allclose(given, truth, rtol=0, atol=rtol * np.abs(truth).max())


@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 101])
@pytest.mark.parametrize("norm", [None, "backward", "ortho"])
def test_lengths_and_norms(name: str, size: int, norm: str | None) -> None:
    with enable_x64(True):
        check(name, RNG.normal(size=(2, size)), 1e-14, norm=norm)


@pytest.mark.parametrize("options", [{"axis": 0}, {"n": 7, "axis": -1}, {"n": 2, "axis": 1}])
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_one_axis(name: str, options: dict[str, Any]) -> None:
    check(name, X, 1e-6, **options)


@pytest.mark.parametrize("name", ["dctn", "idctn"])
@pytest.mark.parametrize(
    "options",
    [
        {"norm": "ortho"},
        {"axes": (2, 0)},
        {"s": (4, 3)},
        {"s": (2, 6), "axes": (1, -3), "norm": "ortho"},
        {"s": 6, "axes": 1},
    ],
)
def test_several_axes(name: str, options: dict[str, Any]) -> None:
    check(name, X, 1e-6, **options)


@pytest.mark.parametrize("dtype", ["complex64", "int16", "float16"])
def test_dtypes(dtype: str) -> None:
    x = np.round(X * 4).astype(dtype) * (1 + 1j if dtype == "complex64" else np.int8(1))
    check("dct", x, 1e-3 if dtype == "float16" else 1e-6)


def test_nothing_to_do() -> None:
    np.testing.assert_array_equal(fft.dctn(X, axes=()), X)
    assert fft.dctn(1) == 1.0
    assert fft.dct(X[:0]).shape == (0, 5, 4)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_the_inverse_and_transpose_of_the_other(name: str) -> None:
    other = getattr(fft, name[1:] if name.startswith("i") else f"i{name}")
    function = getattr(fft, name)
    np.testing.assert_allclose(other(function(X)), X, atol=1e-6)
    # Of orthogonal maps the transpose is the inverse.
    _, pull = vjp(lambda x: function(x, norm="ortho"), X)
    np.testing.assert_allclose(pull(jnp.asarray(X))[0], other(X, norm="ortho"), atol=1e-6)


def test_batches() -> None:
    given = vmap(lambda x: fft.dct(x, axis=0), 1, 1)(X)
    np.testing.assert_allclose(given, fft.dct(X, axis=0), atol=1e-6)
    check_jaxpr(make_jaxpr(vmap(fft.idctn, 2))(X))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fft.dct(X, 3), NotImplementedError, "argument type"),
        (lambda: fft.dct(X, norm="forward"), ValueError, "argument norm"),
        (lambda: fft.idct(X, n=0), errors.ShapeError, "positive length"),
        (lambda: fft.dct(X, n=2.5), TypeError, "argument n"),
        (lambda: fft.dct(X[:, :0], axis=1), errors.ShapeError, "positive length"),
        (lambda: fft.dct(X, axis=3), ValueError, "argument axis"),
        (lambda: fft.dct(1.0), ValueError, "argument axis"),
        (lambda: fft.dctn(X, axes=(0, -3)), ValueError, "axes that all differ"),
        (lambda: fft.idctn(X, s=(2, 3), axes=(0,)), ValueError, "a length for each axis"),
        (lambda: fft.dct([1.0]), TypeError, r"scipy\.fft\.dct"),
    ],
)
def test_refused(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()
