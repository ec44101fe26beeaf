"""The compiled parts of the package, and the one place that decides whether they work.

`morphax._native` is divided into parts, one per subject.  Each part has a twin in Python, which
defines its behaviour and works instead of it where the module was not built, or was built from
other sources than these, or the environment says ``MORPHAX_CORE=python``.  See
docs/design/compiled-calls.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_INTERFACE = 51
"""Changes with the functions that `native/` offers to Python; `native/module.cpp` has it too."""


def _is_usable(module: Any) -> bool:
    if os.environ.get("MORPHAX_CORE") == "python":
        return False
    return getattr(module, "interface", None) == _INTERFACE


try:
    from morphax import _native
except ImportError:  # a source checkout without the compiled module
    _native = None  # type: ignore[assignment]

_module = _native if _is_usable(_native) else None


def part(name: str) -> Any | None:
    """The compiled part of this name, None if its twin is to work."""
    return getattr(_module, name, None)


def twin_in(compiled: Any | None) -> Callable[[F], F]:
    """Decorator of a twin: the function of its name in the part `compiled`, if there is one.

    A leading underscore does not count.
    """

    def choose(function: F) -> F:
        if compiled is None:
            return function
        chosen: F = getattr(compiled, function.__name__.lstrip("_"))
        return chosen

    return choose
