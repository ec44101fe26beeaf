"""What JAX offers under `jax.experimental`, at its public paths.

Submodules are imported by those who use them: ``from morphax.experimental import checkify``.
"""

from __future__ import annotations

from ..control.callbacks.pure_callback import io_callback as io_callback
from ..core.high_types import cur_qdd as cur_qdd
from ..dtypes import primal_tangent_dtype as primal_tangent_dtype
from .earray import EArray as EArray
