"""The record of one call of a `jnp` function, from which `test_functions` makes its tests.

A call takes the module first, so that the same record runs with NumPy, which gives the values, with
JAX, which gave the dtypes in ``golden.json``, and with morphax.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tests.cases.op_case import Operand

Call = Callable[..., Any]

FLOATS = ("float32", "bfloat16")
REALS = ("float32", "bfloat16", "int32", "uint8")
NUMBERS = ("float32", "bfloat16", "complex64", "int32", "uint8")
ALL = (*NUMBERS, "bool")
INTEGERS = ("int32", "uint8")


@final
@dataclass(frozen=True)
class JnpCase:
    """One call under test.

    Args:
        label: unique, readable.
        call: of the module and the operands.
        operands: what to draw.
        dtypes: names of the dtypes under test.
        reference: the truth, of operands of 64 bits; by default `call` with NumPy.
        derivatives: whether derivatives are checked.
        batched: whether vmap is compared with a loop.
        traceable: whether the call can be traced.
        beyond: whether JAX refuses the call.
        tolerance: factor on the tolerance of the dtype, with a reason in a comment.
    """

    label: str
    call: Call
    operands: tuple[Operand, ...]
    dtypes: tuple[str, ...] = NUMBERS
    reference: Call | None = None
    derivatives: bool = True
    batched: bool = True
    traceable: bool = True
    beyond: bool = False
    tolerance: float = 1.0

    def draw(self, dtype: str, seed: int = 0) -> list[np.ndarray[Any, Any]]:
        """Operands for one test; the same numbers in every run."""
        rng = np.random.default_rng(zlib.crc32(f"{self.label} {dtype} {seed}".encode()))
        return [operand.draw(rng, dtype) for operand in self.operands]


def function(name: str, *operands: Operand, options: Any = None, **facts: Any) -> JnpCase:
    """The call of the function `name` with keyword arguments `options`."""
    keywords = options or {}

    def call(xp: Any, *arrays: Any) -> Any:
        return getattr(xp, name)(*arrays, **keywords)

    shown = ",".join(f"{k}={v}" for k, v in keywords.items())
    shapes = ";".join("x".join(map(str, o.shape)) or "scalar" for o in operands)
    return JnpCase(f"{name}({shown})/{shapes}", call, operands, **facts)


def functions(names: str, *operands: Operand, options: Any = ({},), **facts: Any) -> list[JnpCase]:
    """Calls of several functions, each with several sets of keyword arguments."""
    return [function(n, *operands, options=o, **facts) for n in names.split() for o in options]


def expression(label: str, call: Call, *operands: Operand, **facts: Any) -> JnpCase:
    """Any other call."""
    return JnpCase(label, call, operands, **facts)
