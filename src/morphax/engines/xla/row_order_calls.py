"""Orders of rows by native code, which programs for the CPU call: see `native/row_orders.cpp`.

Only programs that stay in this process call it, on one device, as for extremes.
"""

from __future__ import annotations

from typing import Any

from ...runtime.native_calls import ROW_ORDERS_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .stablehlo import Builder, Value


def may_call_row_orders(b: Builder, *avals: Any) -> bool:
    """Whether native code may find the orders; there must be exchanges."""
    is_possible = b.module.may_call_kernels
    return is_possible and all([a.is_static for a in avals]) and part("row_orders") is not None


def call_row_orders(b: Builder, out: Any, pivots: Value) -> Value:
    """The orders after exchanges of row i with row ``pivots[..., i]``, places kept inside."""
    (order,) = custom_call(
        b,
        ROW_ORDERS_TARGET,
        [out],
        pivots,
        layouts=[range(a.ndim)[::-1] for a in (pivots.aval, out)],
        config=f"{{exchanges = {pivots.aval.shape[-1]} : i64, rows = {out.shape[-1]} : i64}}",
    )
    return order
