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
    set_current_trace,
)
from .values import aval_of, is_value, register_value_type

__all__ = [name for name in dir() if not name.startswith("_")]
