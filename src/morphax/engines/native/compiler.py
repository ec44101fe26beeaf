"""LLVM, by way of llvmlite: loaded when the first program is compiled, for it takes 30 ms.

An installation may be there and not load: its library is of another system, or there is too little
memory for it.  Programs that the user has not given to this engine are then XLA's.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from ...util.messages import message
from ..engine import Unavailable

_logger: Final = logging.getLogger(__name__)
_faults: Final[list[str]] = []


def llvm() -> Any:
    """The module `llvmlite.binding`.

    Raises:
        Unavailable: it cannot be loaded.
    """
    try:
        return import_module("llvmlite.binding")
    except (ImportError, OSError) as error:
        if not _faults:
            _faults.append(f"llvmlite cannot be loaded: {error}")
            _logger.warning("programs are compiled by XLA alone: %s", _faults[0])
        raise Unavailable(
            message(
                "the native engine",
                given=f"an llvmlite that cannot be loaded: {error}",
                expected="LLVM, which compiles its programs",
                fix="Install llvmlite again, or set jax_cpu_engine to 'xla'.",
            )
        ) from error


def fault_of_compiler() -> str:
    """Why nothing can be compiled, as far as that is known; empty if it may be."""
    if _faults:
        return _faults[0]
    return "" if _is_installed() else "llvmlite is not installed"


@cache
def _is_installed() -> bool:
    try:
        return find_spec("llvmlite") is not None
    except ValueError:
        # What stands for the module says nothing of where it is from.
        return False
