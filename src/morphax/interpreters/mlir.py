"""`jax.interpreters.mlir`: lowering rules that emit MLIR operations.

A **lowering rule** takes a `LoweringRuleContext`, one MLIR value per operand and the parameters; it
emits operations of StableHLO, and returns a sequence of values, one per result::

    def rule(ctx, x, y):
        return [hlo.AddOp(x, y).result]


    mlir.register_lowering(my_add_p, rule)

`ir`, the bindings of MLIR, is loaded when it is first asked for; ``hlo`` above is
`morphax.extend.mlir.dialects.stablehlo`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from ..config import current as current_config
from ..core import Jaxpr, Primitive, constants_as_arguments, stage_closed
from ..engines.callbacks import call_python
from ..engines.xla import mlir_context
from ..engines.xla.mlir_parameters import DEVICE_TO_DEVICE_TYPE as DEVICE_TO_DEVICE_TYPE
from ..engines.xla.mlir_parameters import RECV_FROM_HOST_TYPE as RECV_FROM_HOST_TYPE
from ..engines.xla.mlir_parameters import SEND_TO_HOST_TYPE as SEND_TO_HOST_TYPE
from ..engines.xla.mlir_parameters import AxisContext as AxisContext
from ..engines.xla.mlir_parameters import LoweringParameters as LoweringParameters
from ..engines.xla.mlir_parameters import ShapePolyLoweringState as ShapePolyLoweringState
from ..engines.xla.mlir_parameters import ShardingContext as ShardingContext
from ..engines.xla.mlir_parameters import SPMDAxisContext as SPMDAxisContext
from ..engines.xla.mlir_rules import LoweringRules, RegisteredRule, call_text, flat_values
from ..engines.xla.mlir_tokens import TokenSet as TokenSet
from ..engines.xla.rule_context import LoweringRuleContext as LoweringRuleContext
from ..engines.xla.rule_context import ModuleContext as ModuleContext
from ..engines.xla.stablehlo import physical_dtype
from ..extend.core.rules import set_rule
from ..runtime.mesh import Mesh as Mesh
from ..util.memo import memoize
from ..util.messages import message
from ..util.records import dataclass
from .effect_types import lowerable_effects as lowerable_effects
from .mlir_programs import LoweringResult as LoweringResult
from .mlir_programs import call_jaxpr_of
from .mlir_programs import lower_jaxpr_to_fun as lower_jaxpr_to_fun
from .mlir_programs import lower_jaxpr_to_module as lower_jaxpr_to_module
from .mlir_programs import merge_mlir_modules as merge_mlir_modules
from .mlir_values import ConstantHandler as ConstantHandler
from .mlir_values import aval_to_ir_type as aval_to_ir_type
from .mlir_values import aval_to_ir_types as aval_to_ir_types
from .mlir_values import dense_int_array as dense_int_array
from .mlir_values import dense_int_elements as dense_int_elements
from .mlir_values import dtype_to_ir_type as dtype_to_ir_type
from .mlir_values import flatten_ir_types as flatten_ir_types
from .mlir_values import flatten_ir_values as flatten_ir_values
from .mlir_values import i32_attr as i32_attr
from .mlir_values import i64_attr as i64_attr
from .mlir_values import ir_attribute as ir_attribute
from .mlir_values import ir_constant as ir_constant
from .mlir_values import ir_constants as ir_constants
from .mlir_values import ir_tree_registry as ir_tree_registry
from .mlir_values import ir_type_handlers as ir_type_handlers
from .mlir_values import make_ir_context as make_ir_context
from .mlir_values import module_to_bytecode as module_to_bytecode
from .mlir_values import module_to_string as module_to_string
from .mlir_values import register_constant_handler as register_constant_handler
from .mlir_values import shape_tensor as shape_tensor
from .mlir_values import token_type as token_type
from .mlir_values import unflatten_ir_values_like_types as unflatten_ir_values_like_types

LoweringRule = Callable[..., Sequence[Any]]
MeshAxisName = Any


def __getattr__(name: str) -> Any:
    if name == "ir":
        return mlir_context.bindings()
    if name in ("Value", "Token"):
        return mlir_context.bindings().Value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register_lowering(
    prim: Primitive,
    rule: LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Set the lowering rule of a primitive.

    Args:
        prim: the primitive.
        rule: see the text of this module.
        platform: ``"cpu"``, ``"cuda"``, ``"rocm"``, ``"gpu"`` (both), ``"tpu"``; all if left out.
        inline: whether the operations stand where the equation is: the compiler sees to that.
        cacheable: whether equal equations of a program share what the rule emits once.
    """
    known = vars(prim).get("lower")
    rules = known if isinstance(known, LoweringRules) else LoweringRules(prim, prim.lower)
    program = rule.program if isinstance(rule, _FunctionRule) else None
    rules.by_platform[platform] = RegisteredRule(rule, cacheable, program)
    set_rule(prim, "lower", rules)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweringRule:
    """The lowering rule of a primitive that computes what `fun` does.

    A primitive with such a rule runs on every engine, for it is the program of `fun`.

    Args:
        fun: function of arrays, which takes the parameters by keyword.
        multiple_results: whether it returns a sequence.
    """
    return _FunctionRule(fun, multiple_results)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _FunctionRule:
    """Lowering by a function of arrays."""

    function: Callable[..., Any]
    multiple_results: bool

    def __call__(self, ctx: LoweringRuleContext, *args: Any, **params: Any) -> list[Any]:
        name = getattr(self.function, "__name__", "function")
        return _lower_call(ctx, name, self.program(tuple(ctx.avals_in), params), args)

    def program(self, avals: tuple[Any, ...], params: Mapping[str, Any]) -> Jaxpr:
        """The function, traced for operands of these avals."""
        return _program(self, avals, tuple(params.items()), current_config().trace_key)


