"""Derivatives of `scan`: its jvp, its linearization, and the transpose of a linear scan.

The linearization keeps, for every step, the residuals of the body.  A residual that is a constant
of the loop is kept once, one that is a slice of a scanned array is not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import (
    AbstractRef,
    Jaxpr,
    Primitive,
    Zero,
    apply_jaxpr,
    aval_of,
    captures_as_operands,
    is_undefined_primal,
    is_zero,
    stage_closed,
    stage_open,
)
from ...lax.spine import add_tangents, instantiate, zeros
from ...transforms.jvp import open_jvp
from ...transforms.known_parts import known_program
from ...transforms.linearize import Linearization
from ...transforms.staged_linearization import linearize_jaxpr
from ...transforms.transposition import open_transpose
from ...util.messages import message
from .scan_linear_part import scan_of_linear_carry
from .scan_parts import ScanParts, settled


def jvp_scan(
    scan: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """One scan over primals and tangents together."""
    jaxpr = params["jaxpr"]
    values, given = ScanParts.of(primals, **params), ScanParts.of(tangents, **params)
    active = ScanParts.of([not is_zero(t) for t in tangents], **params)
    n = len(values.carry)

    def step(carry: list[bool]) -> Sequence[bool]:
        return open_jvp(jaxpr, (*active.consts, *carry, *active.xs)).out_active[:n]

    active = active._replace(carry=settled(active.carry, step))
    ys_count = len(jaxpr.outvars) - n
    fragment = open_jvp(jaxpr, tuple(active.flat), (*active.carry, *[False] * ys_count))
    pushed = ScanParts(*[[instantiate(t) for t in role] for role in given.where(active)])
    operands = values.beside(pushed)
    ys_active = fragment.out_active[n:]
    k = sum(active.carry)

    def body(*flat: Any) -> list[Any]:
        roles = operands.cut(flat)
        first = ScanParts(*[r[: len(v)] for r, v in zip(roles, values, strict=True)])
        second = ScanParts(*[r[len(v) :] for r, v in zip(roles, values, strict=True)])
        outs = apply_jaxpr(fragment.jaxpr, *first.flat, *second.flat)
        results, pushed_outs = outs[: n + ys_count], outs[n + ys_count :]
        return [*results[:n], *pushed_outs[:k], *results[n:], *pushed_outs[k:]]

    jvp_body, captured = captures_as_operands(stage_open(body, _body_avals(operands)))
    whole = operands._replace(consts=[*captured, *operands.consts])
    outs = scan.bind(*whole.flat, **params | whole.sizes() | {"jaxpr": jvp_body})
    carry, carry_t = outs[:n], outs[n : n + k]
    ys, ys_t = outs[n + k : n + k + ys_count], outs[n + k + ys_count :]
    out_tangents = iter([*carry_t, *ys_t])
    return [*carry, *ys], [
        next(out_tangents) if on else Zero(aval_of(x).to_tangent_aval())
        for x, on in zip([*carry, *ys], [*active.carry, *ys_active], strict=True)
    ]


def _body_avals(operands: ScanParts) -> list[Any]:
    """Avals of the operands of the body of a scan with these operands."""
    avals = ScanParts(*[[aval_of(x) for x in role] for role in operands])
    return [*avals.consts, *avals.carry, *[slice_aval(a) for a in avals.xs]]


def slice_aval(aval: Any) -> Any:
    """The aval of one slice of a scanned array."""
    if type(aval) is AbstractRef:
        return aval.update(slice_aval(aval.inner_aval))
    if aval.sharding is not None and aval.sharding.spec[0]:
        raise TypeError(
            message(
                "lax.scan, argument xs",
                given=f"{aval}",
                expected="xs whole along their first axis, whose slices are taken in turn",
                fix="Split another axis over the mesh, or map over this one with jax.vmap.",
            )
        )
    return aval.without_axis(0)


def linearize_scan(
    scan: Primitive, avals: Sequence[Any], active: Sequence[bool], params: dict[str, Any]
) -> Linearization:
    """A scan that stacks residuals, and a linear scan that reads them."""
    jaxpr = params["jaxpr"]
    given = ScanParts.of(active, **params)
    n = len(given.carry)

    def step(carry: list[bool]) -> Sequence[bool]:
        mask = (*given.consts, *carry, *given.xs)
        return linearize_jaxpr(jaxpr, mask).out_active[:n]

    mask = given._replace(carry=settled(given.carry, step))
    num_results = len(jaxpr.outvars)
    forced = (*mask.carry, *[False] * (num_results - n))
    rule = linearize_jaxpr(jaxpr, tuple(mask.flat), forced)
    source, captured = captures_as_operands(rule.forward)
    sizes = params | {"num_consts": params["num_consts"] + len(captured)}
    sources = ScanParts.of(source.invars, **sizes)
    residuals = source.outvars[num_results:]
    constant = {v: i for i, v in enumerate(sources.consts)}
    sliced = {v: i for i, v in enumerate(sources.xs)}
    computed = [i for i, r in enumerate(residuals) if r not in constant and r not in sliced]
    body = source.replace(
        outvars=(*source.outvars[:num_results], *[residuals[i] for i in computed])
    )

    def forward(*operands: Any) -> list[Any]:
        parts = ScanParts.of([*captured, *operands], **sizes)
        outs = scan.bind(*parts.flat, **sizes | {"jaxpr": body})
        stacks = dict(zip(computed, outs[num_results:], strict=True))
        kept = [
            parts.consts[constant[r]]
            if r in constant
            else parts.xs[sliced[r]]
            if r in sliced
            else stacks[i]
            for i, r in enumerate(residuals)
        ]
        return [*outs[:num_results], *kept]

    forward_program = stage_open(forward, avals)
    once = [r in constant for r in residuals]
    linear = _linear_scan(scan, rule, once, given, mask, avals, forward_program, params)
    return Linearization(forward_program, linear, rule.out_active, len(residuals))


def _linear_scan(
    scan: Primitive,
    rule: Linearization,
    once: Sequence[bool],
    given: ScanParts,
    mask: ScanParts,
    avals: Sequence[Any],
    forward: Jaxpr,
    params: dict[str, Any],
) -> Jaxpr:
    """The program residuals, tangents → tangents: one scan of the linear body."""
    count = rule.num_residuals
    all_tangents = ScanParts.of([a.to_tangent_aval() for a in avals], **params)
    once_parts = ScanParts(list(once), [], [not x for x in once])

    def linear(*values: Any) -> list[Any]:
        residuals = list(values[:count])
        pushed = iter(values[count:])
        tangents = ScanParts(
            *[
                [next(pushed) if g else zeros(a) for a, g, m in zip(*role, strict=True) if m]
                for role in zip(all_tangents, given, mask, strict=True)
            ]
        )
        kept = ScanParts(residuals, [], residuals).where(once_parts)
        operands = kept.beside(tangents)
        body = stage_closed(
            lambda *flat: _linear_step(rule, once, kept, operands, flat), _body_avals(operands)
        )
        return scan.bind(*operands.flat, **params | operands.sizes() | {"jaxpr": body})  # type: ignore[no-any-return]

    residual_avals = forward.out_avals[len(forward.outvars) - count :]
    active_avals = [a for a, on in zip(all_tangents.flat, given.flat, strict=True) if on]
    return stage_closed(linear, [*residual_avals, *active_avals])


def _linear_step(
    rule: Linearization,
    once: Sequence[bool],
    kept: ScanParts,
    operands: ScanParts,
    flat: Sequence[Any],
) -> list[Any]:
    """One step of the linear scan: put residuals and tangents in the order of the linear body."""
    roles = operands.cut(flat)
    residuals = ScanParts(*[r[: len(k)] for r, k in zip(roles, kept, strict=True)])
    tangents = ScanParts(*[r[len(k) :] for r, k in zip(roles, kept, strict=True)])
    constant, sliced = iter(residuals.consts), iter(residuals.xs)
    ordered = [next(constant) if is_constant else next(sliced) for is_constant in once]
    return apply_jaxpr(rule.linear, *ordered, *tangents.flat)


def transpose_scan(
    scan: Primitive, cts: Sequence[Any], operands: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """The steps in the other direction.

    Cotangents of the carry are carried, those of the constants summed, those of xs stacked.
    """
    jaxpr = params["jaxpr"]
    values = ScanParts.of(operands, **params)
    asked = ScanParts(*[[is_undefined_primal(x) for x in role] for role in values])
    linear = asked._replace(carry=_linear_carry(jaxpr, asked))
    n = len(values.carry)
    if not all(linear.carry):
        return _transpose_linear_part(scan, cts, values, linear.carry, params)
    ct_carry = [instantiate(ct) for ct in cts[:n]]
    ys_active = tuple([not is_zero(ct) for ct in cts[n:]])
    ct_ys = [ct for ct in cts[n:] if not is_zero(ct)]
    fragment = open_transpose(jaxpr, tuple(linear.flat), (True,) * n + ys_active, True).jaxpr
    known = values.where(ScanParts(*[[not on for on in role] for role in linear]))
    sums = [zeros(aval_of(x).to_tangent_aval()) for x in values.where(linear).consts]
    roles = ScanParts(known.consts, [*sums, *ct_carry], [*known.xs, *ct_ys])

    def body(*flat: Any) -> list[Any]:
        consts, carry, xs = roles.cut(flat)
        totals, carried = carry[: len(sums)], carry[len(sums) :]
        known_xs, ys = xs[: len(known.xs)], xs[len(known.xs) :]
        outs = apply_jaxpr(fragment, *consts, *known_xs, *carried, *ys)
        added = map(add_tangents, totals, outs[: len(sums)])
        return [*added, *outs[len(sums) :]]

    backward_body, captured = captures_as_operands(stage_open(body, _body_avals(roles)))
    backward = roles._replace(consts=[*captured, *known.consts])
    outs = iter(
        scan.bind(
            *backward.flat,
            **params
            | backward.sizes()
            | {"jaxpr": backward_body, "reverse": not params["reverse"]},
        )
    )
    results = [next(outs) if on else None for on in linear.flat]
    return [x if on else None for x, on in zip(results, asked.flat, strict=True)]


def _transpose_linear_part(
    scan: Primitive,
    cts: Sequence[Any],
    values: ScanParts,
    linear: Sequence[bool],
    params: dict[str, Any],
) -> list[Any]:
    """The transpose of a scan that is linear in some components of its carry only."""
    parts, new_params = scan_of_linear_carry(scan, values, linear, params)
    n = len(linear)
    kept = [ct for ct, on in zip(cts, linear, strict=False) if on]
    results = ScanParts.of(
        transpose_scan(scan, [*kept, *cts[n:]], parts.flat, new_params), **new_params
    )
    carried = iter(results.carry)
    carry = [next(carried) if on else None for on in linear]
    return [*results.consts, *carry, *results.xs[len(results.xs) - len(values.xs) :]]


def _linear_carry(jaxpr: Jaxpr, linear: ScanParts) -> list[bool]:
    """Which components of the carry are linear: those that come to depend on linear operands.

    One that starts with a known value (zero, in a linearization) is linear all the same if a step
    makes it so.
    """

    def step(carry: list[bool]) -> Sequence[bool]:
        mask = tuple(linear._replace(carry=carry).flat)
        return [not on for on in known_program(jaxpr, mask).results[: len(carry)]]

    return settled(linear.carry, step)
