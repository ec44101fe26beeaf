"""Orders of rows after exchanges: native code in compiled programs, and the loop without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.engines.xla import row_order_calls
from morphax.runtime.native_calls import ROW_ORDERS_TARGET

PIVOTS = [
    (np.array([0], np.int32), 1),
    (np.array([2, 2], np.int32), 3),
    (np.array([3, 3, 3, 3], np.int32), 4),
    (np.array([-5, 9, np.iinfo(np.int32).max, np.iinfo(np.int32).min], np.int32), 6),
    (np.random.default_rng(0).integers(-1, 8, (3, 5, 7)).astype(np.int32), 7),
    (np.random.default_rng(1).integers(0, 9, (100, 4)).astype(np.int32), 9),
]


def _by_numpy(pivots: Any, rows: int) -> Any:
    stack = pivots.reshape(-1, pivots.shape[-1])
    orders = np.tile(np.arange(rows, dtype=np.int32), (len(stack), 1))
    for order, row in zip(orders, stack, strict=True):
        for i, other in enumerate(np.clip(row, 0, rows - 1)):
            order[[i, other]] = order[[other, i]]
    return orders.reshape(*pivots.shape[:-1], rows)


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize(("pivots", "rows"), PIVOTS, ids=lambda v: str(np.shape(v)))
def test_orders(pivots: Any, rows: int, is_native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_native:
        monkeypatch.setattr(row_order_calls, "part", lambda name: None)
    with jax.cpu_engine("xla"):
        function = jax.jit(lambda p: lax.linalg.lu_pivots_to_permutation(p, rows))
        found = function(pivots)
        text = function.lower(pivots).as_text()
    np.testing.assert_array_equal(found, _by_numpy(pivots, rows))
    assert (ROW_ORDERS_TARGET in text) is (
        is_native and row_order_calls.part("row_orders") is not None
    )


def test_portable_programs_have_no_native_code() -> None:
    exported = jax.export.export(jax.jit(lax.linalg.lu), platforms=["cpu"])(np.eye(3, dtype="f"))
    assert ROW_ORDERS_TARGET not in exported.mlir_module()
