"""The primitive `jit`: a call of a program that is compiled as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ..array import Array
from ..array.colocation import placement_of
from ..core import (
    BatchAxes,
    Jaxpr,
    Primitive,
    call_program,
    is_undefined_primal,
    is_zero,
    jaxpr_axis_names,
)
from ..core.effects import Effects
from ..engines.reference.eager import as_array
from ..engines.xla.stablehlo import Builder, Value
from ..transforms.batching import batch_jaxpr
from ..transforms.jvp import jvp_jaxpr
from ..transforms.linearize import Linearization, linearize_jaxpr
from ..transforms.transposition import transpose_jaxpr
from .calls import split_tangents
from .executables import compiled, run


@final
class Jit(Primitive):
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
    multiple_results = True
    is_call = True

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The name, the program, and what differs from a plain call."""
        absent = {(), False, (False,) * len(params["donated_invars"])}
        told = {k: v for k, v in sorted(params.items()) if k != "name" and v not in absent}
        return {"name": params["name"]} | told

    def abstract_eval(self, *avals: Any, jaxpr: Jaxpr, **_: Any) -> Sequence[Any]:
        return jaxpr.out_avals

    def effects(self, *, jaxpr: Jaxpr, **_: Any) -> Effects:
        return jaxpr.effects

    def axis_names(self, *, jaxpr: Jaxpr, **_: Any) -> tuple[Any, ...]:
        return jaxpr_axis_names(jaxpr)

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
        info = jaxpr.debug_info
        device, committed = placement_of(operands, f"jit of {info.function}", info.argument_name)
        executable = compiled(
            jaxpr, name, donated, compiler_options, keep_unused=keep_unused, device=device
        )
        return run(executable, operands, committed, info)

    def evaluate(self, *operands: Any, **params: Any) -> list[Any]:
        return [x.to_host() for x in self.execute(*map(as_array, operands), **params)]

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, jaxpr: Jaxpr, name: str, **_: Any
    ) -> list[Value]:
        return b.call(name, jaxpr, *operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        active = tuple([not is_zero(t) for t in tangents])
        fragment = jvp_jaxpr(jaxpr, active)
        given = [t for t in tangents if not is_zero(t)]
        donated = params.pop("donated_invars")
        results = self.bind(
            *primals,
            *given,
            jaxpr=fragment.jaxpr,
            donated_invars=donated + (False,) * len(given),
            **params,
        )
        return split_tangents(results, fragment.out_active, jaxpr.out_avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Any]
    ) -> Linearization:
        inner = linearize_jaxpr(params["jaxpr"], active)
        return Linearization(
            forward=self._call(inner.forward, params),
            linear=self._call(inner.linear, params),
            out_active=inner.out_active,
            num_residuals=inner.num_residuals,
        )

    def _call(self, jaxpr: Jaxpr, params: dict[str, Any]) -> Jaxpr:
        """A program that consists of one call of `jaxpr`."""
        donated = (False,) * len(jaxpr.invars)
        named = params | {"jaxpr": jaxpr, "donated_invars": donated}
        return call_program(self, jaxpr.in_avals, named)

    def transpose(
        self, cts: Sequence[Any], *operands: Any, jaxpr: Jaxpr, **params: Any
    ) -> list[Any]:
        linear = tuple([is_undefined_primal(x) for x in operands])
        fragment = transpose_jaxpr(jaxpr, linear, tuple([not is_zero(ct) for ct in cts]))
        known = [x for x in operands if not is_undefined_primal(x)]
        given = [*known, *[ct for ct in cts if not is_zero(ct)]]
        params["donated_invars"] = (False,) * len(given)
        results = iter(self.bind(*given, jaxpr=fragment.jaxpr, **params))
        return [next(results) if on else None for on in fragment.active]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: tuple[int | None, ...],
        *,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple[list[Any], Sequence[int | None]]:
        fragment = batch_jaxpr(jaxpr, dims, axes)
        return self.bind(*operands, jaxpr=fragment.jaxpr, **params), fragment.out_dims

    collect = batch


jit_p = Jit()
