"""Compiled modules of SciPy by themselves: the package around them takes 0.1 s to import.

They need nothing of that package, which can be imported before or after, and then has the same
modules.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import _bootstrap, import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Final

_LOCK: Final = RLock()
# The import system's own lock of one module. No other keeps imports by other threads waiting; a
# Python without it imports packages as a whole.
_import_lock: Final = getattr(_bootstrap, "_ModuleLockManager", None)
# What `_ufuncs` asks for, in order; each release has some of these.
_NEEDED: Final = ("_sf_error", "_gufuncs", "_special_ufuncs", "_ufuncs_cxx", "_ellip_harm_2")
_KNOWN_RELEASES: Final = ((1, 14), (1, 17))


def linear_algebra(name: str) -> ModuleType:
    """The module of that name in `scipy.linalg`, such as ``cython_lapack``."""
    return _by_itself("linalg", name) or import_module(f"scipy.linalg.{name}")


@cache
def special_functions() -> ModuleType:
    """The ufuncs of `scipy.special`."""
    release = tuple(map(int, import_module("scipy").__version__.split(".")[:2]))
    # A module that asks for another one than is known here would import the package half way.
    if not _KNOWN_RELEASES[0] <= release <= _KNOWN_RELEASES[1]:
        return import_module("scipy.special._ufuncs")
    with _LOCK:
        for name in _NEEDED:
            _by_itself("special", name)
        return _by_itself("special", "_ufuncs") or import_module("scipy.special._ufuncs")


@cache
def fast_transforms() -> ModuleType | None:
    """The compiled functions that `scipy.fft` reaches after 3 µs of Python; None if they moved."""
    try:
        return _by_itself("fft._pocketfft", "pypocketfft") or import_module(
            "scipy.fft._pocketfft.pypocketfft"
        )
    except ImportError:
        return None


@cache
def sparse_systems() -> ModuleType:
    """SuperLU's functions."""
    package = "sparse.linalg._dsolve"
    return _by_itself(package, "_superlu") or import_module(f"scipy.{package}._superlu")


def _by_itself(package: str, name: str) -> ModuleType | None:
    """The module of that name in a package of SciPy; None if the package is to find it."""
    parent = f"scipy.{package}"
    full = f"{parent}.{name}"
    if parent in sys.modules or _import_lock is None:
        return None  # perhaps in another thread's import, for which the ordinary one waits
    # Another thread may begin to import the package at any time: it waits for the lock of this
    # module, as for each that is being imported, or else would see one without half of its names.
    with _LOCK, _import_lock(full):
        known = sys.modules.get(full)
        if known is not None:
            return known
        # Where libraries are to be found on some systems only SciPy itself knows.
        directory = Path(*import_module("scipy").__path__).joinpath(*package.split("."))
        spec = PathFinder.find_spec(full, [str(directory)])
        if spec is None or spec.loader is None:
            return None
        module = module_from_spec(spec)
        # By this mark an import knows that it has to wait for the lock.
        spec._initializing = True  # type: ignore[attr-defined]
        sys.modules[full] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
        finally:
            spec._initializing = False  # type: ignore[attr-defined]
        return module
