"""The core: abstract values, jaxprs, primitives and the traces that interpret them.

Start with `primitive` (the contract), then `trace` (how `bind` works) and `staging` (how a jaxpr is
written).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InconclusiveDimensionOperation, JaxprTypeError
from ..util.on_demand import on_demand as _on_demand
from .abstract_sharding import AbstractSharding
from .abstract_value import AbstractValue, DType, HasAval, Operand, Param
from .atoms import Atom, DropVar, Literal, Var
from .aval import ShapedArray, like
from .axes import (
    NamedAxis,
    axes_in_types,
    axis_env,
    axis_size,
    extended_axis_env,
    jaxpr_axis_names,
    with_axes,
)
from .axis_flow import AxisFlow, each_alone, gathered, same_axes, without_axes
from .captures import (
    captures_as_operands,
    constants_as_arguments,
    is_captured,
    operands_as_captures,
    with_operands,
)
from .check import check_jaxpr
from .closing import check_closed, close, close_open
from .compile_time import computes_numbers_at_once, ensure_compile_time_eval
from .debug_info import DebugInfo, unknown_function
from .dims import max_dim, min_dim
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
from .evaluation import eval_jaxpr
from .hidden_frames import frames_hidden, frames_hidden_here, frames_hidden_in, hide_frames
from .high_tracer import HighTracer, contents, presented
from .high_types import AvalQDD
from .jaxpr import Equation, Jaxpr, jaxprs_in_params
from .layout import AutoLayout, Format, Layout
from .leaks import held_for_a_while
from .mesh import AbstractMesh, AxisType
from .missing_rules import NoRule, not_batchable, not_differentiable, not_linear, undeclared
from .operand_effects import StateEffect, high_types, moved_effects
from .primitive import (
    BatchAxes,
    NoResults,
    Primitive,
    infer,
    known_primitives,
)
from .recorded_calls import Calls, call_or_recorded, is_recording, recording
from .ref_effects import (
    AccumEffect,
    InternalRefs,
    ReadEffect,
    RefEffect,
    WriteEffect,
    internal_refs,
)
from .references import AbstractRef, Cell, is_reference, values_of
from .shape_struct import ShapeDtypeStruct
from .source_info import NameStack, SourceInfo, Transform
from .sources import (
    attributed_to,
    attributed_to_running_line,
    attributed_to_transpose,
    equation_source,
    memoize_fragment,
    without_source,
)
from .staging import (
    StagingTrace,
    StagingTracer,
    call_program,
    literalable_types,
    stage,
    stage_closed,
    stage_open,
    stage_with_operands,
)
from .tangents import (
    UndefinedPrimal,
    UndefinedValueError,
    Zero,
    is_undefined_primal,
    is_zero,
)
from .tokens import AbstractToken, abstract_token
from .trace import (
    Tracer,
    apply_jaxpr,
    check_live,
    current_name_stack,
    current_trace,
    extended_name_stack,
    immutable_message,
    install_root_trace,
    is_concrete,
    new_trace,
    note_concretised,
    outside_transformations,
    root_trace,
    set_current_trace,
    set_name_stack,
    times_concretised,
)
from .values import (
    aval_of,
    carriers,
    carries_aval,
    is_value,
    number_in,
    number_of,
    python_scalar_types,
    register_value_type,
)

if TYPE_CHECKING:
    from ..extend.core.call_primitive import CallPrimitive as CallPrimitive
    from ..extend.core.construction import OutputType as OutputType
    from ..extend.core.construction import ParamDict as ParamDict
    from ..extend.core.construction import Value as Value
    from ..extend.core.construction import current_source_info as current_source_info
    from ..extend.core.construction import gensym as gensym
    from ..extend.core.construction import new_jaxpr_eqn as new_jaxpr_eqn
    from ..extend.core.open_trace import Trace as Trace
    from ..extend.core.trace_state import eval_context as eval_context
    from ..extend.core.trace_state import find_top_trace as find_top_trace
    from ..extend.core.trace_state import get_opaque_trace_state as get_opaque_trace_state
    from ..extend.core.trace_state import no_axis_name as no_axis_name
    from ..extend.core.trace_state import (
        nonempty_axis_env_DO_NOT_USE as nonempty_axis_env_DO_NOT_USE,
    )
    from ..extend.core.trace_state import trace_ctx as trace_ctx
    from ..extend.core.trace_state import (
        unsafe_am_i_under_a_jit_DO_NOT_USE as unsafe_am_i_under_a_jit_DO_NOT_USE,
    )
    from ..extend.core.trace_state import (
        unsafe_am_i_under_a_vmap_DO_NOT_USE as unsafe_am_i_under_a_vmap_DO_NOT_USE,
    )
    from ..extend.core.trace_state import (
        unsafe_get_axis_names_DO_NOT_USE as unsafe_get_axis_names_DO_NOT_USE,
    )
    from ..extend.core.value_questions import concrete_or_error as concrete_or_error
    from ..extend.core.value_questions import (
        concretization_function_error as concretization_function_error,
    )
    from ..extend.core.value_questions import is_constant_dim as is_constant_dim
    from ..extend.core.value_questions import is_constant_shape as is_constant_shape
    from ..extend.core.value_questions import (
        primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype,
    )
    from ..extend.core.value_questions import valid_jaxtype as valid_jaxtype
    from ..extend.core.value_table import pytype_aval_mappings as pytype_aval_mappings

__all__ = [
    "AbstractMesh",
    "AbstractRef",
    "AbstractSharding",
    "AbstractToken",
    "AbstractValue",
    "AccumEffect",
    "Atom",
    "AutoLayout",
    "AvalQDD",
    "AxisFlow",
    "AxisType",
    "BatchAxes",
    "Calls",
    "Cell",
    "DType",
    "DebugEffect",
    "DebugInfo",
    "Discharged",
    "DropVar",
    "Effect",
    "Effects",
    "Equation",
    "Format",
    "HasAval",
    "HighTracer",
    "IOEffect",
    "InconclusiveDimensionOperation",
    "InternalRefs",
    "Jaxpr",
    "JaxprTypeError",
    "Layout",
    "Literal",
    "NameStack",
    "NamedAxis",
    "NoResults",
    "NoRule",
    "Operand",
    "OrderedDebugEffect",
    "OrderedIOEffect",
    "Param",
    "Primitive",
    "ReadEffect",
    "RefEffect",
    "ShapeDtypeStruct",
    "ShapedArray",
    "SourceInfo",
    "StagingTrace",
    "StagingTracer",
    "StateEffect",
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
    "axes_in_types",
    "axis_env",
    "axis_size",
    "call_or_recorded",
    "call_program",
    "captures_as_operands",
    "carriers",
    "carries_aval",
    "check_closed",
    "check_jaxpr",
    "check_live",
    "close",
    "close_open",
    "computes_numbers_at_once",
    "constants_as_arguments",
    "contents",
    "current_name_stack",
    "current_trace",
    "discharge",
    "each_alone",
    "ensure_compile_time_eval",
    "equation_source",
    "eval_jaxpr",
    "extended_axis_env",
    "extended_name_stack",
    "frames_hidden",
    "frames_hidden_here",
    "frames_hidden_in",
    "gathered",
    "has_ordered",
    "held_for_a_while",
    "hide_frames",
    "high_types",
    "immutable_message",
    "infer",
    "install_root_trace",
    "internal_refs",
    "is_captured",
    "is_concrete",
    "is_recording",
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
    "memoize_fragment",
    "min_dim",
    "moved_effects",
    "new_trace",
    "no_effects",
    "not_batchable",
    "not_differentiable",
    "not_linear",
    "note_concretised",
    "number_in",
    "number_of",
    "operands_as_captures",
    "outside_transformations",
    "presented",
    "recording",
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
    "with_axes",
    "with_operands",
    "without_axes",
    "without_references",
    "without_source",
]

# What only user code asks for, by the module that has it.
__getattr__, __dir__ = _on_demand(
    __name__,
    (),
    {
        "..extend.core.call_primitive": ("CallPrimitive",),
        "..extend.core.construction": (
            "OutputType",
            "ParamDict",
            "Value",
            "current_source_info",
            "gensym",
            "new_jaxpr_eqn",
        ),
        "..extend.core.open_trace": ("Trace",),
        "..extend.core.trace_state": (
            "eval_context",
            "find_top_trace",
            "get_opaque_trace_state",
            "no_axis_name",
            "nonempty_axis_env_DO_NOT_USE",
            "trace_ctx",
            "unsafe_am_i_under_a_jit_DO_NOT_USE",
            "unsafe_am_i_under_a_vmap_DO_NOT_USE",
            "unsafe_get_axis_names_DO_NOT_USE",
        ),
        "..extend.core.value_questions": (
            "concrete_or_error",
            "concretization_function_error",
            "is_constant_dim",
            "is_constant_shape",
            "primal_dtype_to_tangent_dtype",
            "valid_jaxtype",
        ),
        "..extend.core.value_table": ("pytype_aval_mappings",),
    },
)
