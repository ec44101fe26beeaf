"""Which exceptions are faults of the library."""

from __future__ import annotations

# A user's program never has to see these; those of Python's containers may also be raised on
# purpose, and then explain themselves.
INTERNAL = (
    "AssertionError",
    "AttributeError",
    "JaxRuntimeError",
    "MLIRError",
    "NameError",
    "RecursionError",
    "RuntimeError",
    "SystemError",
    "UnboundLocalError",
    "XlaRuntimeError",
    "JaxprTypeError",
    "LeakError",
)
EXPLAINED = ("KeyError", "IndexError", "StopIteration", "UnicodeDecodeError", "AttributeError")


def is_internal(error: BaseException) -> bool:
    """Whether an error came from a fault inside, and not from what the program asked for."""
    name = type(error).__name__
    if "given:" in str(error):
        return False
    return name in INTERNAL or name in EXPLAINED
