"""Floats of 8 bits in order, compiled by XLA and eagerly, against NumPy's float64.

Some have no infinity, no sign, no zero, or one NaN alone, whose bits are those of −0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

DTYPES = [
    np.dtype(getattr(ml_dtypes, f"float8_{name}"))
    for name in "e3m4 e4m3 e4m3b11fnuz e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu".split()
]
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "max": (jnp.max, np.max),
    "min": (jnp.min, np.min),
    "argmax": (jnp.argmax, np.argmax),
    "argmin": (jnp.argmin, np.argmin),
    "sort": (jnp.sort, np.sort),
    "argsort": (jnp.argsort, lambda x: np.argsort(x, kind="stable")),
    "cummax": (lax.cummax, np.maximum.accumulate),
    "cummin": (lax.cummin, np.minimum.accumulate),
    "nanmax": (jnp.nanmax, np.nanmax),
    "nanmin": (jnp.nanmin, np.nanmin),
    "nanargmax": (jnp.nanargmax, np.nanargmax),
    "nanargmin": (jnp.nanargmin, np.nanargmin),
}


def operands(dtype: Any) -> list[np.ndarray[Any, Any]]:
    """All bits in some order; the least number; the greatest one."""
    every = np.random.default_rng(0).permutation(256).astype(np.uint8).view(dtype)
    numbers = every[~np.isnan(every.astype(np.float64))]
    wide = numbers.astype(np.float64)
    return [every, numbers[[wide.argmin()]], numbers[[wide.argmax()]]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_order(dtype: Any) -> None:
    # Running extremes take the least number of this one, next to zero in float32, for zero.
    names = [n for n in FUNCTIONS if not (n.startswith("cum") and "e8m0" in str(dtype))]

    def all_of_them(x: Any) -> dict[str, Any]:
        return {name: FUNCTIONS[name][0](x) for name in names}

    compiled = jax.jit(all_of_them, compiler_options={"jax_cpu_engine": "xla"})
    for x in operands(dtype):
        results = all_of_them(jnp.asarray(x)), compiled(x)
        for name in names:
            expected = FUNCTIONS[name][1](x.astype(np.float64))
            for result in results:
                wide = np.asarray(result[name]).astype(np.float64)
                np.testing.assert_array_equal(wide, expected, err_msg=f"{name} of {x}")
