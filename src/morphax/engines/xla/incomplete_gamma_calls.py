"""The incomplete gamma functions by native code, which programs for the CPU call.

Written out, each is a few hundred operations with loops, which take seconds to compile, and all
elements go all ways for as many steps as the slowest needs; see
`native/incomplete_gamma_formulas.h`.
Only programs that stay in this process call it, on one device, as for extremes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...runtime.native_calls import INCOMPLETE_GAMMA_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .stablehlo import Builder, Value

_FUNCTIONS: Final = (
    *("igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "log_igamma", "log_igammac"),
    *("gamma_density", "gamma_density_over_igamma", "gamma_density_over_igammac"),
)
"""In the order of their numbers in native code."""


def may_call_incomplete_gamma(b: Builder, name: str, aval: Any) -> bool:
    """Whether native code may compute the function of this name."""
    is_possible = b.module.may_call_kernels and name in _FUNCTIONS
    is_possible = is_possible and hasattr(part("incomplete_gamma"), name)
    return is_possible and aval.is_static and aval.size > 0


def call_incomplete_gamma(b: Builder, name: str, out: Any, a: Value, x: Value) -> Value:
    """Call native code for a function of arrays of one shape; it is rounded once."""
    computed = out if out.dtype == np.float32 else out.update(dtype=np.dtype(np.float64))
    order = range(len(out.shape))[::-1]
    (result,) = custom_call(
        b,
        INCOMPLETE_GAMMA_TARGET,
        [computed],
        *[b.convert(v, computed.dtype) for v in (a, x)],
        layouts=[order, order, order],
        config=f"{{which = {_FUNCTIONS.index(name)} : i64}}",
    )
    return b.convert(result, out.dtype)
