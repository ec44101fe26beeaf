"""`jax.experimental.pallas.triton`: how Triton is to compile a kernel."""

from __future__ import annotations

from typing import final

from ...util.records import dataclass


@final
@dataclass(frozen=True)
class CompilerParams:
    """Options of Triton's compiler.

    Args:
        num_warps: how many warps run an instance of a kernel.
        num_stages: how many stages its pipelines have.
    """

    num_warps: int | None = None
    num_stages: int | None = None
