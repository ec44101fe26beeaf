"""`morphax.science.optimize`: roots and minima of functions."""

from __future__ import annotations

from ._brentq import RootResults as RootResults
from ._brentq import brentq as brentq
from ._least_squares import least_squares as least_squares
from ._minimize import minimize as minimize
from ._result import OptimizeResult as OptimizeResult
from ._root import root as root
