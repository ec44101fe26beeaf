"""Loop programs: jaxprs as loops over memory, from which C and machine code are written.

Start with `program` (the language), then `values` and `fusion` (what is computed where), then
`builder`, which the rules `to_loops` of primitives write with.  See docs/design/loop-programs.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...util.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from . import bits as bits
    from . import contraction as contraction
    from . import control as control
    from . import householder as householder
    from . import indexing as indexing
    from . import joining as joining
    from . import linalg as linalg
    from . import ordering as ordering
    from . import scalars as scalars
    from . import special as special
    from . import window_selection as window_selection
    from . import windows as windows
    from .builder import Builder, NotALoopProgram
    from .operations import SIGNATURES, cost_of
    from .program import BOOL, INDEX, ORIGIN, Index, LoopProgram, Operand
    from .reductions import accumulated, place_of_extreme, reduced
    from .translation import loop_program
    from .values import Place, Value, row_major
    from .writer import Writer

__all__ = [
    "BOOL",
    "INDEX",
    "ORIGIN",
    "SIGNATURES",
    "Builder",
    "Index",
    "LoopProgram",
    "NotALoopProgram",
    "Operand",
    "Place",
    "Value",
    "Writer",
    "accumulated",
    "cost_of",
    "loop_program",
    "place_of_extreme",
    "reduced",
    "row_major",
]

# Tracing needs none of it: rules are asked for when a loop program is made.
__getattr__, __dir__ = _on_demand(
    __name__,
    [
        "bits",
        "contraction",
        "control",
        "householder",
        "indexing",
        "joining",
        "linalg",
        "ordering",
        "scalars",
        "special",
        "window_selection",
        "windows",
    ],
    {
        ".builder": ["Builder", "NotALoopProgram"],
        ".operations": ["SIGNATURES", "cost_of"],
        ".program": ["BOOL", "INDEX", "ORIGIN", "Index", "LoopProgram", "Operand"],
        ".reductions": ["accumulated", "place_of_extreme", "reduced"],
        ".translation": ["loop_program"],
        ".values": ["Place", "Value", "row_major"],
        ".writer": ["Writer"],
    },
)
