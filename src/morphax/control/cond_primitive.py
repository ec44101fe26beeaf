"""The primitive `cond`: one of several programs, chosen by an integer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ..array import Array
from ..core import (
    BatchAxes,
    Jaxpr,
    Primitive,
    ShapedArray,
    Var,
    call_program,
    close,
    eval_jaxpr,
    is_undefined_primal,
    is_zero,
    jaxpr_axis_names,
    stage,
)
from ..core.effects import Effects, no_effects
from ..engines.reference.eager import as_array
from ..engines.xla.stablehlo import Builder, Value
from ..lax.selection import select_n
from ..lax.spine import broadcast_in_dim_p, zeros
from ..transforms.batching import batch_jaxpr, to_axis
from ..transforms.jvp import jvp_jaxpr
from ..transforms.linearize import Linearization, linearize_jaxpr
from ..transforms.transposition import transpose_jaxpr
from .calls import split_tangents


@final
class Cond(Primitive):
    """Apply ``branches[index]`` to the operands; `index` is an int32 in range.

    Params:
        branches: programs with equal operand and result avals.
    """

    name = "cond"
    multiple_results = True

    def abstract_eval(self, index: Any, *avals: Any, branches: tuple[Jaxpr, ...]) -> Sequence[Any]:
        return branches[0].out_avals

    def effects(self, *, branches: tuple[Jaxpr, ...]) -> Effects:
        return no_effects.union(*[branch.effects for branch in branches])

    def axis_names(self, *, branches: tuple[Jaxpr, ...]) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(n for branch in branches for n in jaxpr_axis_names(branch)))

    def execute(self, index: Array, *operands: Array, branches: tuple[Jaxpr, ...]) -> list[Array]:
        chosen = min(max(int(index.to_host()), 0), len(branches) - 1)
        return [as_array(x) for x in eval_jaxpr(branches[chosen], *operands)]

    def evaluate(self, *operands: Any, **params: Any) -> list[Any]:
        return [x.to_host() for x in self.execute(*map(as_array, operands), **params)]

    def lower(
        self,
        b: Builder,
        outs: Sequence[Any],
        index: Value,
        *operands: Value,
        branches: tuple[Jaxpr, ...],
    ) -> list[Value]:
        regions = [
            b.region((), lambda inner, branch=branch: inner.inline(branch, *operands))
            for branch in branches
        ]
        return b.ops("stablehlo.case", outs, index, regions=regions)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, branches: tuple[Jaxpr, ...]
    ) -> tuple[list[Any], list[Any]]:
        active = tuple([not is_zero(t) for t in tangents[1:]])
        forced = _any_of([jvp_jaxpr(branch, active).out_active for branch in branches])
        fragments = [jvp_jaxpr(branch, active, forced) for branch in branches]
        given = [t for t in tangents[1:] if not is_zero(t)]
        results = self.bind(*primals, *given, branches=tuple([f.jaxpr for f in fragments]))
        return split_tangents(results, forced, branches[0].out_avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Any]
    ) -> Linearization:
        """Every branch hands out its own residuals and zeros in the places of the others'."""
        branches = params["branches"]
        alone = [linearize_jaxpr(branch, active[1:]) for branch in branches]
        forced = _any_of([rule.out_active for rule in alone])
        rules = [linearize_jaxpr(branch, active[1:], forced) for branch in branches]
        count = len(branches[0].outvars)
        residual_avals = [list(rule.forward.out_avals[count:]) for rule in rules]
        forwards = [_with_places(r.forward, count, i, residual_avals) for i, r in enumerate(rules)]
        linears = [_taking_places(r.linear, i, residual_avals) for i, r in enumerate(rules)]
        forward = call_program(self, avals, {"branches": tuple(forwards)})
        # The choice itself is a residual too.
        forward = forward.replace(outvars=(*forward.outvars, forward.invars[0]))
        total = sum(map(len, residual_avals))
        in_avals = linears[0].in_avals
        linear = call_program(self, [avals[0], *in_avals], {"branches": tuple(linears)})
        index, *others = linear.invars
        ordered = (*others[:total], index, *others[total:])
        return Linearization(forward, linear.replace(invars=ordered), forced, total + 1)

    def transpose(
        self, cts: Sequence[Any], index: Any, *operands: Any, branches: tuple[Jaxpr, ...]
    ) -> list[Any]:
        linear = tuple([is_undefined_primal(x) for x in operands])
        ct_active = tuple([not is_zero(ct) for ct in cts])
        fragments = [transpose_jaxpr(branch, linear, ct_active, True) for branch in branches]
        known = [x for x in operands if not is_undefined_primal(x)]
        given = [ct for ct in cts if not is_zero(ct)]
        results = iter(
            self.bind(index, *known, *given, branches=tuple([f.jaxpr for f in fragments]))
        )
        return [None, *[next(results) if on else None for on in linear]]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: tuple[int | None, ...],
        *,
        branches: tuple[Jaxpr, ...],
    ) -> tuple[list[Any], Sequence[int | None]]:
        index, *others = operands
        if dims[0] is not None:
            return self._batch_by_selection(axes, index, dims, others, branches)
        moved = [
            x if d is None else to_axis(axes, x, d, 0)
            for x, d in zip(others, dims[1:], strict=True)
        ]
        at_front = tuple([None if d is None else 0 for d in dims[1:]])
        loose = [batch_jaxpr(branch, at_front, axes).out_dims for branch in branches]
        batched = _any_of([[d is not None for d in out_dims] for out_dims in loose])
        fragments = [batch_jaxpr(branch, at_front, axes, batched) for branch in branches]
        outs = self.bind(index, *moved, branches=tuple([f.jaxpr for f in fragments]))
        return outs, [0 if on else None for on in batched]

    collect = batch

    def _batch_by_selection(
        self,
        axes: BatchAxes,
        index: Any,
        dims: tuple[int | None, ...],
        operands: Sequence[Any],
        branches: tuple[Jaxpr, ...],
    ) -> tuple[list[Any], Sequence[int]]:
        """Members of the batch take different branches: compute all, select."""
        everything = (True,) * len(branches[0].outvars)
        fragments = [batch_jaxpr(branch, dims[1:], axes, everything) for branch in branches]
        results = [eval_jaxpr(f.jaxpr, *operands) for f in fragments]
        selected = [_select(index, list(cases)) for cases in zip(*results, strict=True)]
        return selected, [0] * len(selected)


