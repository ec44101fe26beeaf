"""`jax.experimental.checkify`: runtime checks in programs that are staged."""

from __future__ import annotations

from ..control.checks.check_primitive import JaxRuntimeError
from ..control.checks.checkify import (
    ErrorCategory,
    all_checks,
    automatic_checks,
    checkify,
    div_checks,
    float_checks,
    index_checks,
    nan_checks,
    user_checks,
)
from ..control.checks.checks import Error, check, check_error, debug_check, init_error

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
