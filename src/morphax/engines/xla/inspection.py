"""Look into modules: other forms of their text, and what XLA estimates of them."""

from __future__ import annotations

from typing import Any

from ...runtime.client import client, extension, hlo_classes, jaxlib_module


def mlir_module(text: str) -> Any:
    """The module as an object of the MLIR bindings."""
    ir = jaxlib_module("mlir.ir")
    context = ir.Context()
    registry = ir.DialectRegistry()
    jaxlib_module("mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for name in ("stablehlo", "chlo", "sdy"):
        jaxlib_module(f"mlir.dialects.{name}").register_dialect(context)
    with context:
        return ir.Module.parse(text)


def xla_computation(text: str) -> Any:
    """The module in XLA's own form, before optimisation."""
    return extension().mlir.mlir_module_to_xla_computation(text)


def hlo_text(text: str, *, locations: bool = False) -> str:
    """The module as HLO text, before optimisation, with the user's source lines if wanted."""
    computation = xla_computation(text)
    if not locations:
        return str(computation.as_hlo_text())
    options = hlo_classes().HloPrintOptions()
    options.print_metadata = True
    options.print_large_constants = False
    options.print_percent = options.print_program_shape = False
    return str(computation.as_hlo_module().to_string(options))


def estimated_cost(text: str, platform: str) -> dict[str, float]:
    """What XLA estimates of the module before optimisation: operations and bytes moved."""
    module = xla_computation(text).as_hlo_module()
    cost: dict[str, float] = extension().hlo_module_cost_analysis(client(platform), module)
    return cost
