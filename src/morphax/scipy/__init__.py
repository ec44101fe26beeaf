"""`morphax.scipy`: functions of SciPy for arrays that can be traced; SciPy itself is not imported."""

from . import special as special
