"""Compiled modules of SciPy by themselves: the package around them takes 0.1 s to import.

They need nothing of that package, which can be imported before or after, and then has the same
functions.  The import system finds such a module only while others ask for it (`alone`): it would
not look for the package of a module that it knows, nor name the module there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
_LOADED: Final[dict[str, ModuleType]] = {}


@cache
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
    with alone("special", *_NEEDED):
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


@contextmanager
def alone(package: str, *names: str) -> Iterator[None]:
    """In the block, imports find these modules of a package of SciPy without the package."""
    with _LOCK, ExitStack() as afterwards:
        for name in names:
            if _load(package, name) is not None:
                afterwards.callback(_leave_to_package, f"scipy.{package}", name)
        yield


def _by_itself(package: str, name: str) -> ModuleType | None:
    """The module of that name in a package of SciPy; None if the package is to find it."""
    with alone(package, name):
        return _LOADED.get(f"scipy.{package}.{name}")


def _load(package: str, name: str) -> ModuleType | None:
    """A module that the import system then knows; None if the package is to find it."""
    parent = f"scipy.{package}"
    full = f"{parent}.{name}"
    if parent in sys.modules or _import_lock is None:
        return None  # perhaps in another thread's import, for which the ordinary one waits
    # Another thread may begin to import the package at any time: it waits for the lock of this
    # module, as for each that is being imported, or else would see one without half of its names.
    with _import_lock(full):
        known = sys.modules.get(full) or _LOADED.get(full)
        if known is not None:
            _LOADED[full] = sys.modules[full] = known
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
        _LOADED[full] = module
        return module


def _leave_to_package(parent: str, name: str) -> None:
    """The module is forgotten by the import system, or named in its package.

    In this order: who found the module before it was forgotten and belongs to the package has
    begun to import that, and so the package is seen here.
    """
    full = f"{parent}.{name}"
    sys.modules.pop(full, None)
    package = sys.modules.get(parent)
    if package is not None:
        vars(package).setdefault(name, sys.modules.setdefault(full, _LOADED[full]))
