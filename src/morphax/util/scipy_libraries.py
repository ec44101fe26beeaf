"""Compiled modules of SciPy by themselves: the package around them takes 0.1 s to import.

They need nothing of that package, which can be imported before or after, and then has the same
modules.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Final

_LOCK: Final = RLock()
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
    """The module of that name in a package of SciPy; None if only the package may find it."""
    full = f"scipy.{package}.{name}"
    with _LOCK:
        known = sys.modules.get(full)
        if known is not None:
            return known
        # Where libraries are to be found on some systems only SciPy itself knows.
        directory = Path(*import_module("scipy").__path__).joinpath(*package.split("."))
        spec = PathFinder.find_spec(full, [str(directory)])
        if spec is None or spec.loader is None:
            return None
        module = sys.modules[full] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
        return module
