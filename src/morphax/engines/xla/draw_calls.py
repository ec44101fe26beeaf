"""Numbers drawn by rejection, by native code that programs for the CPU call: `native/draws.cpp`.

It has the roundings of the program that is written out otherwise, takes each number as far as it
has to be taken, and is what eager mode calls.  Only programs that stay in this process call it, on
one device, as for extremes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...dtypes import bfloat16
from ...runtime.native_calls import DRAW_GENERATORS, DRAW_METHODS, DRAWS_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .literals import physical_aval
from .stablehlo import Builder, Value

_PRECISIONS: Final = (np.float32, np.float64, np.float16, bfloat16)


def may_call_draws(b: Builder, out: Any) -> bool:
    """Whether native code may draw numbers of an aval."""
    is_possible = b.module.may_call_kernels
    is_possible = is_possible and part("random") is not None and out.dtype in _PRECISIONS
    return is_possible and out.is_static and out.size > 0


def call_draws(
    b: Builder, method: str, generator: str, out: Any, keys: Value, *parameters: Value
) -> Value:
    """Call native code for a number for each of the parameters, keys being their leading axes."""
    words = keys.seen_as(physical_aval(keys.aval))
    avals = [words.aval, *[x.aval for x in parameters], out]
    which, whose = DRAW_METHODS.index(method), DRAW_GENERATORS.index(generator)
    (drawn,) = custom_call(
        b,
        DRAWS_TARGET,
        [out],
        words,
        *parameters,
        layouts=[range(aval.ndim)[::-1] for aval in avals],
        config=f"{{which = {which} : i64, generator = {whose} : i64}}",
    )
    return drawn
