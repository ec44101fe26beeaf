"""Compiled modules of SciPy by themselves: the package around them takes 0.1 s to import.

They need nothing of that package, which can be imported before or after, and then has the same
modules.
"""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Final

_PACKAGE: Final = "scipy.linalg"


def linear_algebra(name: str) -> ModuleType:
    """The module of that name in `scipy.linalg`, such as ``cython_lapack``."""
    full = f"{_PACKAGE}.{name}"
    known = sys.modules.get(full)
    if known is not None:
        return known
    # Where libraries are to be found on some systems only the package itself knows.
    directory = Path(*import_module("scipy").__path__) / "linalg"
    spec = PathFinder.find_spec(full, [str(directory)])
    if spec is None or spec.loader is None:
        return import_module(full)
    module = sys.modules[full] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[full]
        raise
    return module


def thread_functions() -> tuple[int, int] | None:
    """The addresses of the functions that get and set how many threads the BLAS has.

    `None` if it is another than OpenBLAS.
    """
    library = ctypes.CDLL(linear_algebra("cython_lapack").__file__)
    # SciPy's own copy, which has a name before its names; the system's.
    for name in ("scipy_openblas", "openblas"):
        found = [getattr(library, f"{name}_{verb}_num_threads", None) for verb in ("get", "set")]
        get, set_ = [ctypes.cast(f, ctypes.c_void_p).value if f else None for f in found]
        if get and set_:
            return get, set_
    return None
