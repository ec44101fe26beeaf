"""Compiled modules of SciPy without their package, which may come later."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from morphax.util.scipy_libraries import fast_transforms, linear_algebra, special_functions

# Later ones have other transforms, and special functions that are not known here.
are_known = pytest.mark.skipif(fast_transforms() is None, reason="they are imported with packages")

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
import sys
import threading
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from morphax.util import scipy_libraries

seen, loads = [], []

class Slow:
    create_module = staticmethod(lambda spec: None)

    @staticmethod
    def exec_module(module):
        loads.append(module)
        if len(loads) == 1:
            other.start()
            other.join(1)  # it waits for this very import, and so does not end
            assert len(loads) == 1
        module.complete = True

class Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        slow = name == "scipy.fft._slow"
        return ModuleSpec(name, Slow) if slow else PathFinder.find_spec(name, path)

import_whole = lambda: seen.append(import_module("scipy.fft._slow").complete)
other = threading.Thread(target=import_whole)
scipy_libraries.PathFinder = Finder
sys.meta_path.insert(0, Finder)
assert scipy_libraries._by_itself("fft", "_slow").complete
other.join()
assert seen == [True], "the other thread waits until the module is complete"
assert "_slow" in vars(sys.modules["scipy.fft"]), "and imports it for the package"
"""

NAMED = """
import morphax as jax
import morphax.numpy as jnp

compiled = jax.jit(jnp.linalg.eigh, compiler_options={"jax_cpu_engine": "xla"})
compiled(jnp.eye(3)), jnp.linalg.inv(jnp.eye(3) * 2.0), jnp.fft.rfft(jnp.ones(3))
jax.scipy.special.gamma(jnp.ones(3))

import scipy.linalg.cython_lapack, scipy.linalg.cython_blas, scipy.special._ufuncs

for package, names in (
    (scipy.linalg, ("cython_lapack", "cython_blas", "_flapack")),
    (scipy.special, ("_ufuncs", "_sf_error", "_gufuncs")),
):
    for name in names:
        assert name in vars(package), name
assert "dgetrf" in scipy.linalg.cython_lapack.__pyx_capi__
"""

# The package is begun while a module of it is known by itself.
BEGUN = """
import sys
from importlib import import_module
from types import ModuleType
from morphax.util import scipy_libraries

with scipy_libraries.alone("linalg", "cython_blas"):
    blas = import_module("scipy.linalg.cython_blas")
    package = sys.modules["scipy.linalg"] = ModuleType("scipy.linalg")
assert package.cython_blas is blas
assert sys.modules["scipy.linalg.cython_blas"] is blas
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(PROGRAM, id="linalg"),
        pytest.param(SPECIAL, id="special", marks=are_known),
        pytest.param(THREADS, id="threads"),
        pytest.param(NAMED, id="named"),
        pytest.param(BEGUN, id="begun"),
    ],
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


@are_known
def test_transforms_are_those_of_the_package() -> None:
    assert fast_transforms().c2c is import_module("scipy.fft._pocketfft.pypocketfft").c2c


def test_an_unknown_release_imports_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.__version__", "1.99.0rc1")
    monkeypatch.delattr("morphax.util.scipy_libraries._by_itself")
    assert special_functions.__wrapped__() is sys.modules["scipy.special._ufuncs"]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"scipy\.linalg\._nothing"):
        linear_algebra("_nothing")
