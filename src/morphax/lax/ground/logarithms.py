"""log(1 + x) as programs compute it."""

from __future__ import annotations

import numpy as np

from ...core import ShapedArray
from ...engines.xla.stablehlo import Builder, Value
from .families import compare

_FLOAT64 = np.dtype(np.float64)


def log_plus_one(b: Builder, out: ShapedArray, x: Value) -> Value:
    """log(1 + x) for `x` of the shape and dtype of the result.

    In float64 by Kahan's formula, log(y) x / (y − 1) for y = 1 + x, rounded: XLA's operation of
    that name loses seven bits for x near −0.4, and takes longer.

    Reference:
        Goldberg, "What every computer scientist should know about floating-point arithmetic", ACM
        Computing Surveys 23 (1991), theorem 4.
    """
    if out.dtype != _FLOAT64:
        return b.elementwise("stablehlo.log_plus_one", out, x)
    flag = out.update(dtype=np.dtype(bool))
    one = b.full(1, out)
    following = b.elementwise("stablehlo.add", out, x, one)
    rounded = b.elementwise("stablehlo.subtract", out, following, one)
    log = b.elementwise("stablehlo.log", out, following)
    ratio = b.elementwise("stablehlo.divide", out, x, rounded)
    product = b.elementwise("stablehlo.multiply", out, log, ratio)
    # Far out the quotient is 1, and that of infinities is none.
    far = compare(b, flag, "GT", x, b.full(1e15, out))
    value = b.op("stablehlo.select", out, far, log, product)
    near = compare(b, flag, "EQ", rounded, b.full(0, out))
    return b.op("stablehlo.select", out, near, x, value)
