"""What a function of one element takes on both engines, within loops over many elements.

Measured by ``python -m benchmarks.small_programs.function_times``, which prints the lines of the
table, on a processor with vectors of 512 bits (EPYC, Zen 4).  Where runs differed XLA's least time
and our longest stand here: with a doubt, a program is XLA's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..loops.program import DType
from .divisions import DIVISIONS

_TIMES: Final[Mapping[str, Mapping[int, tuple[int, int]]]] = {
    "exp": {4: (440, 340), 8: (1200, 1200)},
    "exp2": {4: (440, 320), 8: (1200, 1200)},
    "expm1": {4: (420, 870), 8: (1100, 2700)},
    "log": {4: (600, 470), 8: (1500, 3100)},
    "log2": {4: (650, 420), 8: (1700, 3000)},
    "log1p": {4: (730, 960), 8: (1800, 3500)},
    "sin": {4: (720, 1700), 8: (1700, 8200)},
    "cos": {4: (780, 1700), 8: (1700, 7900)},
    "tan": {4: (1200, 6300), 8: (3600, 9100)},
    "asin": {4: (2000, 8900), 8: (4600, 12000)},
    "acos": {4: (1900, 15000), 8: (4700, 12000)},
    "atan": {4: (480, 6400), 8: (1400, 12000)},
    "sinh": {4: (1300, 1600), 8: (9400, 5300)},
    "cosh": {4: (1100, 640), 8: (6100, 2400)},
    "tanh": {4: (690, 310), 8: (2100, 980)},
    "asinh": {4: (1300, 1600), 8: (15000, 7600)},
    "acosh": {4: (1300, 1500), 8: (12000, 7400)},
    "atanh": {4: (1300, 1800), 8: (13000, 4000)},
    "div": {4: (100, 100), 8: (320, 330)},
    "sqrt": {4: (170, 150), 8: (570, 600)},
    "cbrt": {4: (9600, 9600), 8: (11000, 11000)},
    "pow": {4: (2000, 5400), 8: (7600, 12000)},
    "atan2": {4: (850, 10000), 8: (2100, 12000)},
    "fmod": {4: (15000, 15000), 8: (14000, 14000)},
    "erf": {4: (670, 310), 8: (3500, 3600)},
    "erfc": {4: (1100, 890), 8: (3900, 3200)},
    "lgamma": {4: (12000, 4900), 8: (10000, 23000)},
    # Those of float32, which take half of this, are counted with other short operations.
    **{name: {8: (50, 45)} for name in ("add", "sub", "mul")},
}
# Of integers, by `divisions.py`.  XLA takes up to three times as long where quotients are large.
_TIMES_OF_DIVISIONS: Final[Mapping[int, tuple[int, int]]] = {
    1: (700, 2200),
    2: (800, 2500),
    4: (1100, 2500),
}


def picoseconds(operation: str, dtype: DType) -> tuple[int, int] | None:
    """Natively, and of XLA; `None` if that is not known."""
    if operation in DIVISIONS:
        return _TIMES_OF_DIVISIONS.get(dtype.itemsize)
    return _TIMES.get(operation, {}).get(dtype.itemsize) if dtype.kind == "f" else None
