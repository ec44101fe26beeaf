"""`morphax.scipy`: functions of SciPy for arrays that can be traced, without SciPy."""

from __future__ import annotations

from . import linalg as linalg
from . import special as special
