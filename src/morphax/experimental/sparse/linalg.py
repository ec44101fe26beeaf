"""`jax.experimental.sparse.linalg`: eigenvalues and systems of sparse matrices."""

from __future__ import annotations

from .lobpcg import lobpcg_standard as lobpcg_standard
from .spsolve import spsolve as spsolve
from .spsolve import spsolve_p as spsolve_p