def _any_of(rows: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
    return tuple([any(column) for column in zip(*rows, strict=True)])


def _select(index: Any, cases: list[Any]) -> Any:
    """Members of `cases`, chosen by a vector of indices along axis 0."""
    shape = cases[0].aval.shape
    which = broadcast_in_dim_p.bind(index, shape=shape, broadcast_dimensions=(0,), sharding=None)
    return select_n(which, *cases)


def _with_places(
    forward: Jaxpr, count: int, branch: int, residual_avals: Sequence[Sequence[ShapedArray]]
) -> Jaxpr:
    """`forward` with the residuals of all branches as results: zeros for those of the others."""

    def function(*operands: Any) -> list[Any]:
        results = eval_jaxpr(forward, *operands)
        places = [
            results[count:] if i == branch else [zeros(aval) for aval in avals]
            for i, avals in enumerate(residual_avals)
        ]
        return [*results[:count], *[x for place in places for x in place]]

    jaxpr, consts = stage(function, forward.in_avals)
    return close(jaxpr, consts)


def _taking_places(
    linear: Jaxpr, branch: int, residual_avals: Sequence[Sequence[ShapedArray]]
) -> Jaxpr:
    """`linear` with the residuals of all branches as operands, of which it uses its own."""
    own = len(residual_avals[branch])
    places = [
        linear.invars[:own] if i == branch else tuple([Var(aval) for aval in avals])
        for i, avals in enumerate(residual_avals)
    ]
    residuals = tuple([v for place in places for v in place])
    return linear.replace(invars=residuals + linear.invars[own:])


cond_p = Cond()
