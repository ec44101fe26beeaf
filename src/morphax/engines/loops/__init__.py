"""Loop programs: jaxprs as loops over memory, from which C and machine code are written.

Start with `program` (the language), then `values` and `fusion` (what is computed where), then
`builder`, which the rules `to_loops` of primitives write with.  See docs/design/loop-programs.md.
"""

from __future__ import annotations

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
