"""erf of float64 in eager mode: digits, special points, and that SciPy is not imported for it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

WITHOUT_SCIPY = """
import sys
import morphax as jax
jax.config.update("jax_enable_x64", True)
jax.random.truncated_normal(jax.random.key(0), -1.0, 1.0, (10,))
assert "scipy" not in sys.modules
"""


def erf(x: object) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(lax.erf(jnp.asarray(x, np.float64)))


def test_it_has_its_digits() -> None:
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(0)
    ends = [1.0, np.nextafter(1, 0), np.nextafter(1, 2), 5.9, 6.0, 6.1, 30.0, 1e300]
    x = np.concatenate([rng.normal(size=1500) * 2, np.logspace(-307, 0.9, 300), ends])
    with mpmath.workdps(40):
        exact = [mpmath.erf(mpmath.mpf(float(v))) for v in x]
        pairs = zip(erf(x), exact, strict=True)
        errors = [abs(float((y - t) / float(np.spacing(abs(float(t)))))) for y, t in pairs]
    assert max(errors) < 1.7


def test_it_grows_and_is_odd() -> None:
    x = np.sort(np.random.default_rng(1).uniform(-7, 7, 50_000))
    assert (np.diff(erf(x)) >= 0).all()
    np.testing.assert_array_equal(erf(-x), -erf(x))


def test_special_points() -> None:
    points = erf([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324])
    np.testing.assert_array_equal(points, [0.0, -0.0, 1.0, -1.0, np.nan, 5e-324])
    assert np.signbit(points[1])
    assert erf(np.zeros((0, 3))).shape == (0, 3)


def test_truncated_numbers_do_not_import_scipy() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_SCIPY], check=True)
