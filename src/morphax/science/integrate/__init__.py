"""`morphax.science.integrate`: initial value problems and integrals of functions."""

from __future__ import annotations

from ._solution import OdeResult as OdeResult
from ._solution import OdeSolution as OdeSolution
from ._solve_ivp import solve_ivp as solve_ivp
