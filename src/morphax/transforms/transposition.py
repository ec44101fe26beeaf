"""Transposition: run a linear program backwards.

If ẏ = A ẋ then x̄ = Aᵀ ȳ.  `transpose_jaxpr` walks the equations of a linear program in reverse, and
each primitive's `transpose` rule turns cotangents of its results into cotangents of its linear
operands; contributions to one variable are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from ..core import (
    Atom,
    Equation,
    Jaxpr,
    Literal,
    Operand,
    Primitive,
    StagingTrace,
    UndefinedPrimal,
    UndefinedValueError,
    Zero,
    attributed_to_transpose,
    check_closed,
    close_open,
    current_trace,
    is_undefined_primal,
    is_zero,
    memoize_fragment,
    new_trace,
    presented,
    without_references,
)
from ..core.dce import eliminate_dead_code
from ..core.partition import Demand, Partition, partition, program, selected, split
from ..lax.ground.linear_structure import add_tangents, instantiate
from ..lax.shape.resharding import tied
from ..util.messages import message
from .known_parts import dependence

T = TypeVar("T")


class TransposeFragment(NamedTuple):
    """Known operands and active cotangents in; cotangents of the active linear operands out."""

    jaxpr: Jaxpr
    active: tuple[bool, ...]

    def spread(self, results: Sequence[T], count: int) -> Sequence[T | None]:
        """A result per operand, `None` where there is none; `count` known operands left out."""
        active = self.active[count:]
        if False not in active:
            return results
        given = iter(results)
        return [next(given) if on else None for on in active]

    def towards(self, wanted: Sequence[bool]) -> TransposeFragment:
        """The part of it that leads to some of the linear operands, which come last."""
        known, linear = self.active[: -len(wanted)], self.active[-len(wanted) :]
        used = [want for on, want in zip(linear, wanted, strict=True) if on]
        return TransposeFragment(_part_for(self.jaxpr, used), (*known, *selected(linear, wanted)))


def _part_for(jaxpr: Jaxpr, used_outputs: Sequence[bool]) -> Jaxpr:
    """A program for some of its results: the second pass of two of which the first does nothing.

    So operations with bodies are taken apart too, loops with the components that they carry.
    """
    outvars = selected(jaxpr.outvars, used_outputs)
    parts = partition(jaxpr, (), outvars, divide=_second_pass_of)
    if parts.first:  # What has effects is not done twice.
        return eliminate_dead_code(jaxpr, used_outputs)[0]
    return program(jaxpr, parts.second, jaxpr.invars, outvars)


def _second_pass_of(eqn: Equation, live: Sequence[bool], live_second: Sequence[bool]) -> Partition:
    return split(eqn, Demand(live, live_second))


def backward_pass(
    jaxpr: Jaxpr, operands: Sequence[Operand], cotangents: Sequence[Operand]
) -> list[Any]:
    """Cotangents of the operands that are `UndefinedPrimal`, `Zero` for the others.

    Args:
        jaxpr: a program linear in the operands that are `UndefinedPrimal`.
        operands: a value or `UndefinedPrimal` per operand.
        cotangents: of the results, `Zero` where there is none.
    """
    jaxpr = without_references(jaxpr)
    linear = tuple(map(is_undefined_primal, operands))
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    known.update(
        {v: x for v, x, lin in zip(jaxpr.invars, operands, linear, strict=True) if not lin}
    )
    waiting = dependence(jaxpr, linear)
    # What no result reads is computed too: dead code is for compilers.
    live = [v for eqn in jaxpr.eqns if eqn not in waiting.equations for v in eqn.outvars]
    live_second = [a for a in jaxpr.outvars if a in waiting.variables]
    parts = partition(jaxpr, live, live_second, waiting.equations)
    for eqn in parts.first:
        _evaluate(eqn, known)
    totals: dict[Any, Any] = {}
    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        if atom in waiting.variables:
            _accumulate(totals, atom, ct)
    for eqn in reversed(parts.second):
        out_cts = [totals.pop(v, None) for v in eqn.outvars]
        if any([ct is not None for ct in out_cts]):
            mask = tuple([a in waiting.variables for a in eqn.invars])
            with attributed_to_transpose(eqn.source):
                _transpose_equation(eqn, mask, out_cts, known, totals)
    return [
        totals.get(v, Zero(v.aval.to_ct_aval())) if lin else Zero(v.aval.to_ct_aval())
        for v, lin in zip(jaxpr.invars, linear, strict=True)
    ]


def _evaluate(eqn: Equation, known: dict[Any, Any]) -> None:
    inputs = [a.val if type(a) is Literal else known[a] for a in eqn.invars]
    result = current_trace().process(eqn.primitive, inputs, eqn.params)
    results = result if eqn.primitive.multiple_results else [result]
    known.update(zip(eqn.outvars, results, strict=True))


def _accumulate(totals: dict[Any, Any], var: Atom, ct: Operand) -> None:
    if not is_zero(ct):
        totals[var] = add_tangents(totals[var], ct) if var in totals else ct


def _transpose_equation(
    eqn: Equation,
    linear: tuple[bool, ...],
    out_cts: Sequence[Any],
    known: dict[Any, Any],
    totals: dict[Any, Any],
) -> None:
    inputs = [
        a.val if type(a) is Literal else known[a]
        for a, lin in zip(eqn.invars, linear, strict=True)
        if not lin
    ]
    fragment = transpose_fragment(
        eqn.primitive,
        tuple(eqn.params.items()),
        tuple([v.aval for v in eqn.invars]),
        linear,
        tuple([v.aval for v in eqn.outvars]),
        tuple([ct is not None for ct in out_cts]),
    )
    results = current_trace().splice(
        fragment.jaxpr, [*inputs, *[ct for ct in out_cts if ct is not None]]
    )
    targets = [a for a, is_active in zip(eqn.invars, fragment.active, strict=True) if is_active]
    for var, ct in zip(targets, results, strict=True):
        _accumulate(totals, var, ct)


@memoize_fragment
def transpose_fragment(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    linear: tuple[bool, ...],
    out_avals: tuple[Any, ...],
    ct_active: tuple[bool, ...],
) -> TransposeFragment:
    """The transpose of one primitive for one signature."""
    # As `stage` does, whose frame would be one more where programs are nested.
    trace = StagingTrace()
    try:
        with new_trace(trace):
            operands, cts = _operands_of_rule(trace, avals, linear, out_avals, ct_active)
            ct = cts if primitive.multiple_results else cts[0]
            results = primitive.transpose(ct, *operands, **dict(params))
            active = tuple(
                [
                    lin and r is not None and not is_zero(r)
                    for r, lin in zip(results, linear, strict=True)
                ]
            )
            outs = [
                tied(r, aval.to_ct_aval())
                for r, aval, is_active in zip(results, avals, active, strict=True)
                if is_active
            ]
            staged, consts = trace.finish(outs)
        jaxpr = close_open(staged, consts)
        _check_defined(jaxpr)
    except UndefinedValueError:
        raise TypeError(_not_linear(primitive, avals, linear)) from None
    return TransposeFragment(jaxpr, active)


def _operands_of_rule(
    trace: StagingTrace,
    avals: Sequence[Any],
    linear: Sequence[bool],
    out_avals: Sequence[Any],
    ct_active: Sequence[bool],
) -> tuple[list[Any], list[Any]]:
    """Operands and cotangents; known operands and then active cotangents are those of `trace`."""
    known = [trace.new_argument(a) for a, lin in zip(avals, linear, strict=True) if not lin]
    known_cts = [
        trace.new_argument(a.to_ct_aval()) for a, on in zip(out_avals, ct_active, strict=True) if on
    ]
    given = iter(presented([*known, *known_cts]))
    operands = [
        UndefinedPrimal(aval) if lin else next(given)
        for aval, lin in zip(avals, linear, strict=True)
    ]
    cts = [
        next(given) if is_active else Zero(aval.to_ct_aval())
        for aval, is_active in zip(out_avals, ct_active, strict=True)
    ]
    return operands, cts


def _check_defined(jaxpr: Jaxpr) -> None:
    """Raise `UndefinedValueError` if a rule took an operand without a value for a number."""
    numbers = [a.val for eqn in jaxpr.eqns for a in eqn.invars if type(a) is Literal]
    if any(map(is_undefined_primal, (*jaxpr.consts, *numbers))):
        raise UndefinedValueError("a constant of the transpose")


def _not_linear(primitive: Primitive, avals: Sequence[Any], linear: Sequence[bool]) -> str:
    places = ", ".join([str(i) for i, on in enumerate(linear) if on])
    return message(
        f"transposition of {primitive}",
        given=f"{', '.join(map(str, avals))}, where what is transposed decides operand {places}",
        expected="a function that is linear in its arguments",
        fix=f"Write the function so that {primitive} gets one of these operands from elsewhere "
        "(in linear_transpose: from the closure), or differentiate it first, with jvp or "
        "linearize.",
    )


def transpose_jaxpr(
    jaxpr: Jaxpr,
    linear: tuple[bool, ...],
    ct_active: tuple[bool, ...],
    forced: bool = False,
) -> TransposeFragment:
    """`open_transpose` of a program in which no pullback of the user closes over a tracer."""
    fragment = open_transpose(jaxpr, linear, ct_active, forced)
    check_closed(fragment.jaxpr)
    return fragment


@memoize_fragment
def open_transpose(
    jaxpr: Jaxpr,
    linear: tuple[bool, ...],
    ct_active: tuple[bool, ...],
    forced: bool = False,
) -> TransposeFragment:
    """The program from known operands and active cotangents to cotangents of linear operands.

    Args:
        jaxpr: the program.
        linear: operands in which it is linear.
        ct_active: results that have a cotangent.
        forced: whether every linear operand gets a cotangent even if it is zero.

    Returns:
        The program, which is open if a pullback of the user closes over a tracer.
    """
    trace = StagingTrace(jaxpr.debug_info.of_derived())
    with new_trace(trace):
        operands = [
            UndefinedPrimal(v.aval) if lin else trace.new_argument(v.aval)
            for v, lin in zip(jaxpr.invars, linear, strict=True)
        ]
        cts = [
            trace.new_argument(v.aval.to_ct_aval()) if on else Zero(v.aval.to_ct_aval())
            for v, on in zip(jaxpr.outvars, ct_active, strict=True)
        ]
        results = backward_pass(jaxpr, operands, cts)
        if forced:
            results = [instantiate(r) if lin else r for r, lin in zip(results, linear, strict=True)]
        active = tuple([not is_zero(r) for r in results])
        pairs = zip(results, jaxpr.invars, strict=True)
        outs = [tied(r, v.aval.to_ct_aval()) for r, v in pairs if not is_zero(r)]
        transposed, consts = trace.finish(outs)
    return TransposeFragment(close_open(transposed, consts), active)
