"""What a fresh process waits for: imports, and its first results."""

from __future__ import annotations

import time
from typing import Any

from ..timing import START, Figures, Scale
from . import models


def first_array(jax: Any, _: Scale) -> Figures:
    """From the start of this process's own work to the first array, imports included."""
    jax.numpy.zeros(3).block_until_ready()
    return {"import + first array": time.perf_counter() - START}


def first_mlp_step(jax: Any, scale: Scale) -> Figures:
    return _first_step(jax, models.mlp(jax, scale))


def first_transformer_step(jax: Any, scale: Scale) -> Figures:
    return _first_step(jax, models.transformer(jax, scale))


def _first_step(jax: Any, model: models.Model) -> Figures:
    """To the end of the first training step, when all its programs have been compiled before."""
    jax.block_until_ready(jax.jit(model.step)(*model.operands))
    return {f"first step of a process, {model.name}": time.perf_counter() - START}
