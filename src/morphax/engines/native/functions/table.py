"""Which functions are ours, and the text of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...loops.operations import MATH_OF_TWO
from ...loops.program import DType
from . import error_function, exponential, hyperbolic, trigonometric
from .kernel import F32, F64, Kernel

_OF_BOTH: dict[str, Callable[..., Any]] = {
    **{"exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1},
    **{"log": exponential.log, "log2": exponential.log2, "log1p": exponential.log1p},
    **{"sin": trigonometric.sin, "cos": trigonometric.cos, "atan": trigonometric.atan},
    **{"tan": trigonometric.tan, "atan2": trigonometric.atan2, "tanh": hyperbolic.tanh},
    "pow": exponential.power,
}
_OF_F32: dict[str, Callable[..., Any]] = {
    **{"asin": trigonometric.asin, "acos": trigonometric.acos},
    **{"sinh": hyperbolic.sinh, "cosh": hyperbolic.cosh, "asinh": hyperbolic.asinh},
    **{"acosh": hyperbolic.acosh, "atanh": hyperbolic.atanh},
    **{"erf": error_function.erf, "erfc": error_function.erfc},
}


# Parts of functions, which are computed by themselves: what for, the operands, the result.
_PARTS: dict[str, tuple[Callable[..., Any], tuple[DType, ...], DType]] = {
    "log_of_base": (exponential.log_of_base, (F32,), F64),
    "power_of_known": (exponential.power_of_known, (F32, F32, F64), F32),
}


def types_of(operation: str, dtype: DType) -> tuple[tuple[DType, ...], DType]:
    """The dtypes of the operands and of the result of a function of a dtype."""
    part = _PARTS.get(operation)
    if part is not None:
        return part[1], part[2]
    return (dtype,) * (2 if operation in MATH_OF_TWO else 1), dtype


def is_ours(operation: str, dtype: DType) -> bool:
    """Whether we compute a function ourselves; else the C library does."""
    is_of_dtype = operation in _OF_BOTH or (operation in _OF_F32 and dtype == F32)
    return operation in _PARTS or (is_of_dtype and dtype in (F32, F64))


def written(
    operation: str, dtype: DType, width: int, names: Sequence[str]
) -> tuple[Kernel, Any, Any]:
    """The lines of a function of these parameters, its result, and where it is none (or `None`)."""
    kernel = Kernel(width)
    types, _ = types_of(operation, dtype)
    operands = [kernel.parameter(name, x) for name, x in zip(names, types, strict=False)]
    part = _PARTS.get(operation)
    function = part[0] if part else _OF_BOTH.get(operation) or _OF_F32[operation]
    result = function(*operands)
    value, outside = result if isinstance(result, tuple) else (result, None)
    return kernel, value, outside
