"""`jax.core`: the few names that are public, and those that have been.

Asking for one of the latter warns; `_dropin/paths.py` lists both.
"""

from __future__ import annotations

import warnings as _warnings

from morphax import core as _core
from morphax import errors as _errors
from morphax import extend as _extend

from ._dropin.paths import CORE as _CORE
from ._dropin.paths import DEPRECATED_CORE as _DEPRECATED_CORE


def __getattr__(name: str) -> object:
    if name in _CORE and hasattr(_core, name):
        value = globals()[name] = getattr(_core, name)
        return value
    if name in _DEPRECATED_CORE:
        for home, path in ((_errors, "errors"), (_extend.core, "extend.core"), (_core, "")):
            if hasattr(home, name):
                moved = f" Use jax.{path}.{name}." if path else ""
                text = f"{__name__}.{name} is deprecated.{moved}"
                _warnings.warn(text, DeprecationWarning, stacklevel=2)
                return getattr(home, name)
    if not name.startswith("_") and hasattr(_extend.core, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; use jax.extend.core")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for name in {*globals(), *_CORE, *_DEPRECATED_CORE} if hasattr(_core, name))
