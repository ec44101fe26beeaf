"""The primitive `cond`: one of several programs, chosen by an integer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

from ...array import Array
from ...core import (
    BatchAxes,
    Jaxpr,
    Operand,
    Param,
    apply_jaxpr,
    call_program,
    extended_name_stack,
    has_ordered,
    operands_as_captures,
    without_references,
)
from ...engines import loops
from ...engines.reference.bodies import apply_body
from ...engines.xla.stablehlo import Builder, Value
from ...transforms.batching import open_batch
from ...transforms.linearize import Linearization
from ...transforms.staged_linearization import linearize_jaxpr
from ..batched_effects import batch_with_checks, check_repeatable
from ..bodies.body_primitive import HasBodies
from ..bodies.fixpoint import any_of
from ..bodies.places import shared_places, taking_places, with_places
from ..bodies.wiring import Body, Role, Wiring
from ..calls import applied_at, bound
from ..checks.check_primitive import has_checks
from .branch_residuals import residual_operands, with_common_captures, with_operands_apart
from .members import read_by_takers, selected


@final
class Cond(HasBodies):
    """Apply ``branches[index]`` to the operands; `index` is an int32 in range.

    Params:
        branches: programs with equal operand and result avals.
    """

    name = "cond"
    narrow_in_loops = "kept"
    wiring = Wiring(
        roles=(Role("index", 1), Role("operands")),
        bodies=(Body("branches", takes=("operands",), gives=("results",)),),
        chooses="index",
    )

    def interpret(
        self, index: Operand, *operands: Operand, branches: tuple[Jaxpr, ...]
    ) -> list[Any]:
        chosen = min(max(int(index), 0), len(branches) - 1)
        with extended_name_stack(f"branch {chosen} of cond"):
            return apply_jaxpr(without_references(branches[chosen]), *operands)

    def execute(self, index: Array, *operands: Array, branches: tuple[Jaxpr, ...]) -> list[Array]:
        chosen = min(max(int(index.to_host()), 0), len(branches) - 1)
        branch = without_references(branches[chosen])
        results = apply_body(branch, *operands)
        return bound(results, *applied_at(self, (index, *operands), {"branches": branches}))

    def lower(
        self,
        b: Builder,
        outs: Sequence[Any],
        index: Value,
        *operands: Value,
        branches: tuple[Jaxpr, ...],
    ) -> list[Value]:
        if index.name in b.module.elements:
            chosen = b.module.elements[index.name][b.module.platform]
            return b.inline(branches[int(chosen)], *operands)
        if index.element is not None:
            return b.inline(branches[int(index.element)], *operands)
        ordered = has_ordered(self.effects(branches=branches))
        regions = []
        for branch in branches:
            # Not by `region`, whose frames would be more of them where branches are nested.
            region = b.open_region((), gives_token=ordered)
            regions.append(region.closed(region.inner.inline(branch, *operands)))
        return b.ops("stablehlo.case", outs, index, regions=regions, gives_token=ordered)

    def to_loops(
        self,
        b: loops.Builder,
        outs: Sequence[Any],
        index: loops.Value,
        *operands: loops.Value,
        branches: tuple[Jaxpr, ...],
    ) -> list[loops.Value]:
        given = list(map(b.settled, operands))
        return loops.control.chosen(
            b, outs, index, [partial(b.inline, branch, *given) for branch in branches]
        )

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        """Residuals are what branches hand out in places, operands, and the choice itself."""
        branches = params["branches"]
        alone = [linearize_jaxpr(branch, active[1:]) for branch in branches]
        forced = tuple(any_of([rule.out_active for rule in alone]))
        rules, captured = with_common_captures(
            [
                rule if rule.out_active == forced else linearize_jaxpr(branch, active[1:], forced)
                for rule, branch in zip(alone, branches, strict=True)
            ]
        )
        count = len(branches[0].outvars)
        given = any_of([residual_operands(rule) for rule in rules])
        pairs = [with_operands_apart(rule, given) for rule in rules]
        places = shared_places([forward.out_avals[count:] for forward, _ in pairs])
        forwards = [with_places(forward, i, places) for i, (forward, _) in enumerate(pairs)]
        linears = [taking_places(linear, i, places) for i, (_, linear) in enumerate(pairs)]
        in_avals = [avals[0], *forwards[0].in_avals]
        forward = call_program(self, in_avals, {"branches": tuple(forwards)})
        saved_operands = [v for v, on in zip(forward.invars, (True, *given), strict=True) if on]
        in_avals = [avals[0], *linears[0].in_avals]
        linear = call_program(self, in_avals, {"branches": tuple(linears)})
        index, *others = linear.invars
        n = len(places.avals)
        choice, *operands = forward.invars
        k = len(captured)
        forward = forward.replace(
            invars=(*operands[:k], choice, *operands[k:]),
            outvars=(*forward.outvars, *saved_operands),
        )
        return Linearization(
            operands_as_captures(forward, captured),
            linear.replace(invars=(*others[:n], index, *others[n:])),
            forced,
            n + len(saved_operands),
        )

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        if dims[0] is None:
            return super().batch(axes, operands, dims, **params)
        effects = self.effects(**params)
        if has_checks(effects):
            return batch_with_checks(self, axes, operands, dims, params)
        check_repeatable("lax.cond or lax.switch", effects)
        return self._batch_by_selection(axes, operands, dims, **params)

    collect = batch

    def _batch_by_selection(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        branches: tuple[Jaxpr, ...],
    ) -> tuple[list[Any], Sequence[int]]:
        """Members of the batch take different branches: compute all, select."""
        everything = (True,) * len(branches[0].outvars)
        results = []
        for number, branch in enumerate(branches):
            read, where = read_by_takers(number, branch, operands[0], operands[1:], dims[1:])
            fragment = open_batch(branch, where, axes, everything)
            results.append(apply_jaxpr(fragment.jaxpr, *read))
        chosen = [selected(operands[0], cases) for cases in zip(*results, strict=True)]
        return chosen, [0] * len(chosen)


cond_p = Cond()
