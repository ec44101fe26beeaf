"""`scan`, `while_loop`, `fori_loop`, `map`: primitives with a body, and their derivatives.

What only loops in `reverse_while` need, and what only XLA does, is loaded by the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...util.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from . import scan_lowering as scan_lowering
    from . import while_derivatives as while_derivatives

__getattr__, __dir__ = _on_demand(__name__, ("scan_lowering", "while_derivatives"), {})
