"""morphax under the name `jax`: see the README of this distribution.

Every module and every object is that of morphax; `_dropin/paths.py` says which there are.
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module

from ._dropin.installation import check_alone as _check_alone

_check_alone()

import morphax as _morphax  # noqa: E402
from morphax.util.frames import treat_as_internal as _treat_as_internal  # noqa: E402

from ._dropin.finder import Finder as _Finder  # noqa: E402
from ._dropin.paths import ABSENT as _ABSENT  # noqa: E402
from ._dropin.paths import MODULES as _MODULES  # noqa: E402
from ._dropin.paths import OWN as _OWN  # noqa: E402
from .version import __version__ as __version__  # noqa: E402
from .version import __version_info__ as __version_info__  # noqa: E402

_treat_as_internal(__path__[0])
_sys.meta_path.insert(0, _Finder())


del annotations


def __getattr__(name: str) -> object:
    """A module, or what morphax has; libraries may put something else in its place."""
    if name == "__all__":  # what `from jax import *` takes
        return [name for name in __dir__() if not name.startswith("_")]
    if name in _MODULES or name in _OWN or name == "_src":
        try:
            return _import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    elif name not in _ABSENT and not name.startswith("_") and hasattr(_morphax, name):
        value = globals()[name] = getattr(_morphax, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    theirs = {name for name in dir(_morphax) if not name.startswith("_")} - _ABSENT
    return sorted({*globals(), *theirs, *_OWN})
