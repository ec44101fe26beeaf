"""`morphax.science.linalg`: banded and Toeplitz systems, generalised eigenvalue problems."""

from __future__ import annotations

from .banded import cho_solve_banded as cho_solve_banded
from .banded import cholesky_banded as cholesky_banded
from .banded import solve_banded as solve_banded
from .banded import solveh_banded as solveh_banded
from .eigenproblems import eig_banded as eig_banded
from .eigenproblems import eigh as eigh
from .eigenproblems import eigvals_banded as eigvals_banded
from .toeplitz_systems import solve_toeplitz as solve_toeplitz
