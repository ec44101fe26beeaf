"""`jax.extend.core`: programs and primitives, for those who write interpreters of their own.

`jax.make_jaxpr` gives a program; `Primitive` makes a new operation; `primitives` names those that
morphax has.
"""

from __future__ import annotations

from ...array.token import Token
from ...core import (
    AbstractToken,
    DropVar,
    Effect,
    Effects,
    Literal,
    Var,
    check_jaxpr,
    jaxprs_in_params,
    no_effects,
)
from ...errors import InconclusiveDimensionOperation, JaxprTypeError
from . import handovers as handovers
from . import primitives
from .call_primitive import CallPrimitive
from .construction import gensym, new_jaxpr_eqn
from .open_primitive import Primitive
from .questions import (
    array_types,
    call_impl,
    jaxpr_as_fun,
    mapped_aval,
    subjaxprs,
    unmapped_aval,
)
from .spelling import ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn
from .trace_state import (
    TraceTag,
    find_top_trace,
    get_opaque_trace_state,
    nonempty_axis_env_DO_NOT_USE,
    set_current_trace,
    take_current_trace,
    unsafe_am_i_under_a_jit_DO_NOT_USE,
    unsafe_am_i_under_a_vmap_DO_NOT_USE,
    unsafe_get_axis_names_DO_NOT_USE,
)
from .value_questions import concrete_or_error, primal_dtype_to_tangent_dtype, valid_jaxtype

__all__ = [
    "AbstractToken",
    "CallPrimitive",
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Token",
    "TraceTag",
    "Var",
    "array_types",
    "call_impl",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
