"""How many threads of its own the BLAS of SciPy has for a call of ours."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Final

from .compiled import part
from .scipy_libraries import linear_algebra

ALONE: Final = 256 * 256
"""Elements of a matrix that the library's threads do not share: they wait for each other, on a busy
machine for a hundred times as long as one takes.  Larger ones as many share as find a processor."""


@cache
def allow_control_of_threads() -> bool:
    """Tell native code, if it may, how it says how many threads the library has; whether it may."""
    functions, compiled = thread_functions(), part("lapack")
    if functions is None or compiled is None:
        return False
    compiled.control_library_threads(*functions)
    return True


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
