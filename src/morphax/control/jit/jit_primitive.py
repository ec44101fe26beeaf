"""The primitive `jit`: a call of a program that is compiled as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ...array import Array
from ...array.colocation import any_committed
from ...core import (
    Equation,
    Jaxpr,
    current_trace,
    discharge,
    root_trace,
    values_of,
)
from ...core.partition import Partition
from ...engines.engine import Options
from ...engines.xla.stablehlo import Builder, Value
from ...lax.reference.ref_binding import TakesReferences
from ..checkpoint.checkpoint_policies import Policy
from ..checkpoint.rematerialization import divide_call
from ..program_call import ProgramCall, TransformedCall
from ..ref_bodies import handed_back
from .plans import binding_operands, place_of_call, plan_of


@final
class Jit(TransformedCall, ProgramCall, TakesReferences):
    """Apply `jaxpr`, compiled as one program.

    Params:
        jaxpr: the program.
        name: of the user's function.
        donated_invars: operands whose memory the results may take over.
        inline: whether a program that contains the call takes up its equations.
        keep_unused: whether operands that no result depends on are passed all the same.
        compiler_options: pairs of XLA flag and value.
    """

    name = "jit"
    is_call = True

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The name, the program, and what differs from a plain call."""
        absent = {(), False, (False,) * len(params["donated_invars"])}
        told = {k: v for k, v in sorted(params.items()) if k != "name" and v not in absent}
        return {"name": params["name"]} | told

    def execute(
        self,
        *operands: Array,
        jaxpr: Jaxpr,
        name: str,
        donated_invars: tuple[bool, ...],
        compiler_options: tuple[tuple[str, Any], ...],
        keep_unused: bool,
        **_: Any,
    ) -> list[Array]:
        donated = tuple([i for i, on in enumerate(donated_invars) if on])
        binding = binding_operands(jaxpr, keep_unused) if any_committed(operands) else ()
        where, committed = place_of_call(jaxpr, operands, binding)
        options = Options(name, donated, keep_unused, compiler_options)
        return plan_of(jaxpr, options, where).run(operands, committed)

    def discharge(
        self, *operands: Any, jaxpr: Jaxpr, donated_invars: tuple[bool, ...], **params: Any
    ) -> list[Any]:
        """The values that references have before are given away where nobody else has them."""
        pure, changed = discharge(jaxpr)
        if current_trace() is root_trace():
            donated_invars = tuple([on or i in changed for i, on in enumerate(donated_invars)])
        values = values_of(operands)
        results = self.bind(*values, jaxpr=pure, donated_invars=donated_invars, **params)
        return handed_back(results, operands, changed)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, jaxpr: Jaxpr, name: str, **_: Any
    ) -> list[Value]:
        return b.call(name, jaxpr, *operands)

    def calling(self, jaxpr: Jaxpr, params: dict[str, Any], shared: int = 0) -> dict[str, Any]:
        donated = params["donated_invars"][:shared] + (False,) * (len(jaxpr.invars) - shared)
        return params | {"jaxpr": jaxpr, "donated_invars": donated}

    def preceded(self, jaxpr: Jaxpr, params: dict[str, Any], count: int) -> dict[str, Any]:
        donated = (False,) * count + params["donated_invars"]
        return params | {"jaxpr": jaxpr, "donated_invars": donated}

    def rematerialize(
        self, eqn: Equation, used: Sequence[bool], wanted: Sequence[bool], policy: Policy | None
    ) -> Partition:
        return divide_call(eqn, used, wanted, policy, lambda jaxpr: self.calling(jaxpr, eqn.params))


jit_p = Jit()
