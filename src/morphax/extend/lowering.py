"""`jax.extend.lowering`: what lowering rules are given."""

from __future__ import annotations

from typing import Any

from ..engines.xla.mlir_context import context_class, known_dialects
from ..engines.xla.rule_context import LoweringRuleContext as LoweringRuleContext


def __getattr__(name: str) -> Any:
    loaders = {"JaxIrContext": context_class, "upstream_dialects": known_dialects}
    if name not in loaders:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return loaders[name]()
