"""The version of jaxlib, `__version__`, which is read when it is asked for."""

from __future__ import annotations

from importlib.metadata import version as _version


def __getattr__(name: str) -> str:
    if name == "__version__":
        return _version("jaxlib")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
