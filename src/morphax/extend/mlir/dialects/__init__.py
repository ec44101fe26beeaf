"""`jax.extend.mlir.dialects`: the operations of MLIR's dialects, one module each.

`stablehlo` has what lowering rules emit (also under the name `hlo`); `arith`, `builtin`, `chlo`,
`func`, `math`, `memref`, `mhlo`, `scf`, `sdy`, `sparse_tensor` and `vector` are there too.
"""

from __future__ import annotations

from typing import Any

from ....engines.xla.mlir_context import dialect


def __getattr__(name: str) -> Any:
    try:
        return dialect("stablehlo" if name == "hlo" else name)
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
