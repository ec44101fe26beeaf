"""The primitive `jit`: a call of a program that is compiled as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ...array import Array
from ...array.colocation import any_committed
from ...core import Jaxpr, Operand, Param, current_trace, discharge, root_trace
from ...engines.engine import Options
from ...engines.xla.stablehlo import Builder, Value
from ..plans import Where, binding_operands, place_of_call, plan_of
from ..program_call import Call, ProgramCall
from .spreading import constraints_in, spread_of


@final
class Jit(Call, ProgramCall):
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
        **_: Param,
    ) -> list[Array]:
        donated = tuple([i for i, on in enumerate(donated_invars) if on])
        where: Where
        spread = None
        if constraints_in(jaxpr):
            nothing = (None,) * len(operands), (None,) * len(jaxpr.outvars)
            spread = spread_of(jaxpr, *nothing, name)
        if spread is not None:
            where, committed = spread.places(operands, jaxpr.debug_info.argument_name, name), True
        else:
            binding = binding_operands(jaxpr, keep_unused) if any_committed(operands) else ()
            where, committed = place_of_call(jaxpr, operands, binding)
        options = Options.chosen(name, donated, keep_unused, compiler_options)
        return plan_of(jaxpr, options, where).run(operands, committed)

    def discharge(self, *operands: Operand, **params: Param) -> list[Any]:
        """The values that references have before are given away where nobody else has them."""
        if current_trace() is root_trace():
            changed, donated = discharge(params["jaxpr"]).changed, params["donated_invars"]
            params["donated_invars"] = tuple([on or i in changed for i, on in enumerate(donated)])
        return super().discharge(*operands, **params)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, jaxpr: Jaxpr, name: str, **_: Param
    ) -> list[Value]:
        return b.call(name, jaxpr, *operands)

    def operand_params(
        self, params: dict[str, Param], numbers: Sequence[int | None], *, shared: bool = False
    ) -> dict[str, Any]:
        """Memory that others read is not given away."""
        given = params["donated_invars"]
        donated = [not shared and i is not None and given[i] for i in numbers]
        return {"donated_invars": tuple(donated)}


jit_p = Jit()
