"""jaxlib's bindings of MLIR: loaded on first use, for programs and rules that are not text."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...runtime.client import jaxlib_module, xla_client


@cache
def bindings() -> Any:
    """The module `jaxlib.mlir.ir`."""
    # It has to find jaxlib's logging as we set it.
    xla_client()
    return jaxlib_module("mlir.ir")


@cache
def passes() -> Any:
    """The module `jaxlib.mlir.passmanager`."""
    return jaxlib_module("mlir.passmanager")


@cache
def dialect(name: str) -> Any:
    """The module of operations of a dialect, such as ``stablehlo`` or ``func``."""
    bindings()
    return jaxlib_module(f"mlir.dialects.{name}")


@cache
def known_dialects() -> Any:
    """The registry of the dialects that come with the bindings."""
    registry = bindings().DialectRegistry()
    jaxlib_module("mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    return registry


@cache
def context_class() -> Any:
    """The class of MLIR contexts that know the dialects of our modules."""

    class JaxIrContext(bindings().Context):  # type: ignore[misc]
        """An MLIR context that knows the dialects of StableHLO."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.append_dialect_registry(known_dialects())
            self.load_all_available_dialects()
            dialect("stablehlo").register_dialect(self)
            dialect("chlo").register_dialect(self)
            dialect("sdy").register_dialect(self)

    return JaxIrContext


def new_context() -> Any:
    """An MLIR context that knows the dialects of our modules."""
    return context_class()()


# The context of all programs of this process; making one takes milliseconds.
shared_context = cache(new_context)


def parsed(text: str | bytes) -> Any:
    """A module object, the only form of a program that jaxlib takes with callbacks."""
    with shared_context():
        return bindings().Module.parse(text)
