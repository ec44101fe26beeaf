"""`morphax.science`: numerical methods beyond JAX, under all transformations.

Each subpackage is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..util.on_demand import on_demand as _on_demand

if _TYPE_CHECKING:
    from .sparsity import sparse_hessian as sparse_hessian
    from .sparsity import sparse_jacobian as sparse_jacobian

_PACKAGES = ("sparsity",)

_NAMES = {".sparsity": ("sparse_hessian", "sparse_jacobian")}

__getattr__, __dir__ = _on_demand(__name__, _PACKAGES, _NAMES)
