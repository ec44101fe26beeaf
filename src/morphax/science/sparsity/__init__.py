"""Sparse matrices of derivatives: see docs/design/sparse-jacobians.md.

`patterns` says what patterns are, `rules` and `programs` find them in jaxprs, `colouring` groups
the columns that one product can compute, `jacobians` has the functions that users call.
"""

from __future__ import annotations

from .jacobians import sparse_hessian as sparse_hessian
from .jacobians import sparse_jacobian as sparse_jacobian
