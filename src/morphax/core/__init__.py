"""The core: abstract values, jaxprs, primitives and the traces that interpret them.

Start with `primitive` (the contract), then `trace` (how `bind` works) and `staging` (how a jaxpr is
written).
"""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

from ..errors import InconclusiveDimensionOperation, JaxprTypeError
from .atoms import Atom, DropVar, Literal, Var
from .aval import (
    AbstractToken,
    AbstractValue,
    HasAval,
    ShapedArray,
    abstract_token,
    like,
    max_dim,
    min_dim,
)
from .axes import axis_env, axis_size, extended_axis_env, jaxpr_axis_names
from .axis_flow import AxisFlow, each_alone, same_axes, without_axes
from .check import check_jaxpr
from .compile_time import ensure_compile_time_eval
from .debug_info import DebugInfo, unknown_function
from .discharge import Discharged, discharge, stage_discharged, without_references
from .effects import (
    DebugEffect,
    Effect,
    Effects,
    IOEffect,
    OrderedDebugEffect,
    OrderedIOEffect,
    has_ordered,
    no_effects,
    unrepeatable,
)
from .evaluation import eval_context, eval_jaxpr
from .hidden_frames import frames_hidden, frames_hidden_in, hide_frames
from .jaxpr import Equation, Jaxpr, jaxprs_in_params
from .layout import Format, Layout
from .leaks import held_for_a_while
from .mesh import AbstractMesh, AbstractSharding
from .primitive import (
    BatchAxes,
    NoResults,
    NoRule,
    Primitive,
    infer,
    known_primitives,
    not_batchable,
    not_differentiable,
    not_linear,
    undeclared,
)
from .ref_effects import (
    AccumEffect,
    InternalRefs,
    ReadEffect,
    RefEffect,
    WriteEffect,
    internal_refs,
    moved_effects,
)
from .references import AbstractRef, Cell, is_reference, values_of
from .shape_struct import ShapeDtypeStruct
from .source_info import NameStack, SourceInfo, Transform
from .sources import (
    attributed_to,
    attributed_to_running_line,
    attributed_to_transpose,
    equation_source,
    without_source,
)
from .staging import (
    StagingTrace,
    StagingTracer,
    call_program,
    captures_as_operands,
    check_closed,
    close,
    close_open,
    constants_as_arguments,
    is_captured,
    literalable_types,
    operands_as_captures,
    stage,
    stage_closed,
    stage_open,
    stage_with_operands,
    with_operands,
)
from .tangents import (
    UndefinedPrimal,
    UndefinedValueError,
    Zero,
    is_undefined_primal,
    is_zero,
)
from .trace import (
    Trace,
    Tracer,
    apply_jaxpr,
    check_live,
    current_name_stack,
    current_trace,
    extended_name_stack,
    immutable_message,
    install_root_trace,
    is_concrete,
    is_from_outside,
    new_trace,
    note_concretised,
    outside_transformations,
    root_trace,
    set_current_trace,
    set_name_stack,
    times_concretised,
)
from .values import aval_of, is_value, python_scalar_types, register_value_type

__all__ = [
    "AbstractMesh",
    "AbstractRef",
    "AbstractSharding",
    "AbstractToken",
    "AbstractValue",
    "AccumEffect",
    "Atom",
    "AxisFlow",
    "BatchAxes",
    "Cell",
    "DebugEffect",
    "DebugInfo",
    "Discharged",
    "DropVar",
    "Effect",
    "Effects",
    "Equation",
    "Format",
    "HasAval",
    "IOEffect",
    "InconclusiveDimensionOperation",
    "InternalRefs",
    "Jaxpr",
    "JaxprTypeError",
    "Layout",
    "Literal",
    "NameStack",
    "NoResults",
    "NoRule",
    "OrderedDebugEffect",
    "OrderedIOEffect",
    "Primitive",
    "ReadEffect",
    "RefEffect",
    "ShapeDtypeStruct",
    "ShapedArray",
    "SourceInfo",
    "StagingTrace",
    "StagingTracer",
    "Trace",
    "Tracer",
    "Transform",
    "UndefinedPrimal",
    "UndefinedValueError",
    "Var",
    "WriteEffect",
    "Zero",
    "abstract_token",
    "annotations",
    "apply_jaxpr",
    "attributed_to",
    "attributed_to_running_line",
    "attributed_to_transpose",
    "aval_of",
    "axis_env",
    "axis_size",
    "call_program",
    "captures_as_operands",
    "check_closed",
    "check_jaxpr",
    "check_live",
    "close",
    "close_open",
    "constants_as_arguments",
    "current_name_stack",
    "current_trace",
    "discharge",
    "each_alone",
    "ensure_compile_time_eval",
    "equation_source",
    "eval_context",
    "eval_jaxpr",
    "extended_axis_env",
    "extended_name_stack",
    "frames_hidden",
    "frames_hidden_in",
    "has_ordered",
    "held_for_a_while",
    "hide_frames",
    "immutable_message",
    "infer",
    "install_root_trace",
    "internal_refs",
    "is_captured",
    "is_concrete",
    "is_from_outside",
    "is_reference",
    "is_undefined_primal",
    "is_value",
    "is_zero",
    "jaxpr_axis_names",
    "jaxprs_in_params",
    "known_primitives",
    "like",
    "literalable_types",
    "max_dim",
    "min_dim",
    "moved_effects",
    "new_trace",
    "no_effects",
    "not_batchable",
    "not_differentiable",
    "not_linear",
    "note_concretised",
    "operands_as_captures",
    "outside_transformations",
    "register_value_type",
    "root_trace",
    "same_axes",
    "set_current_trace",
    "set_name_stack",
    "stage",
    "stage_closed",
    "stage_discharged",
    "stage_open",
    "stage_with_operands",
    "times_concretised",
    "undeclared",
    "unknown_function",
    "unrepeatable",
    "values_of",
    "with_operands",
    "without_axes",
    "without_references",
    "without_source",
]

# What only code outside asks for, by the module that has it; imported when it does.
_ON_DEMAND = {
    "construction": (
        "OutputType",
        "ParamDict",
        "Value",
        "current_source_info",
        "gensym",
        "new_jaxpr_eqn",
    ),
    "questions": (
        "concrete_or_error",
        "concretization_function_error",
        "find_top_trace",
        "get_opaque_trace_state",
        "is_constant_dim",
        "is_constant_shape",
        "no_axis_name",
        "nonempty_axis_env_DO_NOT_USE",
        "primal_dtype_to_tangent_dtype",
        "python_scalar_types",
        "trace_ctx",
        "unsafe_am_i_under_a_jit_DO_NOT_USE",
        "unsafe_am_i_under_a_vmap_DO_NOT_USE",
        "unsafe_get_axis_names_DO_NOT_USE",
        "valid_jaxtype",
    ),
    "value_table": ("pytype_aval_mappings",),
}


def __getattr__(name: str) -> Any:
    for module, names in _ON_DEMAND.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *itertools.chain(*_ON_DEMAND.values())})
