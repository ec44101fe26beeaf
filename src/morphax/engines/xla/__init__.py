"""The xla engine: jaxpr → StableHLO text → jaxlib → numbers.

Read in this order: `stablehlo` (the text builder), `lowering` (jaxpr to module), `executable`
(compile and call), `engine`.  What compiles is loaded when something is to be compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...util.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from .engine import XLA as XLA
    from .reordering import reordered as reordered

_LATER = {".engine": ("XLA",), ".reordering": ("reordered",)}
__getattr__, __dir__ = _on_demand(__name__, (), _LATER)
