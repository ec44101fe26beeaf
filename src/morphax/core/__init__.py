"""The core: abstract values, jaxprs, primitives and the traces that interpret them.

Start with `primitive` (the contract), then `trace` (how `bind` works) and `staging` (how a jaxpr is
written).
"""

from __future__ import annotations

from .atoms import Atom, Literal, Var
from .aval import AbstractToken, AbstractValue, ShapedArray, abstract_token
from .axes import axis_env, axis_size, extended_axis_env, jaxpr_axis_names
from .check import check_jaxpr
from .effects import CallbackEffect, Effect, Effects, no_effects
from .jaxpr import DebugInfo, Equation, Jaxpr, jaxprs_in_params
from .primitive import (
    BatchAxes,
    NoRule,
    Primitive,
    infer,
    not_batchable,
    not_differentiable,
    not_linear,
    undeclared,
)
from .shape_struct import ShapeDtypeStruct
from .staging import (
    StagingTrace,
    StagingTracer,
    call_program,
    close,
    constants_as_arguments,
    stage,
    stage_with_operands,
)
from .tangents import UndefinedPrimal, Zero, is_undefined_primal, is_zero
from .trace import (
    Trace,
    Tracer,
    check_live,
    current_name_stack,
    current_trace,
    eval_jaxpr,
    extended_name_stack,
    immutable_message,
    install_root_trace,
    new_trace,
    root_trace,
    set_current_trace,
)
from .values import aval_of, is_value, register_value_type

__all__ = [
    "AbstractToken",
    "AbstractValue",
    "Atom",
    "BatchAxes",
    "CallbackEffect",
    "DebugInfo",
    "Effect",
    "Effects",
    "Equation",
    "Jaxpr",
    "Literal",
    "NoRule",
    "Primitive",
    "ShapeDtypeStruct",
    "ShapedArray",
    "StagingTrace",
    "StagingTracer",
    "Trace",
    "Tracer",
    "UndefinedPrimal",
    "Var",
    "Zero",
    "abstract_token",
    "annotations",
    "aval_of",
    "axis_env",
    "axis_size",
    "call_program",
    "check_jaxpr",
    "check_live",
    "close",
    "constants_as_arguments",
    "current_name_stack",
    "current_trace",
    "eval_jaxpr",
    "extended_axis_env",
    "extended_name_stack",
    "immutable_message",
    "infer",
    "install_root_trace",
    "is_undefined_primal",
    "is_value",
    "is_zero",
    "jaxpr_axis_names",
    "jaxprs_in_params",
    "new_trace",
    "no_effects",
    "not_batchable",
    "not_differentiable",
    "not_linear",
    "register_value_type",
    "root_trace",
    "set_current_trace",
    "stage",
    "stage_with_operands",
    "undeclared",
]
