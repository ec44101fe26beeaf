"""Programs of truncated Taylor series: a jaxpr that maps coefficients to coefficients.

A value with its coefficients is a *bundle*: the value, and behind it the coefficients 1 … n if it
varies.  The operands and results of a jet program are bundles, so operations with a body keep the
order of their operands.  Series of other operations come from `transforms.taylor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core import (
    Atom,
    Equation,
    Jaxpr,
    Literal,
    Primitive,
    apply_jaxpr,
    attributed_to,
    current_trace,
    stage_closed,
)
from ..lax.spine import instantiate
from ..transforms.taylor import Given, Graph, Series
from ..util.memo import memoize
from .branches.cond_primitive import cond_p
from .checkpoint.checkpoint_primitive import checkpoint_p
from .custom.custom_vjp_primitives import custom_vjp_call_p
from .jit.jit_primitive import jit_p
from .loops.scan_parts import ScanParts, settled
from .loops.scan_primitive import scan_p
from .loops.while_primitive import while_p

# Values and coefficients 1 … n of the operands, params → those of the result(s).
Rule = Callable[..., tuple[Any, Any]]

jet_rules: dict[Primitive, Rule] = {}
"""Rules of users: (values, coefficients 1 … n of each, **params) → value(s), coefficients.

Coefficients are those of powers of t, without factorials.  A primitive that is not here follows its
jvp rule.
"""

Mask = tuple[bool, ...]


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

    def function(*flat: Any) -> list[Any]:
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
    rule = _BODY_RULES.get(eqn.primitive)
    if rule is not None:
        return rule(eqn, inputs, order)
    results = graph.apply(eqn.primitive, eqn.params, inputs)
    if not results:  # it is there for its effect
        _bind(eqn.primitive, _values(inputs), eqn.params)
    return results


def _values(series: Sequence[Series]) -> list[Any]:
    return [x.coefficient(0) for x in series]


def _bind(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
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


def _jet_of_jit(eqn: Equation, inputs: Sequence[Series], order: int) -> list[Series]:
    varies = _varies(inputs)
    program = jet_jaxpr(eqn.params["jaxpr"], order, varies)
    donated = [
        flag
        for given, on in zip(eqn.params["donated_invars"], varies, strict=True)
        for flag in [given, *[False] * (order if on else 0)]
    ]
    params = eqn.params | {"jaxpr": program.jaxpr, "donated_invars": tuple(donated)}
    return unbundled(
        jit_p.bind(*bundled(inputs, varies, order), **params), program.out_varies, order
    )


def _jet_of_call(key: str) -> Callable[[Equation, Sequence[Series], int], list[Series]]:
    """The rule of a primitive that is its program, as far as series are concerned."""
    return lambda eqn, inputs, order: run(eqn.params[key], inputs, order)


def _jet_of_cond(eqn: Equation, inputs: Sequence[Series], order: int) -> list[Series]:
    index, *others = inputs
    varies, branches = _varies(others), eqn.params["branches"]
    alone = [jet_jaxpr(branch, order, varies).out_varies for branch in branches]
    forced = tuple([any(column) for column in zip(*alone, strict=True)])
    programs = tuple([jet_jaxpr(branch, order, varies, forced).jaxpr for branch in branches])
    operands = [index.coefficient(0), *bundled(others, varies, order)]
    return unbundled(cond_p.bind(*operands, branches=programs), forced, order)


def _jet_of_scan(eqn: Equation, inputs: Sequence[Series], order: int) -> list[Series]:
    jaxpr, parts = eqn.params["jaxpr"], ScanParts.of(inputs, **eqn.params)
    varies = ScanParts(*[[x.varies for x in role] for role in parts])
    n = len(parts.carry)

    def step(carry: list[bool]) -> Sequence[bool]:
        return jet_jaxpr(jaxpr, order, (*varies.consts, *carry, *varies.xs)).out_varies[:n]

    varies = varies._replace(carry=settled(varies.carry, step))
    ys_forced = (False,) * (len(jaxpr.outvars) - n)
    program = jet_jaxpr(jaxpr, order, tuple(varies.flat), (*varies.carry, *ys_forced))
    bundles = ScanParts(*[bundled(x, v, order) for x, v in zip(parts, varies, strict=True)])
    params = eqn.params | {"jaxpr": program.jaxpr} | bundles.sizes()
    return unbundled(scan_p.bind(*bundles.flat, **params), program.out_varies, order)


def _jet_of_while(eqn: Equation, inputs: Sequence[Series], order: int) -> list[Series]:
    params = eqn.params
    cond_consts, body_consts, carry = while_p.parts(inputs, **params)
    const_varies = _varies(body_consts)

    def step(now: list[bool]) -> Sequence[bool]:
        return jet_jaxpr(params["body_jaxpr"], order, (*const_varies, *now)).out_varies

    varies = tuple(settled([x.varies for x in carry], step))
    body = jet_jaxpr(params["body_jaxpr"], order, const_varies + varies, varies).jaxpr
    constants, start = bundled(body_consts, const_varies, order), bundled(carry, varies, order)
    outs = while_p.bind(
        *_values(cond_consts),
        *constants,
        *start,
        cond_jaxpr=_on_values(params["cond_jaxpr"], len(cond_consts), varies, order),
        cond_nconsts=len(cond_consts),
        body_jaxpr=body,
        body_nconsts=len(constants),
    )
    return unbundled(outs, varies, order)


@memoize
def _on_values(condition: Jaxpr, num_consts: int, varies: Mask, order: int) -> Jaxpr:
    """The condition of a loop whose carry has become bundles."""

    def function(*flat: Any) -> list[Any]:
        carry = unbundled(flat[num_consts:], varies, order)
        return apply_jaxpr(condition, *flat[:num_consts], *_values(carry))

    consts, carry = condition.in_avals[:num_consts], condition.in_avals[num_consts:]
    avals = [
        a
        for aval, on in zip(carry, varies, strict=True)
        for a in [aval, *[aval.to_tangent_aval()] * (order if on else 0)]
    ]
    return stage_closed(function, [*consts, *avals], condition.debug_info.of_derived())


_BODY_RULES: dict[Primitive, Callable[[Equation, Sequence[Series], int], list[Series]]] = {
    jit_p: _jet_of_jit,
    checkpoint_p: _jet_of_call("jaxpr"),
    custom_vjp_call_p: _jet_of_call("call_jaxpr"),
    cond_p: _jet_of_cond,
    scan_p: _jet_of_scan,
    while_p: _jet_of_while,
}
