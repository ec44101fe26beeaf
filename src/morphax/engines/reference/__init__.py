"""The reference engine: NumPy gives every primitive its meaning, and eager mode its speed.

Code for chains is loaded with the first chain of many numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...util.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from .chain_code import kernel_with_code as kernel_with_code

__getattr__, __dir__ = _on_demand(__name__, (), {".chain_code": ("kernel_with_code",)})
