"""`morphax.science`: numerical methods beyond JAX, with SciPy's signatures, made for arrays.

Each subpackage is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..util.on_demand import on_demand as _on_demand

if _TYPE_CHECKING:
    from . import integrate as integrate
    from . import optimize as optimize

_PACKAGES = (
    "integrate",
    "optimize",
)

__getattr__, __dir__ = _on_demand(__name__, _PACKAGES, {})
