"""`stop_gradient`: the identity, with derivative zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ... import dtypes, tree
from ...array import Array
from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    Zero,
    aval_of,
    current_trace,
    root_trace,
    same_axes,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value


@final
class StopGradient(Primitive):
    """x, for whose derivative zero is taken."""

    name = "stop_gradient"
    reads = "alike"
    moves = True
    linear_sets = ((0,),)

    def abstract_eval(self, x: Any) -> Any:
        return x

    def axis_flow(self, x: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any) -> Any:
        return x

    def composed(self, x: Any) -> Any:
        return x

    def lower(self, b: Builder, out: Any, x: Value) -> Value:
        return x

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value) -> loops.Value:
        return x

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Zero]:
        return self.bind(*primals), Zero(aval_of(primals[0]).to_tangent_aval())

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        # A linear program that has it is one of values: what is to be differentiated is behind it.
        return [ct]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[Any, Any]:
        return self.bind(*operands), dims[0]


stop_gradient_p = StopGradient()


def stop_gradient(x: Any) -> Any:
    """`x`, treated as a constant by differentiation.

    Args:
        x: array or tree; leaves that are not floating or complex pass unchanged.

    Example:
        >>> import morphax as jax
        >>> jax.grad(lambda x: x * jax.lax.stop_gradient(x))(3.0)
        Array(3., dtype=float32, weak_type=True)
    """
    if type(x) is Array and current_trace() is root_trace():
        return x

    def stop(leaf: Any) -> Any:
        inexact = dtypes.issubdtype(aval_of(leaf).dtype, np.inexact)
        return stop_gradient_p.bind(leaf) if inexact else leaf

    return tree.map(stop, x)
