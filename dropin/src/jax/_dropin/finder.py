"""The finder: importing ``jax.X`` imports ``morphax.X``, and is the same module.

It stands first among the finders, for the packages of morphax have a `__path__`, along which Python
would find their files again and make second copies of them, as ``jax.X``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Final, final

from .paths import MODULES, NAMED, OWN
from .private import PrivateModule, is_private_module

PREFIX: Final = "jax."


@final
class Twin(Loader):
    """Loads a module of morphax under a second name."""

    def __init__(self, spec: ModuleSpec) -> None:
        self._spec = spec  # that of the module of morphax

    def exec_module(self, module: ModuleType) -> None:
        # Python goes on with what the table of modules has now, and leaves its attributes alone.
        twin = sys.modules[module.__name__] = import_module(self._spec.name)
        if module.__name__.removeprefix(PREFIX) in NAMED:
            twin.__name__ = module.__name__

    def get_code(self, fullname: str) -> CodeType:
        """What ``python -m`` runs: the module of morphax, in the package that it knows."""
        run = f"import runpy\nrunpy.run_module({self._spec.name!r}, None, '__main__', True)"
        return compile(run, f"<{fullname}>", "exec")


@final
class Private(Loader):
    """Makes a module of `jax._src`."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return PrivateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is to be run: names are looked up when they are asked for."""


@final
class Finder(MetaPathFinder):
    """Finds the modules of `jax`."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if not fullname.startswith(PREFIX):
            return None
        inner = fullname[len(PREFIX) :]
        if inner in MODULES and (spec := find_spec(f"morphax.{inner}")) is not None:
            is_package = spec.submodule_search_locations is not None
            return ModuleSpec(fullname, Twin(spec), origin=spec.origin, is_package=is_package)
        if is_private_module(inner):
            return ModuleSpec(fullname, Private(), is_package=True)
        if inner.partition(".")[0] in {*OWN, "_dropin"} or "." not in inner:
            return None  # files of this distribution; or there is nothing, as Python will find
        if inner.rpartition(".")[0] in NAMED and find_spec(f"morphax.{inner}") is not None:
            # `from . import x` in such a package asks for x by the name that the package has here,
            # passes over the error, and takes the attribute.
            import_module(f"morphax.{inner}")
        raise ModuleNotFoundError(_absence(fullname, inner), name=fullname)


def _absence(fullname: str, inner: str) -> str:
    if inner in MODULES:
        return f"No module named {fullname!r}: JAX has it, morphax does not"
    if inner.startswith("_src."):
        return (
            f"No module named {fullname!r}: it is private to JAX, and these are not its sources; "
            "use the public name"
        )
    return f"No module named {fullname!r}"
