"""Compiled modules of SciPy without their package, which may come later."""

from __future__ import annotations

import subprocess
import sys

import pytest

from morphax.util.scipy_libraries import fast_transforms, linear_algebra, special_functions

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

SPECIAL = """
import sys
import numpy as np
import morphax as jax
import morphax.numpy as jnp

x = jnp.array([0.5, 1.5, 2.5])
given = jax.scipy.special.gamma(x), jax.scipy.special.zeta(x + 1, x), jnp.fft.rfft(x)
assert not {"scipy.special", "scipy.fft"} & set(sys.modules), "the packages are not imported"

import scipy.fft
import scipy.special

assert scipy.special.gamma is sys.modules["scipy.special._ufuncs"].gamma
wide = np.asarray(x, float)
for own, theirs in zip(
    given, (scipy.special.gamma(wide), scipy.special.zeta(wide + 1, wide), scipy.fft.rfft(wide))
):
    np.testing.assert_allclose(own, theirs, rtol=1e-6)
"""


THREADS = """
import threading
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from morphax.util import scipy_libraries

seen = []

class Slow:
    create_module = staticmethod(lambda spec: None)

    @staticmethod
    def exec_module(module):
        other.start()
        other.join(2)  # it waits for this very import, and so does not end
        module.complete = True

class Finder:
    @staticmethod
    def find_spec(name, path):
        slow = name == "scipy.fft._slow"
        return ModuleSpec(name, Slow) if slow else PathFinder.find_spec(name, path)

import_whole = lambda: seen.append(import_module("scipy.fft._slow").complete)
other = threading.Thread(target=import_whole)
scipy_libraries.PathFinder = Finder
assert scipy_libraries._by_itself("fft", "_slow").complete
other.join()
assert seen == [True], "the other thread waits until the module is complete"
"""


@pytest.mark.parametrize(
    "program", [PROGRAM, SPECIAL, THREADS], ids=["linalg", "special", "threads"]
)
def test_a_module_stands_alone_and_its_package_may_come(program: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr


def test_a_module_is_one() -> None:
    assert linear_algebra("cython_blas") is linear_algebra("cython_blas")
    assert special_functions() is special_functions()
    assert fast_transforms() is sys.modules["scipy.fft._pocketfft.pypocketfft"]


def test_an_unknown_release_imports_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.__version__", "1.99.0rc1")
    monkeypatch.delattr("morphax.util.scipy_libraries._by_itself")
    assert special_functions.__wrapped__() is sys.modules["scipy.special._ufuncs"]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"scipy\.linalg\._nothing"):
        linear_algebra("_nothing")
