"""`jax.extend.ifrt_programs`: programs of jaxlib for runtimes that are reached by IFRT."""

from __future__ import annotations

from typing import Any

from ..runtime.client import jaxlib_module


def __getattr__(name: str) -> Any:
    if name == "ifrt_programs":
        return jaxlib_module("_jax").ifrt_programs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
