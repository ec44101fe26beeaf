"""`jax.interpreters.partial_eval`: staging, for those who write interpreters.

`trace_to_jaxpr_dynamic` stages everything; `trace_to_jaxpr_nounits` stages what depends on unknown
arguments and computes the rest.  Functions are `linear_util.WrappedFun`s (or any callables) of flat
values that return a sequence of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

from ..core import (
    AbstractValue,
    DebugInfo,
    Equation,
    Jaxpr,
    Tracer,
    aval_of,
    constants_as_arguments,
    current_trace,
    new_trace,
    stage,
    unknown_function,
)
from ..core import StagingTracer as DynamicJaxprTracer
from ..core import StagingTracer as JaxprTracer
from ..core.dce import dce_call, eliminate_dead_code, without_dead_code
from ..core.partition import Demand, Partition
from ..transforms.linearize import PartialTrace
from ..util.messages import message
from .rule_table import RuleTable

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "Val",
    "custom_partial_eval_rules",
    "dce_jaxpr",
    "dce_jaxpr_call_rule",
    "dce_jaxpr_closed_call_rule",
    "dce_jaxpr_consts",
    "dce_rules",
    "partial_eval_jaxpr_custom_rules",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]

Val = Any

dce_rules = RuleTable("dce", lambda rule: {"dce": rule, "partition": without_dead_code})
"""Rules of dead code elimination: which results of an equation are used, the equation → which of
its operands are used, and the equation without what nothing uses, `None` if nothing is left."""

partial_eval_jaxpr_custom_rules = RuleTable(
    "partial_eval_custom",
    lambda rule: {"partial_eval_custom": rule, "partition": partial(_divided, rule)},
    has=lambda primitive: "partial_eval_custom" in vars(primitive),
)
"""Rules that divide an equation between two passes: what may be saved, which operands are unknown,
which are at hand in the second pass, the equation → the equation of the first pass, that of the
second (`None` for none), which results are unknown, which are at hand in the second pass, and the
variables that the first one leaves for it."""

custom_partial_eval_rules = RuleTable("partial_eval")
"""Rules of primitives for `trace_to_jaxpr_nounits`: the trace, operands of which some are unknown,
the parameters → the results.  `trace.default_process_primitive(primitive, operands, params)` stages
the equation; what is computed from known operands is known."""


def _divided(rule: Any, eqn: Equation, demand: Demand) -> Partition:
    """What two passes do of an equation, by a rule of the table; dead code is not its business."""
    if not demand.unknown and not any(demand.live_second):
        return without_dead_code(eqn, demand)
    unknown = list(demand.unknown) or [False] * len(eqn.invars)
    first, second, unknown_out, _, saved = rule(
        _saveable(demand, eqn), unknown, [True] * len(eqn.invars), eqn
    )
    if demand.unknown:
        return Partition(() if first is None or all(unknown_out) else (first,), (eqn,))
    runs = first is not None and (bool(eqn.effects) or any(demand.live) or bool(saved))
    again = second is not None and any(demand.live_second)
    return Partition((first,) if runs else (), (second,) if again else (), tuple(saved))


def _saveable(demand: Demand, eqn: Equation) -> Any:
    def saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
        return demand.saves is not None and bool(demand.saves(eqn))

    return saveable


dce_jaxpr_call_rule = dce_jaxpr_closed_call_rule = dce_call


def _debug_info(fun: Any) -> DebugInfo:
    return getattr(fun, "debug_info", None) or unknown_function


def _call(fun: Any) -> Any:
    return getattr(fun, "call_wrapped", fun)


def trace_to_jaxpr_dynamic(
    fun: Any,
    in_avals: Sequence[AbstractValue],
    *,
    keep_inputs: Sequence[bool] | None = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Stage a function.

    Args:
        fun: takes one value per aval.
        in_avals: of the arguments.
        keep_inputs: which arguments the program takes, where it uses no others.
        lower: accepted for compatibility; there is one level of types.
        auto_dce: whether to drop equations that no result depends on.

    Returns:
        The program, the avals of its results, and the values of its `constvars`.
    """
    jaxpr, consts = stage(_call(fun), in_avals, _debug_info(fun))
    out_avals = list(jaxpr.out_avals)
    if keep_inputs is not None:
        kept = zip(jaxpr.invars, keep_inputs, strict=True)
        jaxpr = jaxpr.replace(invars=tuple([v for v, keep in kept if keep]))
    if auto_dce:
        everything = [True] * len(out_avals)
        jaxpr, used, _ = dce_jaxpr_consts(jaxpr, everything, instantiate=True)
        consts = [value for value, on in zip(consts, used, strict=True) if on]
    return jaxpr, out_avals, consts


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Drop what no used result depends on, arguments included.

    Args:
        jaxpr: the program, without constants.
        used_outputs: which results to keep; or, for all of them, whether to.
        instantiate: which arguments to keep though they are not used.

    Returns:
        The smaller program, and which arguments it takes.

    Example:
        >>> import morphax as jax
        >>> from morphax.interpreters import partial_eval as pe
        >>> jaxpr = jax.make_jaxpr(lambda x, y: (x + 1.0, y * 2.0))(1.0, 1.0).jaxpr
        >>> smaller, used_inputs = pe.dce_jaxpr(jaxpr, [True, False])
        >>> used_inputs, len(smaller.eqns)
        ([True, False], 1)
    """
    if jaxpr.constvars and not jaxpr.consts:
        raise ValueError(
            message(
                "dce_jaxpr, argument jaxpr",
                given=f"a program with {len(jaxpr.constvars)} constants that have no values",
                expected="a program without constants",
                fix="Use dce_jaxpr_consts, or close the program.",
            )
        )
    smaller, used = eliminate_dead_code(jaxpr, _flags(used_outputs, len(jaxpr.outvars)))
    forced = _flags(instantiate, len(jaxpr.invars))
    kept = [u or f for u, f in zip(used, forced, strict=True)]
    invars = tuple([v for v, keep in zip(jaxpr.invars, kept, strict=True) if keep])
    return smaller.replace(invars=invars, debug_info=jaxpr.debug_info.of_derived()), kept


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """`dce_jaxpr` for a program with constants: also which of these it keeps."""
    count = len(jaxpr.constvars)
    forced = [False] * count + _flags(instantiate, len(jaxpr.invars))
    smaller, kept = dce_jaxpr(constants_as_arguments(jaxpr), used_outputs, forced)
    num_consts = sum(kept[:count])
    consts, invars = smaller.invars[:num_consts], smaller.invars[num_consts:]
    return smaller.replace(constvars=consts, invars=invars), kept[:count], kept[count:]


def _flags(given: bool | Sequence[bool], count: int) -> list[bool]:
    return [given] * count if isinstance(given, bool) else list(given)


@final
class PartialVal(tuple[Any, Any]):
    """A value that is known, ``(None, value)``, or one that is not, ``(aval, None)``."""

    __slots__ = ()

    def __new__(cls, xs: tuple[AbstractValue | None, Any]) -> PartialVal:
        aval, value = xs
        return super().__new__(cls, (aval, value))

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A value that is known."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: AbstractValue) -> PartialVal:
        """A value of which the aval is known."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self[0] is None

    def get_known(self) -> Any:
        """The value, `None` if it is not known."""
        return self[1]

    def get_aval(self) -> Any:
        """The aval, known value or not."""
        return aval_of(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Compute what depends on known arguments alone, and stage the rest.

    Args:
        fun: takes one value per argument.
        pvals: the arguments, known or not.
        instantiate: which results (or whether all) are results of the program though they are
            known.

    Returns:
        The program of the unknown arguments and results, all results, and the values of its
        `constvars`.
    """
    trace = PartialTrace(current_trace())
    with new_trace(trace):
        arguments = [p.get_known() if p.is_known() else trace.new_argument(p[0]) for p in pvals]
        outs = list(_call(fun)(*arguments))
        forced = _flags(instantiate, len(outs))
        staged = [f or _belongs(trace, x) for x, f in zip(outs, forced, strict=True)]
        out_pvals = [
            PartialVal.unknown(aval_of(x)) if on else PartialVal.known(x)
            for x, on in zip(outs, staged, strict=True)
        ]
        jaxpr, consts = trace.finish([x for x, on in zip(outs, staged, strict=True) if on])
    return jaxpr, out_pvals, consts


def _belongs(trace: PartialTrace, x: Any) -> bool:
    return isinstance(x, Tracer) and x._trace is trace
