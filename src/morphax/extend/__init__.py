"""`jax.extend`: what libraries that extend JAX build on.

Modules are imported when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..util.on_demand import on_demand as _on_demand
from . import core as core

if _TYPE_CHECKING:
    from . import backend as backend
    from . import ifrt_programs as ifrt_programs
    from . import linear_util as linear_util
    from . import lowering as lowering
    from . import mlir as mlir
    from . import random as random
    from . import source_info_util as source_info_util

__getattr__, __dir__ = _on_demand(
    __name__,
    ("backend", "ifrt_programs", "linear_util", "lowering", "mlir", "random", "source_info_util"),
    {},
)
