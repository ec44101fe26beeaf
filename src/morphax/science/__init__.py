"""`morphax.science`: algorithms of numerical science, with SciPy's names and arguments.

What JAX leaves out, and users write again and again.  Everything is made of `lax` and `numpy`, so
that it works under `jit`, `grad` and `vmap`.  Each subpackage is imported when it is first asked
for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..util.on_demand import on_demand as _on_demand

if _TYPE_CHECKING:
    from . import integrate as integrate
    from . import interpolate as interpolate
    from . import linalg as linalg
    from . import ndimage as ndimage
    from . import optimize as optimize
    from . import signal as signal
    from .sparsity import sparse_hessian as sparse_hessian
    from .sparsity import sparse_jacobian as sparse_jacobian

_PACKAGES = (
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparsity",
)

__getattr__, __dir__ = _on_demand(
    __name__, _PACKAGES, {".sparsity": ("sparse_hessian", "sparse_jacobian")}
)
