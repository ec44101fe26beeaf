"""`morphax.scipy`: functions of SciPy for arrays that can be traced, without SciPy."""

from __future__ import annotations

from . import fft as fft
from . import linalg as linalg
from . import special as special
from . import stats as stats
