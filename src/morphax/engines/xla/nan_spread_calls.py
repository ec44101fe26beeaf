"""NaN beside NaN in factorisations, by native code that programs for the CPU call.

See `native/nan_spread.h`.  Only programs that stay in this process call it, on one device.
"""

from __future__ import annotations

from typing import Any, Final

from ...runtime.native_calls import NAN_SPREAD_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .stablehlo import Builder, Value

LU: Final = 0
REFLECTIONS: Final = 1
CHOLESKY: Final = 2
UNFACTORISED: Final = 3


def may_call_nan_spread(b: Builder, *avals: Any) -> bool:
    """Whether native code may look for NaN in factors that are not empty."""
    is_possible = b.module.may_call_kernels and part("nan_spread") is not None
    return is_possible and all([a.is_static and a.size for a in avals])


def call_nan_spread(b: Builder, factors: int, matrices: Value, beside: Value) -> list[Value]:
    """Both operands, which are overwritten.

    Args:
        b: of the block that calls.
        factors: what the matrices are.
        matrices: by columns, as LAPACK gives them.
        beside: pivots of LU factors, scalars of reflections, or LAPACK's `info`; of matrices that
            are not yet factorised zeros, which become 1 where one is not finite, and zero now.
    """
    stack = matrices.aval.ndim - 2
    rows, columns = matrices.aval.shape[stack:]
    sizes = {
        "factors": factors,
        "rows": rows,
        "columns": columns,
        "besides": beside.aval.shape[stack] if beside.aval.ndim > stack else 1,
    }
    by_rows = [range(x.aval.ndim)[::-1] for x in (matrices, beside)]
    layouts = [[stack, stack + 1, *by_rows[0][2:]], by_rows[1]]
    return custom_call(
        b,
        NAN_SPREAD_TARGET,
        [matrices.aval, beside.aval],
        matrices,
        beside,
        layouts=[*layouts, *layouts],
        config=f"{{{', '.join([f'{name} = {size} : i64' for name, size in sizes.items()])}}}",
        aliases={0: 0, 1: 1},
    )
