"""`morphax.scipy.sparse.linalg`: iterative solvers of linear systems."""

from __future__ import annotations

from .solvers import bicgstab as bicgstab
from .solvers import cg as cg
from .solvers import gmres as gmres
