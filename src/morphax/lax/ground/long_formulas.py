"""Formulas of many steps: eager mode computes them by machine code.

NumPy takes a microsecond for each step of a formula, however few numbers there are, and waits for
the slowest of them; machine code takes each number by itself.  One program for blocks of `_BLOCK`
numbers serves arrays of all shapes and dtypes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import ShapedArray, call_program
from ...engines import native
from ...engines.engine import Options
from ...engines.native.machine_function import MachineFunction, pool
from .formulas import FLOAT64, ByFormula

_BLOCK = 32

Blocks = Callable[[Sequence[np.ndarray]], list[np.ndarray]]


class LongFormula(ByFormula):
    """Functions of real numbers by formulas of hundreds of steps and more."""

    digits = FLOAT64

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        run = _machine_code(self, len(operands), tuple(params.items()))
        wide = np.broadcast_arrays(*[np.asarray(x, FLOAT64) for x in operands])
        size = wide[0].size
        # The last block is filled up with the last numbers.
        places = np.minimum(np.arange(-(-size // _BLOCK) * _BLOCK), size - 1)
        blocks = np.stack([x.ravel()[places] for x in wide]).reshape(len(wide), -1, _BLOCK)
        found = [run(list(blocks[:, i]))[0] for i in range(blocks.shape[1])]
        value = np.concatenate([np.empty(0), *found])[:size].reshape(wide[0].shape)
        with np.errstate(over="ignore"):
            return value.astype(operands[0].dtype)


@functools.cache
def _machine_code(primitive: ByFormula, count: int, params: tuple[tuple[str, Any], ...]) -> Blocks:
    """The results for blocks of `count` operands."""
    block = ShapedArray((_BLOCK,), FLOAT64)
    jaxpr = call_program(primitive, (block,) * count, dict(params))
    loops = native.translated(jaxpr, Options(primitive.name)).loops
    native.forget(jaxpr)
    code = native.machine_code_of(loops)
    declared = [(FLOAT64, (_BLOCK,))]
    places = code.address, code.scratch_bytes, pool
    return MachineFunction(code, *places, declared * count, declared, True, True)
