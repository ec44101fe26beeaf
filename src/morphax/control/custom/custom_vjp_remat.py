"""`optimize_remat`: a forward rule that gives way to the function where nobody needs residuals.

Under `checkpoint` the forward rule would run twice: first for the results alone, then, in the
backward pass, for the residuals.  The primitive `remat_opt` holds both programs, so that the first
run can take that of the function, which may be cheaper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ...core import (
    BatchAxes,
    Equation,
    Jaxpr,
    Operand,
    Param,
    apply_jaxpr,
    aval_of,
    is_zero,
    not_linear,
    stage_with_operands,
)
from ...core.partition import Demand, Partition, whole
from ...transforms.flattening import FlatFunction, debug_info
from ...transforms.jvp import jvp_jaxpr
from ..bodies.division import applied
from ..calls import split_tangents
from ..closing import common_captures
from ..program_call import ProgramCall, batched_in_front
from .custom_vjp_primitives import Forward, Pull


@final
class RematOpt(ProgramCall):
    """Apply `fwd_jaxpr`; where only the first results are needed, `fun_jaxpr` will do.

    Params:
        fwd_jaxpr: operands → results, residuals.
        fun_jaxpr: operands → results; `checkpoint` uses it in the forward pass.
    """

    name = "remat_opt"
    program = "fwd_jaxpr"

    transpose = not_linear("a forward rule is not known to be linear")

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"fwd_jaxpr": params["fwd_jaxpr"]}

    def jvp(
        self,
        primals: Sequence[Operand],
        tangents: Sequence[Operand],
        *,
        fwd_jaxpr: Jaxpr,
        **_: Param,
    ) -> tuple[list[Any], list[Any]]:
        fragment = jvp_jaxpr(fwd_jaxpr, tuple([not is_zero(t) for t in tangents]))
        given = [t for t in tangents if not is_zero(t)]
        results = apply_jaxpr(fragment.jaxpr, *primals, *given)
        return split_tangents(results, fragment.out_active, fwd_jaxpr.out_avals)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int]]:
        outs = self.bind(*operands, **batched_in_front(axes, dims, params))
        return outs, [0] * len(outs)

    def partition(self, eqn: Equation, demand: Demand) -> Partition:
        """Where the first pass needs no residuals, the function takes the place of its rule."""
        if not any(demand.live_second):
            return whole(eqn, demand)
        function: Jaxpr = eqn.params["fun_jaxpr"]
        count = len(function.outvars)
        if any(demand.live[count:]):
            return Partition((eqn,), (eqn,))
        params = {"fwd_jaxpr": function, "fun_jaxpr": function}
        plain = applied(eqn, eqn.invars, eqn.outvars[:count], params)
        return Partition((plain,) if any(demand.live) else (), (eqn,))


remat_opt_p = RematOpt()


def replaceable_forward(forward: Forward, flat: FlatFunction) -> Forward:
    """A forward rule as one operation `remat_opt`, beside the program of the function."""

    def staged(
        operands: Sequence[Operand], perturbed: Sequence[bool]
    ) -> tuple[list[Any], list[Any], Pull]:
        ran: list[tuple[int, Pull]] = []

        def results_and_residuals(*values: Operand) -> list[Any]:
            outs, residuals, pull = forward(values, perturbed)
            ran.append((len(outs), pull))
            return [*outs, *residuals]

        avals = [aval_of(x) for x in operands]
        info = debug_info("custom_vjp", flat.function, flat.in_tree)
        ruled, by_ruled = stage_with_operands(results_and_residuals, avals, info)
        plain, by_plain = stage_with_operands(flat, avals, info)
        captured, (fwd_jaxpr, fun_jaxpr) = common_captures([ruled, plain], [by_ruled, by_plain])
        results = remat_opt_p.bind(*captured, *operands, fwd_jaxpr=fwd_jaxpr, fun_jaxpr=fun_jaxpr)
        count, pull = ran[-1]
        return results[:count], results[count:], pull

    return staged
