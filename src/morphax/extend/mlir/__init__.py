"""`jax.extend.mlir`: the bindings of MLIR, loaded when they are first asked for.

`ir` and `passmanager` are the bindings' own modules; `dialects` has one module per dialect.
"""

from __future__ import annotations

from typing import Any

from ...engines.xla.mlir_context import bindings, passes
from . import dialects as dialects


def __getattr__(name: str) -> Any:
    loaders = {"ir": bindings, "passmanager": passes}
    if name not in loaders:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return loaders[name]()
