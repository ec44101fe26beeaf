"""Record what JAX draws in the calls of `golden`.

Usage: ``python -m tests.random.record_golden``, with an interpreter that has JAX 0.10.1.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .golden import CALLS, GOLDEN, plain


def record() -> None:
    """Write the file of records: for each call, the numbers and the name of their dtype."""
    jax = import_module("jax")
    records: dict[str, Any] = {}
    for call in CALLS:
        with jax.enable_x64(call.x64):
            result = call.draw(jax.random)
            is_key = jax.dtypes.issubdtype(result.dtype, jax.dtypes.prng_key)
            numbers = np.asarray(jax.random.key_data(result) if is_key else result)
        values = plain(numbers)
        narrow = values.astype(np.float32) if numbers.dtype.itemsize < 8 else values
        records[f"{call.label}|{result.dtype}"] = values if values.dtype.kind != "f" else narrow
    np.savez_compressed(GOLDEN, **records)


if __name__ == "__main__":
    record()
