"""Names of a package that are imported when they are first asked for (PEP 562).

A package lists them by module, and repeats the imports under ``if TYPE_CHECKING`` for readers and
type checkers; a test holds the two together.  A name of the list must not be that of a file of the
package: importing the file would put the module in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from .paused_collection import importing


def on_demand(
    package: str, modules: Sequence[str], names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: its ``__name__``.
        modules: names of modules of its own.
        names: what is taken from other modules, by module, relative to the package.

    Example:
        >>> from morphax.util.on_demand import on_demand
        >>> load, _ = on_demand("morphax.util", ["frames"], {"..dtypes": ["finfo"]})
        >>> load("frames").__name__, load("finfo").__name__
        ('morphax.util.frames', 'finfo')
    """
    places = {name: module for module, given in names.items() for name in given}
    space = vars(sys.modules[package])
    stars: list[str] = []

    def load(name: str) -> Any:
        if name == "__all__":
            # What `from package import *` takes: it asks twice, and files have come in between.
            stars.extend([] if stars else [n for n in listed() if not n.startswith("_")])
            return stars
        if name in modules:
            return _imported(f"{package}.{name}")
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = space[name] = getattr(_imported(places[name], package), name)
        return value

    def listed() -> list[str]:
        return sorted({*space, *modules, *places})

    return load, listed


def _imported(name: str, package: str | None = None) -> ModuleType:
    """A module; what it makes stays, so no garbage is looked for meanwhile."""
    with importing():
        return import_module(name, package)
