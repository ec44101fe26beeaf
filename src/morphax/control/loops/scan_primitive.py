"""The primitive `scan`: a loop with a fixed number of steps, over slices of arrays.

Step i maps (consts, carry, xs[i]) to (carry, ys[i]).  Rules that `HasBodies` does not derive from
the wiring stand in the class; the compiler gets a `while` (`scan_lowering`).

The linearization keeps, for every step, the residuals of the body.  A residual that is a constant
of the loop is kept once, one that is a slice of a scanned array is not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, final

import numpy as np

from ...array import Array
from ...config import current as current_config
from ...core import (
    Operand,
    Param,
    apply_jaxpr,
    aval_of,
    captures_as_operands,
    extended_name_stack,
    is_undefined_primal,
    is_zero,
    stage_closed,
    stage_open,
    with_operands,
    without_references,
)
from ...core.partition import selected
from ...engines import loops
from ...engines.reference.bodies import apply_body, known_kernels
from ...engines.reference.eager import as_array
from ...engines.reference.float_errors import without_float_errors
from ...engines.xla.stablehlo import Builder, Value
from ...lax.ground.linear_structure import add_tangents, instantiate, zeros
from ...lax.shape.joining import stack
from ...lax.shape.slicing import index_in_dim
from ...transforms.known_parts import known_program
from ...transforms.linearize import Linearization
from ...transforms.staged_linearization import linearize_jaxpr
from ...transforms.transposition import open_transpose
from .. import loops as control_loops
from ..bodies.body_primitive import HasBodies
from ..bodies.fixpoint import spread
from ..bodies.wiring import Body, Parts, Role, Wiring, slice_aval, stacked_aval
from ..calls import applied_at, bound, interpreted_operations, no_scope, run_compiled
from .loop_sizes import check_stackable


@final
class Scan(HasBodies):
    """A loop of `length` steps that carries values and stacks results.

    Params:
        jaxpr: the body: consts, carry, slices of xs → carry, slices of ys.
        length: number of steps.
        num_carry, num_consts: how many operands have these roles; the others are xs.
        reverse: whether steps go from the last slice to the first.
        unroll: steps per iteration of the compiled loop.
    """

    name = "scan"
    repeats_programs = True
    narrow_in_loops = "kept"
    wiring = Wiring(
        roles=(Role("consts", "num_consts"), Role("carry", "num_carry"), Role("xs")),
        bodies=(Body("jaxpr", takes=("consts", "carry", "xs"), gives=("carry", "ys")),),
        carried="carry",
        stacked=("xs", "ys"),
        length="length",
    )

    def interpret(self, *operands: Operand, **params: Param) -> list[Any]:
        operands_by_role = self.wiring.parts(operands, params)
        carry, columns = _steps(
            operands_by_role,
            params,
            lambda i: [index_in_dim(x, i, 0, keepdims=False) for x in operands_by_role["xs"]],
            lambda i: extended_name_stack(f"step {i} of scan"),
        )
        if params["length"] == 0:
            return [*carry, *map(zeros, self.wiring.result_avals(params)[len(carry) :])]
        return [*carry, *map(stack, columns)]

    def execute(self, *operands: Array, **params: Param) -> list[Array]:
        jaxpr, length = without_references(params["jaxpr"]), params["length"]
        cost = length * (len(jaxpr.eqns) + 1)
        check_stackable(jaxpr.out_avals[params["num_carry"] :])
        place, committed = applied_at(self, operands, params)
        if length == 0 or cost > interpreted_operations(place, jaxpr):
            return run_compiled(self, operands, params)
        parts = self.wiring.parts(operands, params)
        slices = jaxpr.in_avals[len(operands) - len(parts["xs"]) :]
        rows = [x.to_host() for x in parts["xs"]]

        def slices_at(i: int) -> list[Any]:
            return [np.asarray(x[i]) for x in rows]

        carry: Iterable[Any]
        kernels = known_kernels(operands, jaxpr)
        if kernels is not None:
            hosts = parts.map(Array.to_host)
            results = without_float_errors(_steps, hosts, params, slices_at, no_scope, kernels)
            carry, columns = map(Array, jaxpr.out_avals, results[0]), results[1]
        else:
            carry, found = _steps(
                parts,
                params,
                lambda i: list(map(Array, slices, slices_at(i))),
                no_scope,
                apply_body,
            )
            columns = [[as_array(y).to_host() for y in column] for column in found]
        avals = [stacked_aval(a, length) for a in jaxpr.out_avals[params["num_carry"] :]]
        return bound([*carry, *map(Array, avals, map(np.stack, columns))], place, committed)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, **params: Param
    ) -> list[Value]:
        as_while = control_loops.scan_lowering.scan_as_while(tuple(params.items()))
        return b.inline(as_while, *operands)

    def to_loops(
        self, b: loops.Builder, outs: Sequence[Any], *operands: loops.Value, **params: Param
    ) -> list[loops.Value]:
        consts, carry, xs = self.wiring.parts(operands, params).values()
        at_once = loops.control.steps_at_once(b, params["jaxpr"], carry, params["length"])
        return loops.control.repeated(b, params, consts, carry, xs, outs[len(carry) :], at_once)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        """A scan that stacks residuals, and a linear scan that reads them."""
        jaxpr = params["jaxpr"]
        given = self.wiring.parts(active, params)
        mask, out_active = spread(
            self.wiring, params, given, lambda jaxpr, on: linearize_jaxpr(jaxpr, on).out_active
        )
        derives = current_config().derive_residuals
        rule = linearize_jaxpr(jaxpr, tuple(mask.flat), derives=derives)
        if rule.out_active != tuple(out_active.flat):
            forced = tuple(out_active.flat)
            rule = linearize_jaxpr(jaxpr, tuple(mask.flat), forced, derives=derives)
        assert rule.forward is not None, "a body is split, it is not run"
        num_results = len(jaxpr.outvars)
        source, captured = captures_as_operands(rule.forward)
        sizes = params | {"num_consts": params["num_consts"] + len(captured)}
        sources = self.wiring.parts(source.invars, sizes)
        residuals = source.outvars[num_results:]
        constant = {v: i for i, v in enumerate(sources["consts"])}
        sliced = {v: i for i, v in enumerate(sources["xs"])}
        computed = [i for i, r in enumerate(residuals) if r not in constant and r not in sliced]
        outvars = (*source.outvars[:num_results], *[residuals[i] for i in computed])
        body = source.replace(outvars=outvars)

        def forward(*operands: Operand) -> list[Any]:
            parts = self.wiring.parts([*captured, *operands], sizes)
            outs = self.apply(parts, params | {"jaxpr": body})
            known = dict(zip(computed, outs[num_results:], strict=True))
            for i, r in enumerate(residuals):
                if r in constant:
                    known[i] = parts["consts"][constant[r]]
                elif r in sliced:
                    known[i] = parts["xs"][sliced[r]]
            return [*outs[:num_results], *[known[i] for i in range(len(residuals))]]

        once = [r in constant for r in residuals]
        tangents = self.wiring.parts([a.to_tangent_aval() for a in avals], params)
        taken = tangents.where(mask)
        invars = _residuals_before(once, rule.linear.invars, taken)
        linear_body = with_operands(rule.linear, tuple(invars.flat))

        def linear(*values: Operand) -> list[Any]:
            pushed = iter(values[len(once) :])
            # A component of the carry may have a tangent in the end, but start with none.
            started = Parts(
                {
                    name: [
                        next(pushed) if on else zeros(a) for a, on in zip(role, ons, strict=True)
                    ]
                    for (name, role), ons in zip(
                        taken.items(), given.where(mask).values(), strict=True
                    )
                }
            )
            operands = _residuals_before(once, [*values[: len(once)], *started.flat], taken)
            return self.apply(operands, params | {"jaxpr": linear_body})

        forward_program = stage_open(forward, avals)
        residual_avals = forward_program.out_avals[num_results:]
        program = stage_closed(linear, [*residual_avals, *tangents.where(given).flat])
        return Linearization(forward_program, program, rule.out_active, len(residuals))

    def transpose(self, cts: Sequence[Operand], *operands: Operand, **params: Param) -> list[Any]:
        """The steps in the other direction.

        Cotangents of the carry are carried, those of the constants summed, those of xs stacked.
        """
        jaxpr = params["jaxpr"]
        values = self.wiring.parts(operands, params)
        undefined = values.map(is_undefined_primal)
        # A component of the carry that starts with a known value (zero, in a linearization) is
        # linear all the same if a step makes it so.
        linear, _ = spread(
            self.wiring,
            params,
            undefined,
            lambda jaxpr, on: [not known for known in known_program(jaxpr, on).results],
        )
        n = len(values["carry"])
        if not all(linear["carry"]):
            return self._transpose_linear_part(cts, values, linear["carry"], params)
        ct_carry = [instantiate(ct) for ct in cts[:n]]
        ys_active = tuple([not is_zero(ct) for ct in cts[n:]])
        ct_ys = [ct for ct in cts[n:] if not is_zero(ct)]
        fragment = open_transpose(jaxpr, tuple(linear.flat), (True,) * n + ys_active, True).jaxpr
        known = values.where(linear.map(lambda on: not on))
        sums = [zeros(aval_of(x).to_ct_aval()) for x in values.where(linear)["consts"]]
        roles = Parts(consts=known["consts"], carry=[*sums, *ct_carry], xs=[*known["xs"], *ct_ys])

        def body(*flat: Operand) -> list[Any]:
            consts, carry, xs = roles.cut(flat).values()
            totals, carried = carry[: len(sums)], carry[len(sums) :]
            known_xs, ys = xs[: len(known["xs"])], xs[len(known["xs"]) :]
            outs = apply_jaxpr(fragment, *consts, *known_xs, *carried, *ys)
            added = map(add_tangents, totals, outs[: len(sums)])
            return [*added, *outs[len(sums) :]]

        avals = _body_avals(roles, params["length"])
        backward, captured = captures_as_operands(stage_open(body, avals))
        outs = self.apply(
            roles.replaced(consts=[*captured, *known["consts"]]),
            params | {"jaxpr": backward, "reverse": not params["reverse"]},
        )
        results = iter(outs)
        cotangents = [next(results) if on else None for on in linear.flat]
        return [x if on else None for x, on in zip(cotangents, undefined.flat, strict=True)]

    def _transpose_linear_part(
        self,
        cts: Sequence[Operand],
        values: Parts,
        linear: Sequence[bool],
        params: dict[str, Param],
    ) -> list[Any]:
        """The transpose of a scan that is linear in some components of its carry only.

        A loop that counts its steps, say.  The other components depend on no linear operand: a scan
        of its own computes them for all steps before, and then they are scanned arrays.
        """
        jaxpr, n = params["jaxpr"], len(linear)
        is_known = [not on for on in linear]
        mask = values.map(lambda x: not is_undefined_primal(x)).replaced(carry=is_known)
        known = values.where(mask)
        live = (*is_known, *[False] * (len(jaxpr.outvars) - n))
        step = known_program(jaxpr, tuple([not on for on in mask.flat]), live).jaxpr
        before = known.cut(step.invars)["carry"]
        step = step.replace(outvars=(*step.outvars, *before))
        stacks = self.apply(known, params | {"jaxpr": step})[len(before) :]
        invars = self.wiring.parts(jaxpr.invars, params)
        now_xs = [*invars.where(mask)["carry"], *invars["xs"]]
        carried = selected(invars["carry"], linear)
        outvars = (*selected(jaxpr.outvars[:n], linear), *jaxpr.outvars[n:])
        body = jaxpr.replace(
            invars=tuple(invars.replaced(carry=carried, xs=now_xs).flat), outvars=outvars
        )
        parts = values.replaced(
            carry=selected(values["carry"], linear), xs=[*stacks, *values["xs"]]
        )
        named = params | self.wiring.counts(parts) | {"jaxpr": body}
        cts = [*selected(cts[:n], linear), *cts[n:]]
        results = parts.cut(self.transpose(cts, *parts.flat, **named))
        of_carry = iter(results["carry"])
        carry = [next(of_carry) if on else None for on in linear]
        return [*results["consts"], *carry, *results["xs"][len(stacks) :]]


def _steps(
    operands: Parts,
    params: dict[str, Param],
    slices: Callable[[int], Sequence[Any]],
    scope: Callable[[int], AbstractContextManager[Any]],
    apply: Callable[..., list[Any]] = apply_jaxpr,
) -> tuple[Sequence[Any], Sequence[Sequence[Any]]]:
    """The loop itself, in the current trace.

    Args:
        operands: by role.
        params: of the scan.
        slices: number of a step → its slices of xs.
        scope: number of a step → the context in which it runs.
        apply: how the body is applied.

    Returns:
        The last carry, and for each of ys its slices.
    """
    jaxpr, length = without_references(params["jaxpr"]), params["length"]
    consts, carry, _ = operands.values()
    n = len(carry)
    rows: list[Sequence[Any]] = [()] * length
    for i in range(length - 1, -1, -1) if params["reverse"] else range(length):
        with scope(i):
            outs = apply(jaxpr, *consts, *carry, *slices(i))
        carry, rows[i] = outs[:n], outs[n:]
    return carry, list(zip(*rows, strict=True))


def _residuals_before(once: Sequence[bool], values: Sequence[Any], tangents: Parts) -> Parts:
    """Residuals and then tangents in each role; residuals are constants or, if not `once`, xs."""
    residuals = list(zip(values, once, strict=False))
    beside = {
        "consts": [x for x, on in residuals if on],
        "carry": [],
        "xs": [x for x, on in residuals if not on],
    }
    return Parts(beside).beside(tangents.cut(values[len(once) :]))


def _body_avals(operands: Parts, length: int) -> list[Any]:
    """Avals of the operands of the body of a scan of this length with these operands."""
    avals = operands.map(aval_of)
    slices = [slice_aval(aval, length) for aval in avals["xs"]]
    return [*avals["consts"], *avals["carry"], *slices]


scan_p = Scan()
