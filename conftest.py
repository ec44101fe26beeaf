"""All tests and doctests keep compiled programs in one directory, which goes when they end.

So no test reads or fills the user's own cache, programs that several tests compile are compiled
once, and the path through the cache is taken by every kind of program there is.  Worker processes
and scripts that tests start inherit the variable.  ``MORPHAX_COMPILATION_CACHE_DIR`` in the
environment is respected: with a directory that stays, the next run hardly compiles.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Generator

import pytest

# Who reads a failure of a test wants to see where in the package it comes from.
os.environ.setdefault("JAX_TRACEBACK_FILTERING", "off")

_VARIABLE = "MORPHAX_COMPILATION_CACHE_DIR"
_folder = None
if _VARIABLE not in os.environ:
    _folder = tempfile.TemporaryDirectory(prefix="morphax-tests-")
    os.environ[_VARIABLE] = _folder.name


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave the tests themselves out of every search for cycles: there are tens of thousands."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Remove the directory, in the process that made it."""
    if _folder is not None:
        _folder.cleanup()
