"""The native engine: a jaxpr, whole, as one function of machine code, made by LLVM.

Start with `engine`, then `translation` (jaxpr to loop program), `machine_code` (loop program to
machine code) and `executable` (the call).  All but `engine` is loaded when a program is for this
engine.  See docs/design/native-engine.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...util.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from .cost_model import judged as judged
    from .engine import NATIVE as NATIVE
    from .executable import NativeExecutable as NativeExecutable
    from .kept_code import first_machine_code_of as first_machine_code_of
    from .kept_code import kept_machine_code_of as kept_machine_code_of
    from .kept_code import machine_code_of as machine_code_of
    from .translation import forget as forget
    from .translation import translated as translated

_LATER = {
    ".cost_model": ("judged",),
    ".engine": ("NATIVE",),
    ".executable": ("NativeExecutable",),
    ".kept_code": ("first_machine_code_of", "kept_machine_code_of", "machine_code_of"),
    ".translation": ("forget", "translated"),
}
__getattr__, __dir__ = _on_demand(__name__, (), _LATER)
