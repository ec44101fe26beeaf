"""Factorisations of one matrix that LAPACK finds by iteration.

Iterations may not converge, and on NaN or infinity some of LAPACK's never end.  So only finite
matrices go to it, others as zeros; the results are NaN for them, and for matrices on which it
fails.
"""

from __future__ import annotations

from cmath import isfinite
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...engines.xla.library_calls import call_lapack, call_library, nan_where_failed
from ...engines.xla.nan_spread_calls import UNFACTORISED, call_nan_spread, may_call_nan_spread
from ...engines.xla.stablehlo import Builder, Value
from ..ground.sums import reduce_with
from .lapack import Memory, Plan
from .lowered import BOOL, INT32
from .matrix_stacks import MatrixOperation


class IteratedFactorisation(MatrixOperation):
    """Several results for one matrix; a subclass defines `evaluate_finite`."""

    multiple_results = True

    def evaluate_finite(self, x: Any, **params: Any) -> list[Any]:
        """The results for a finite matrix that has elements; the last is LAPACK's ``info``."""
        raise AssertionError(f"{self.name} defines evaluate_finite")

    def plan_finite(
        self, plan: Plan, x: Memory, **params: Any
    ) -> tuple[list[Memory], Memory] | None:
        """The same by native code, which may write to the matrix: results and ``info``."""
        return None

    def plan(self, plan: Plan, *operands: Memory, **params: Any) -> list[Memory] | None:
        x = plan.copied(operands[0])
        other = plan.zero_unless_finite(x)
        planned = self.plan_finite(plan, x, **params)
        if planned is None:
            return None
        results, info = planned
        for result in results:
            plan.nan_if(result, other)
            plan.nan_if(result, info)
        return results

    def evaluate_one(self, *matrices: Any, **params: Any) -> Any:
        (x,) = matrices
        if x.size and is_finite(x):
            *found, failed = self.evaluate_finite(x, **params)
            if not failed:
                return found
        results = self.results(x.dtype, x.shape, **params)
        if x.size:
            return [np.full(shape, _nan(np.dtype(dtype)), dtype) for shape, dtype in results]
        # Vectors of a matrix without elements are those of the standard basis.
        return [
            np.eye(*shape, dtype=dtype) if len(shape) == 2 else np.empty(shape, dtype)
            for shape, dtype in results
        ]


def is_finite(x: Any) -> bool:
    """Whether all elements are finite."""
    # The sum of squares, which is quick, tells so unless it overflows.
    return isfinite(np.vdot(x, x)) or bool(np.isfinite(x).all())


def _nan(dtype: Any) -> Any:
    return complex(np.nan, np.nan) if dtype.kind == "c" else np.nan


def call_iterated(
    b: Builder,
    function: str,
    outs: Sequence[Any],
    x: Value,
    aliases: Mapping[int, int],
    **attributes: str,
) -> list[Value]:
    """Call a function of a library whose operand is the matrix `x`; NaN where that is not finite.

    Args:
        b: of the block that calls.
        function: of LAPACK, without the letter of the dtype, or the whole name of another one.
        outs: avals of the results; ``info``, which comes last, is not among them.
        x: matrices.
        aliases: as in `call_lapack`.
        **attributes: MLIR text.
    """
    stack = x.aval.ndim - 2
    info = x.aval.update(shape=x.aval.shape[:stack], dtype=INT32)
    safe, other = _zero_unless_finite(b, x, info)
    ranks = [2, *[out.ndim - stack for out in outs], 0]
    call = call_library if function.startswith("cu") else call_lapack
    *found, failed = call(
        b, function, [*outs, info], safe, ranks=ranks, aliases=aliases, **attributes
    )
    failed = b.op("stablehlo.or", info, failed, other)
    return [
        v if v.aval.dtype.kind == "i" else nan_where_failed(b, v.aval, v, failed) for v in found
    ]


def _zero_unless_finite(b: Builder, x: Value, info: Any) -> list[Value]:
    """The matrices, zeros in place of those that are not finite, and 1 for each of these."""
    if may_call_nan_spread(b, x.aval):
        return call_nan_spread(b, UNFACTORISED, x, b.full(0, info))
    finite = _finite_matrices(b, x)
    chosen = b.broadcast(finite, x.aval.update(dtype=BOOL), range(info.ndim))
    safe = b.op("stablehlo.select", x.aval, chosen, x, b.full(0, x.aval))
    return [safe, b.op("stablehlo.select", info, finite, b.full(0, info), b.full(1, info))]


def _finite_matrices(b: Builder, x: Value) -> Value:
    """For each matrix, whether all of it is finite."""
    aval = x.aval
    each = aval.update(dtype=BOOL)
    if aval.dtype.kind == "c":
        part = aval.update(dtype=np.finfo(aval.dtype).dtype)
        parts = [b.op(f"stablehlo.{name}", part, x) for name in ("real", "imag")]
        tested = [b.op("stablehlo.is_finite", each, v) for v in parts]
        finite = b.op("stablehlo.and", each, *tested)
    else:
        finite = b.op("stablehlo.is_finite", each, x)
    one = each.update(shape=aval.shape[:-2])
    axes = (aval.ndim - 2, aval.ndim - 1)
    return reduce_with(b, "stablehlo.and", True, one, finite, axes)
