"""The primitive `scan`: a loop with a fixed number of steps, over slices of arrays.

Step i maps (consts, carry, xs[i]) to (carry, ys[i]).  Its derivatives stand in `scan_derivatives`,
its translation for the compiler in `scan_lowering`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...array import Array
from ...core import (
    BatchAxes,
    Jaxpr,
    ShapedArray,
    apply_jaxpr,
    captures_as_operands,
    extended_name_stack,
    jaxpr_axis_names,
    without_references,
)
from ...core.effects import Effects
from ...engines.reference.eager import RunsOnArrays, as_array
from ...engines.xla.stablehlo import Builder, Value
from ...lax.joining import stack
from ...lax.ref_binding import TakesReferences
from ...lax.slicing import index_in_dim
from ...lax.spine import zeros
from ...transforms.batching import open_batch, to_axis
from ...transforms.known_parts import KnownPart, Mask, known_program
from ...transforms.linearize import Linearization
from ..calls import interpreted_operations, run_compiled
from ..ref_bodies import discharge_scan
from .scan_derivatives import jvp_scan, linearize_scan, transpose_scan
from .scan_lowering import scan_as_while
from .scan_parts import ScanParts, settled
from .scan_rematerialization import rematerialize_scan


@final
class Scan(RunsOnArrays, TakesReferences):
    """A loop of `length` steps that carries values and stacks results.

    Params:
        jaxpr: the body: consts, carry, slices of xs → carry, slices of ys.
        length: number of steps.
        num_carry, num_consts: how many operands have these roles; the others are xs.
        reverse: whether steps go from the last slice to the first.
        unroll: steps per iteration of the compiled loop.
    """

    name = "scan"
    multiple_results = True

    def abstract_eval(
        self, *avals: Any, jaxpr: Jaxpr, length: int, num_carry: int, **_: Any
    ) -> Sequence[Any]:
        carry, slices = jaxpr.out_avals[:num_carry], jaxpr.out_avals[num_carry:]
        return [*carry, *[ShapedArray((length, *a.shape), a.dtype, a.weak_type) for a in slices]]

    def effects(self, *, jaxpr: Jaxpr, **_: Any) -> Effects:
        return jaxpr.effects

    def axis_names(self, *, jaxpr: Jaxpr, **_: Any) -> tuple[Any, ...]:
        return jaxpr_axis_names(jaxpr)

    def interpret(self, *operands: Any, **params: Any) -> list[Any]:
        jaxpr, length = without_references(params["jaxpr"]), params["length"]
        consts, carry, xs = ScanParts.of(operands, **params)
        rows: list[Any] = [None] * length
        for i in range(length - 1, -1, -1) if params["reverse"] else range(length):
            slices = [index_in_dim(x, i, 0, keepdims=False) for x in xs]
            with extended_name_stack(f"step {i} of scan"):
                outs = apply_jaxpr(jaxpr, *consts, *carry, *slices)
            carry, rows[i] = outs[: len(carry)], outs[len(carry) :]
        if length == 0:
            avals = self.abstract_eval(**params)[len(carry) :]
            return [*carry, *map(zeros, avals)]
        return [*carry, *[stack(column) for column in zip(*rows, strict=True)]]

    def execute(self, *operands: Array, **params: Any) -> list[Array]:
        jaxpr, length = without_references(params["jaxpr"]), params["length"]
        cost = length * (len(jaxpr.eqns) + 1)
        if length == 0 or cost > interpreted_operations(jaxpr):
            return run_compiled(self, operands, params)
        consts, carry, xs = ScanParts.of(operands, **params)
        slice_avals = jaxpr.in_avals[len(consts) + len(carry) :]
        rows: list[Any] = [None] * length
        for i in range(length - 1, -1, -1) if params["reverse"] else range(length):
            slices = [
                Array(aval, np.asarray(x.to_host()[i]))
                for aval, x in zip(slice_avals, xs, strict=True)
            ]
            outs = apply_jaxpr(jaxpr, *consts, *carry, *slices)
            carry = outs[: len(carry)]
            rows[i] = [as_array(y).to_host() for y in outs[len(carry) :]]
        ys = [np.stack(column) for column in zip(*rows, strict=True)]
        avals = self.abstract_eval(**params)[len(carry) :]
        return [*map(as_array, carry), *map(Array, avals, ys)]

    def discharge(self, *operands: Any, **params: Any) -> list[Any]:
        return discharge_scan(self, operands, params)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, **params: Any
    ) -> list[Value]:
        return b.inline(scan_as_while(tuple(params.items())), *operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return jvp_scan(self, primals, tangents, params)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Any]
    ) -> Linearization:
        return linearize_scan(self, avals, active, params)

    def transpose(self, cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        return transpose_scan(self, cts, operands, params)

    def known_part(self, unknown: Mask, *, jaxpr: Jaxpr, **params: Any) -> KnownPart:
        mask = ScanParts.of(unknown, **params)
        n = len(mask.carry)

        def step(carry: list[bool]) -> list[bool]:
            at = tuple(mask._replace(carry=carry).flat)
            return [not on for on in known_program(jaxpr, at).results[:n]]

        mask = mask._replace(carry=settled(mask.carry, step))
        wanted = (*[not on for on in mask.carry], *[True] * (len(jaxpr.outvars) - n))
        program, results = known_program(jaxpr, tuple(mask.flat), wanted)
        known = ScanParts(*[[not on for on in role] for role in mask])
        sizes = {"num_consts": sum(known.consts), "num_carry": sum(known.carry)}
        return KnownPart(tuple(known.flat), results, params | sizes | {"jaxpr": program})

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: tuple[int | None, ...], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        jaxpr = params["jaxpr"]
        values, where = ScanParts.of(operands, **params), ScanParts.of(dims, **params)
        mapped = ScanParts(*[[d is not None for d in role] for role in where])
        n = len(values.carry)

        def out_batched(carry: list[bool]) -> list[bool]:
            at = _axis_in_body(mapped._replace(carry=carry))
            return [d is not None for d in open_batch(jaxpr, at, axes).out_dims]

        mapped = mapped._replace(carry=settled(mapped.carry, lambda carry: out_batched(carry)[:n]))
        ys_mapped = out_batched(mapped.carry)[n:]
        body, captured = captures_as_operands(
            open_batch(jaxpr, _axis_in_body(mapped), axes, (*mapped.carry, *ys_mapped)).jaxpr
        )
        sizes = {"num_consts": params["num_consts"] + len(captured)}
        # The loop axis of xs stays in front, the batch axis comes behind it.
        targets = ([0] * len(values.consts), [0] * n, [1] * len(values.xs))
        moved = [
            to_axis(axes, x, d, target) if on else x
            for role in zip(values, where, mapped, targets, strict=True)
            for x, d, on, target in zip(*role, strict=True)
        ]
        outs = self.bind(*captured, *moved, **params | sizes | {"jaxpr": body})
        carry_dims: list[int | None] = [0 if on else None for on in mapped.carry]
        return outs, carry_dims + [1 if on else None for on in ys_mapped]

    collect = batch
    rematerialize = staticmethod(rematerialize_scan)


def _axis_in_body(mapped: ScanParts) -> tuple[int | None, ...]:
    return tuple([0 if on else None for on in mapped.flat])


scan_p = Scan()
