"""`morphax.scipy.optimize`: minima of functions."""

from __future__ import annotations

from ._minimize import OptimizeResults as OptimizeResults
from ._minimize import minimize as minimize
