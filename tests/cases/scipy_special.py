"""Functions of `scipy.special`: those of two or three operands in the middle of their domains.

Far out, and at special points, they are compared in `tests/scipy/test_special.py`.
"""

from __future__ import annotations

import zlib

from scipy import special as reference

from morphax import numpy as jnp
from morphax.scipy import special

from .op_case import OpCase, Operand

NARROW = ("float32", "float16", "bfloat16")
UNIT, POSITIVE = (0.05, 0.95), (0.3, 6.0)
REAL = (-3.0, 3.0)
Range = tuple[float, float]


def _record(
    name: str,
    *ranges: Range,
    held: tuple[int, ...] = (),
    derivatives: int = 2,
    tolerance: float = 1.0,
    label: str = "",
) -> OpCase:
    """The function of both modules; operands at `held` have no derivative."""
    operands = [
        Operand((2, 3), low, high, differentiable=i not in held)
        for i, (low, high) in enumerate(ranges)
    ]
    # The narrow dtypes are computed as the wide one; one of them stands for all.
    dtypes = ("float64", NARROW[zlib.crc32(name.encode()) % 3])
    function = getattr(special, name)
    truth = getattr(reference, name)
    return OpCase(
        f"special.{name}{label}", function, truth, tuple(operands), dtypes, derivatives,
        tolerance=tolerance,
    )  # fmt: skip


CASES = (
    _record("beta", POSITIVE, POSITIVE),
    _record("betaln", POSITIVE, POSITIVE),
    _record("boxcox", POSITIVE, REAL),
    _record("boxcox1p", (-0.5, 2.0), REAL),
    _record("comb", (3.0, 8.0), (0.5, 2.5)),
    _record("dawsn", REAL),
    _record("entr", POSITIVE),
    _record("erfcx", REAL),
    _record("exp1", (0.2, 5.0)),
    _record("expi", (-3.0, -0.2)),
    _record("expi", (0.5, 9.0), label="/positive"),
    _record("expit", REAL),
    OpCase(
        "special.expn",
        lambda n, x: special.expn(jnp.floor(n), x),
        lambda n, x: reference.expn(n // 1, x),
        (Operand((2, 3), 1, 5, differentiable=False), Operand((2, 3), 0.3, 6)),
        ("float64", "float32"),
    ),
    _record("factorial", POSITIVE),
    _record("gamma", POSITIVE),
    _record("kl_div", POSITIVE, POSITIVE),
    _record("log_ndtr", (-30.0, 3.0)),
    _record("loggamma", POSITIVE),
    _record("logit", UNIT),
    _record("ndtr", REAL),
    _record("ndtri", UNIT),
    _record("owens_t", REAL, REAL),
    _record("poch", POSITIVE, POSITIVE),
    _record("rel_entr", POSITIVE, POSITIVE),
    _record("spence", POSITIVE),
    _record("xlog1py", REAL, POSITIVE),
    _record("xlogy", REAL, POSITIVE),
    _record("fresnel", REAL),
    _record("sici", POSITIVE),
    # Derivatives with respect to parameters are differences, and have none of their own.
    _record("hyp1f1", POSITIVE, POSITIVE, REAL, derivatives=1),
    _record("hyp1f1", POSITIVE, POSITIVE, REAL, held=(0, 1), label="/x"),
    _record("hyp2f1", POSITIVE, POSITIVE, POSITIVE, (-2.0, 0.7), derivatives=1, tolerance=10),
    _record("hyp2f1", POSITIVE, POSITIVE, POSITIVE, (-2.0, 0.7), held=(0, 1, 2), label="/x",
            tolerance=10),
)  # fmt: skip
