"""Compiled modules of SciPy by themselves: the package around them takes 0.1 s to import.

They need nothing of that package, which can be imported before or after, and then has the same
modules.
"""

from __future__ import annotations

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
