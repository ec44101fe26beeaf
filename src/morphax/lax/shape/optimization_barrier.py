"""`optimization_barrier`: the identity, across which the compiler moves and merges nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ... import tree
from ...core import AxisFlow, BatchAxes, Primitive, each_alone, is_undefined_primal, is_zero
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value


@final
class OptimizationBarrier(Primitive):
    """The operands, all of which are computed before any of the results is used."""

    name = "optimization_barrier"
    multiple_results = True
    lowers_key_data = True
    separate = True
    narrow_in_loops = "kept"

    def abstract_eval(self, *avals: Any) -> Sequence[Any]:
        return avals

    def axis_flow(self, *avals: Any) -> AxisFlow:
        return each_alone(*avals)

    def evaluate(self, *operands: Any) -> list[Any]:
        return list(operands)

    def lower(self, b: Builder, outs: Sequence[Any], *operands: Value) -> list[Value]:
        return b.ops("stablehlo.optimization_barrier", outs, *operands) if operands else []

    def to_loops(
        self, b: loops.Builder, outs: Sequence[Any], *operands: loops.Value
    ) -> Sequence[loops.Value]:
        return operands

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], Sequence[Any]]:
        return self.bind(*primals), self._of_active(tangents)

    def transpose(self, cts: Sequence[Any], *operands: Any) -> list[Any]:
        results = self._of_active(cts)
        return [
            ct if is_undefined_primal(x) and not is_zero(ct) else None
            for ct, x in zip(results, operands, strict=True)
        ]

    def _of_active(self, tangents: Sequence[Any]) -> Sequence[Any]:
        """A barrier for the tangents that are not zero."""
        results = iter(self.bind(*[t for t in tangents if not is_zero(t)]))
        return [t if is_zero(t) else next(results) for t in tangents]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[list[Any], Sequence[Any]]:
        return self.bind(*operands), dims


optimization_barrier_p = OptimizationBarrier()


def optimization_barrier(operand: Any, /) -> Any:
    """`operand`, whose leaves the compiler treats as opaque values computed together.

    Nothing is moved or merged across the barrier: what comes after it is not combined with an equal
    computation before it.

    Args:
        operand: an array or a tree of arrays.

    Example:
        >>> import morphax as jax
        >>> jax.lax.optimization_barrier((1.0, 2.0))
        (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, structure = tree.flatten(operand)
    return structure.unflatten(optimization_barrier_p.bind(*leaves))
