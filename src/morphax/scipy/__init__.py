"""`morphax.scipy`: functions of SciPy for arrays that can be traced; SciPy itself is not imported."""

from __future__ import annotations

from . import special as special
