"""Compiled modules of SciPy without their package, which may come later."""

from __future__ import annotations

import subprocess
import sys

import pytest

from morphax.util.scipy_libraries import linear_algebra

PROGRAM = """
import sys
import numpy as np
import morphax as jax
import morphax.numpy as jnp

compiled = jax.jit(jnp.linalg.eigh, compiler_options={"jax_cpu_engine": "xla"})
values = compiled(np.eye(3) * 0.5)[0]
x = jnp.linalg.inv(jnp.eye(3) * 2.0)
jax.random.multivariate_normal(jax.random.key(0), jnp.zeros(3), jnp.eye(3))
assert "scipy.linalg" not in sys.modules, "the package is not imported"

import scipy.linalg

assert scipy.linalg.lapack.dgetrf is sys.modules["scipy.linalg._flapack"].dgetrf
np.testing.assert_allclose(values, [0.5, 0.5, 0.5])
np.testing.assert_allclose(scipy.linalg.inv(np.eye(3) * 2.0), x)
"""


def test_the_package_is_not_imported_and_may_be() -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr


def test_a_module_is_one() -> None:
    assert linear_algebra("cython_blas") is linear_algebra("cython_blas")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"scipy\.linalg\._nothing"):
        linear_algebra("_nothing")