@memoize
def _program(
    rule: _FunctionRule, avals: tuple[Any, ...], params: tuple[Any, ...], trace_key: object
) -> Jaxpr:
    def flat(*operands: Any) -> Sequence[Any]:
        outs = rule.function(*operands, **dict(params))
        return tuple(outs) if rule.multiple_results else (outs,)

    return stage_closed(flat, avals)


def core_call_lowering(
    ctx: LoweringRuleContext, *args: Any, name: str, backend: str | None = None, call_jaxpr: Any
) -> list[Any]:
    """Results of a call of `call_jaxpr` as a function of its own."""
    return _lower_call(ctx, name, call_jaxpr, args)


def _lower_call(ctx: LoweringRuleContext, name: str, jaxpr: Any, args: Sequence[Any]) -> list[Any]:
    """Results of `jaxpr` in place of the operation of `ctx`, whose effects are its effects."""
    tokens = TokenSet() if ctx.tokens_in is None else ctx.tokens_in
    outs, tokens_out = call_jaxpr_of(ctx.module_context, name, jaxpr, args, tokens)
    if tokens:
        ctx.set_tokens_out(tokens_out)
    return outs


def jaxpr_subcomp(
    ctx: ModuleContext,
    jaxpr: Any,
    name_stack: Any,
    tokens: Any,
    consts_for_constvars: Sequence[Any],
    *args: Any,
    dim_var_values: Sequence[Any],
    const_lowering: dict[Any, Any],
    outer_traceback: Any,
) -> tuple[list[Any], Any]:
    """Results of `jaxpr` for MLIR values of its constants and operands, and the tokens after it."""
    program = constants_as_arguments(jaxpr)
    operands = [*flat_values(consts_for_constvars), *args]
    return call_jaxpr_of(ctx, "jaxpr", program, operands, TokenSet() if tokens is None else tokens)


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Sequence[Any]],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Call a Python function when the program runs: its results, the next token, and `None`.

    Args:
        ctx: of the rule.
        callback: NumPy arrays → a sequence of NumPy arrays.
        token: orders the call; `None` if nothing does.
        operands: MLIR values.
        operand_avals, result_avals: what the callback takes and gives.
        has_side_effect: whether the call happens even if no result is used.
        returns_token: accepted for compatibility.
        partitioned, sharding: accepted for compatibility; programs run on one device.
    """

    def call(*arrays: Any) -> list[Any]:
        results = zip(callback(*arrays), result_avals, strict=True)
        return [_result(callback, r, aval) for r, aval in results]

    ordered = token is not None
    outs = call_text(
        ctx.module_context,
        "callback",
        (operand_avals, result_avals),
        operands,
        lambda builder, *values: call_python(
            builder, call, result_avals, *values, ordered=ordered, has_side_effect=has_side_effect
        ),
        token,
    )
    return outs, outs.pop() if ordered else None, None


def _result(callback: Any, given: Any, aval: Any) -> Any:
    """A result of a callback as memory that XLA can read."""
    array = np.asarray(given, physical_dtype(aval.dtype), order="C")
    if array.shape != aval.shape:
        raise ValueError(
            message(
                f"the Python callback {callback!r}",
                given=f"a result of shape {array.shape}",
                expected=f"{aval.str_short()}",
                fix="Return arrays of the shapes in result_avals.",
            )
        )
    return array
