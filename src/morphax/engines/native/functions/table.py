"""Which functions are ours, and the text of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...loops.program import DType
from . import exponential, hyperbolic, trigonometric
from .kernel import F32, F64, Kernel

_OF_BOTH: dict[str, Callable[..., Any]] = {
    **{"exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1},
    **{"log": exponential.log, "log2": exponential.log2, "log1p": exponential.log1p},
    **{"sin": trigonometric.sin, "cos": trigonometric.cos, "atan": trigonometric.atan},
    "tanh": hyperbolic.tanh,
}
_OF_F32: dict[str, Callable[..., Any]] = {
    **{"tan": trigonometric.tan, "asin": trigonometric.asin, "acos": trigonometric.acos},
    **{"sinh": hyperbolic.sinh, "cosh": hyperbolic.cosh, "asinh": hyperbolic.asinh},
    **{"acosh": hyperbolic.acosh, "atanh": hyperbolic.atanh, "pow": exponential.power},
}


def is_ours(operation: str, dtype: DType) -> bool:
    """Whether we compute a function ourselves; else the C library does."""
    return (operation in _OF_BOTH and dtype in (F32, F64)) or (
        operation in _OF_F32 and dtype == F32
    )


def written(operation: str, dtype: DType, width: int, names: list[str]) -> tuple[Kernel, Any, Any]:
    """The lines of a function of these parameters, its result, and where it is none (or `None`)."""
    kernel = Kernel(width)
    operands = [kernel.parameter(name, dtype) for name in names]
    result = (_OF_BOTH.get(operation) or _OF_F32[operation])(*operands)
    value, outside = result if isinstance(result, tuple) else (result, None)
    return kernel, value, outside
