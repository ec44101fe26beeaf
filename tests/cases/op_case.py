"""The record of one operation, and the making of its operands.

From a record come the tests of `tests/lax/test_operations.py`: value against NumPy on both engines,
dtype rule, eager = jit, derivatives to second order in both modes, vmap = loop over every placement
of the batch axis, transpose identity.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import ml_dtypes
import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEXES = ("complex64", "complex128")
INTEGERS = ("int32", "int8", "uint8", "int64", "uint32")
ANY_INTEGER = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
BOOL = ("bool",)
INEXACT = FLOATS + COMPLEXES
NUMBERS = INEXACT + INTEGERS
ALL = NUMBERS + BOOL

# Relative to the largest magnitude of the truth; the truth is computed in 64 bits.
TOLERANCE = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 5e-3,
    "bfloat16": 4e-2,
}


@final
@dataclass(frozen=True)
class Operand:
    """One operand: numbers drawn evenly from [low, high).

    Args:
        shape: of the array.
        low, high: range of the numbers; unsigned dtypes are drawn from [max(low, 0), high).
        dtype: fixed dtype; `None` takes the dtype under test.
        distinct: draw numbers that all differ, for operations with ties.
        differentiable: whether derivatives with respect to it are checked.
    """

    shape: tuple[int, ...] = (3, 4)
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None
    distinct: bool = False
    differentiable: bool = True

    def draw(self, rng: np.random.Generator, dtype: str) -> np.ndarray[Any, Any]:
        target = numpy_dtype(self.dtype or dtype)
        if self.distinct:
            values = np.linspace(self.low, self.high, max(int(np.prod(self.shape)), 1))
            values = rng.permutation(values)[: int(np.prod(self.shape))].reshape(self.shape)
        else:
            values = rng.uniform(self.low, self.high, self.shape)
        if target.kind == "b":
            return values > (self.low + self.high) / 2
        if target.kind in "iu":
            low = max(int(np.floor(self.low)), 0) if target.kind == "u" else int(self.low)
            return rng.integers(low, max(int(self.high), low + 1), self.shape).astype(target)
        if target.kind == "c":
            values = values + 1j * rng.uniform(self.low, self.high, self.shape)
        return np.asarray(values, target)


@final
@dataclass(frozen=True)
class OpCase:
    """One operation under test.

    Args:
        label: unique, readable: ``"dot_general/batched"``.
        function: of arrays, calls one public lax function.
        reference: the truth, in NumPy or SciPy, of float64, complex128 or integer operands; its
            result is compared after conversion to the operation's dtype.
        operands: what to draw.
        dtypes: names of the dtypes under test.
        derivatives: order to which derivatives are checked; 0 if there are none.
        batched: whether vmap is compared with a loop.
        tolerance: factor on the tolerance of the dtype, with a reason in a comment.
    """

    label: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    operands: tuple[Operand, ...] = (Operand(),)
    dtypes: tuple[str, ...] = FLOATS
    derivatives: int = 2
    batched: bool = True
    tolerance: float = 1.0

    def draw(self, dtype: str, seed: int = 0) -> list[np.ndarray[Any, Any]]:
        """Operands for one test; the same numbers in every run."""
        rng = np.random.default_rng(zlib.crc32(f"{self.label} {dtype} {seed}".encode()))
        return [operand.draw(rng, dtype) for operand in self.operands]


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def widened(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`x` in the 64-bit dtype of its kind, in which the truth is computed."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x if x.dtype.kind in "biu" else x.astype(np.float64)
