"""Programs of truncated Taylor series: a jaxpr that maps coefficients to coefficients.

A value with its coefficients is a *bundle*: the value, and behind it the coefficients 1 … n if it
varies.  The operands and results of a jet program are bundles, so operations with a body keep the
order of their operands.  Series of other operations come from `transforms.taylor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from ..core import (
    Atom,
    Equation,
    Jaxpr,
    Literal,
    Operand,
    Param,
    Primitive,
    attributed_to,
    current_trace,
    stage_closed,
)
from ..lax.ground.linear_structure import instantiate
from ..transforms.taylor import Given, Graph, Series
from ..util.memo import memoize
from .bodies.body_primitive import HasBodies
from .bodies.fixpoint import Mask
from .bodies.lifting import Lift, Masks, joined, lifted, looking_on
from .bodies.wiring import Parts
from .checkpoint.checkpoint_primitive import checkpoint_p
from .custom.custom_vjp_primitives import custom_vjp_call_p

# Values and coefficients 1 … n of the operands, params → those of the result(s).
Rule = Callable[..., tuple[Any, Any]]

jet_rules: dict[Primitive, Rule] = {}
"""Rules of users: (values, coefficients 1 … n of each, **params) → value(s), coefficients.

Coefficients are those of powers of t, without factorials.  A primitive that is not here follows its
jvp rule.
"""


class JetProgram(NamedTuple):
    """A program on bundles: which of its results vary."""

    jaxpr: Jaxpr
    out_varies: Mask


def jet_jaxpr(jaxpr: Jaxpr, order: int, varies: Mask, forced: Mask | None = None) -> JetProgram:
    """The program that computes `jaxpr` on bundles.

    Args:
        jaxpr: the program.
        order: number of coefficients besides the value.
        varies: which operands have coefficients.
        forced: results that get coefficients even if they are zero.
    """
    return _jet_jaxpr(jaxpr, order, varies, forced, tuple(jet_rules.items()))


@memoize
def _jet_jaxpr(
    jaxpr: Jaxpr,
    order: int,
    varies: Mask,
    forced: Mask | None,
    rules: tuple[tuple[Primitive, Rule], ...],
) -> JetProgram:
    """The program under these rules of users."""
    out_varies: list[bool] = []

    def function(*flat: Operand) -> list[Any]:
        outs = run(jaxpr, unbundled(flat, varies, order), order)
        must = forced or (False,) * len(outs)
        out_varies.extend([x.varies or on for x, on in zip(outs, must, strict=True)])
        return bundled(outs, out_varies, order)

    avals = [
        a
        for aval, on in zip(jaxpr.in_avals, varies, strict=True)
        for a in [aval, *[aval.to_tangent_aval()] * (order if on else 0)]
    ]
    program = stage_closed(function, avals, jaxpr.debug_info.of_derived())
    return JetProgram(program, tuple(out_varies))


def bundled(values: Sequence[Series], varies: Sequence[bool], order: int) -> list[Any]:
    """Series as a flat list of bundles."""
    return [
        instantiate(x.coefficient(k))
        for x, on in zip(values, varies, strict=True)
        for k in range(order + 1 if on else 1)
    ]


def unbundled(flat: Sequence[Any], varies: Sequence[bool], order: int) -> list[Series]:
    """Series from a flat list of bundles."""
    given = iter(flat)
    return [Given([next(given) for _ in range(order + 1 if on else 1)]) for on in varies]


def run(jaxpr: Jaxpr, operands: Sequence[Series], order: int) -> list[Series]:
    """The results of a program as series, computed in the current trace equation by equation."""
    graph = Graph()
    env: dict[Atom, Series] = dict(zip(jaxpr.invars, operands, strict=True))
    env.update(zip(jaxpr.constvars, [Given([x]) for x in jaxpr.consts], strict=True))
    for eqn in jaxpr.eqns:
        inputs = [_series(a, env) for a in eqn.invars]
        with attributed_to(eqn.source):
            results = _apply(graph, eqn, inputs, order)
        for x in results:
            for k in range(order + 1):
                x.coefficient(k)
        env.update(zip(eqn.outvars, results, strict=True))
    return [_series(a, env) for a in jaxpr.outvars]


def _series(atom: Atom, env: dict[Atom, Series]) -> Series:
    return Given([atom.val]) if type(atom) is Literal else env[atom]


def _apply(graph: Graph, eqn: Equation, inputs: Sequence[Series], order: int) -> Sequence[Series]:
    if not any([x.varies for x in inputs]):
        return [Given([x]) for x in _bind(eqn.primitive, _values(inputs), eqn.params)]
    if eqn.primitive in jet_rules:
        return _by_rule(eqn, inputs, order)
    if eqn.primitive in (checkpoint_p, custom_vjp_call_p):
        # They are their program, as far as series are concerned.
        return run(eqn.params[eqn.primitive.program], inputs, order)
    if isinstance(eqn.primitive, HasBodies):
        return _jet_of_bodies(eqn.primitive, eqn.params, inputs, order)
    results = graph.apply(eqn.primitive, eqn.params, inputs)
    if not results:  # it is there for its effect
        _bind(eqn.primitive, _values(inputs), eqn.params)
    return results


def _values(series: Sequence[Series]) -> list[Any]:
    return [x.coefficient(0) for x in series]


def _bind(primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]) -> list[Any]:
    result = current_trace().process(primitive, operands, params)
    return list(result) if primitive.multiple_results else [result]


def _by_rule(eqn: Equation, inputs: Sequence[Series], order: int) -> list[Series]:
    terms = [[instantiate(x.coefficient(k)) for k in range(1, order + 1)] for x in inputs]
    out, out_terms = jet_rules[eqn.primitive](tuple(_values(inputs)), terms, **eqn.params)
    if not eqn.primitive.multiple_results:
        out, out_terms = [out], [out_terms]
    return [Given([x, *t]) for x, t in zip(out, out_terms, strict=True)]


def _varies(series: Sequence[Series]) -> Mask:
    return tuple([x.varies for x in series])


def _jet_of_bodies(
    primitive: HasBodies, params: dict[str, Param], inputs: Sequence[Series], order: int
) -> list[Series]:
    wiring = primitive.wiring
    parts = wiring.parts(inputs, params)
    call = lifted(wiring, params, parts.map(lambda x: x.varies), _Bundles(order))
    operands = Parts({k: bundled(parts[k], on, order) for k, on in call.operands.items()})
    numbers: list[int | None] = []
    for i, on in enumerate(call.operands.flat):
        numbers += [i, *[None] * (order if on else 0)]
    return unbundled(primitive.apply(operands, call.params, numbers), call.results.flat, order)


@final
class _Bundles(Lift):
    """The property is to vary; a decision is made on values alone."""

    of_decisions = False

    def __init__(self, order: int) -> None:
        self.order = order

    def results(self, jaxpr: Jaxpr, operands: Mask) -> Mask:
        return jet_jaxpr(jaxpr, self.order, operands).out_varies

    def program(self, jaxpr: Jaxpr, operands: Masks, results: Masks) -> Jaxpr:
        program = jet_jaxpr(jaxpr, self.order, joined(operands))
        if program.out_varies != joined(results):
            program = jet_jaxpr(jaxpr, self.order, joined(operands), joined(results))
        return program.jaxpr

    def condition(self, jaxpr: Jaxpr, operands: Masks) -> Jaxpr:
        avals: list[Any] = []
        places = []
        for aval, on in zip(jaxpr.in_avals, joined(operands), strict=True):
            places.append(len(avals))
            avals += [aval, *[aval.to_tangent_aval()] * (self.order if on else 0)]
        return looking_on(jaxpr, tuple(avals), tuple(places))
