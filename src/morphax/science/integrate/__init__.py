"""`morphax.science.integrate`: initial value problems and integrals of functions."""

from __future__ import annotations

from ._quad import QuadInfo as QuadInfo
from ._quad import quad as quad
from ._solution import OdeResult as OdeResult
from ._solution import OdeSolution as OdeSolution
from ._solve_ivp import solve_ivp as solve_ivp
