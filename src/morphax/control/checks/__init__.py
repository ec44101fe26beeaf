"""`checkify`: errors in programs as values.

What rewrites programs is loaded by the first that is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...util.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from . import checked_programs as checked_programs

__getattr__, __dir__ = _on_demand(__name__, ("checked_programs",), {})
