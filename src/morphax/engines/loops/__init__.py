"""Loop programs: jaxprs as loops over memory, from which C and machine code are written.

Start with `program` (the language), then `values` and `fusion` (what is computed where), then
`builder`, which the rules `to_loops` of primitives write with.  All is loaded when it is first
asked for.  See docs/design/loop-programs.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...util.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from . import bits as bits
    from . import calls as calls
    from . import complex_scalars as complex_scalars
    from . import complex_waves as complex_waves
    from . import contraction as contraction
    from . import control as control
    from . import draws as draws
    from . import householder as householder
    from . import indexing as indexing
    from . import joining as joining
    from . import linalg as linalg
    from . import ordering as ordering
    from . import scalars as scalars
    from . import special as special
    from . import tridiagonal as tridiagonal
    from . import window_selection as window_selection
    from . import windows as windows
    from .builder import Builder as Builder
    from .builder import NotALoopProgram as NotALoopProgram
    from .extremes import FEWEST_IN_GROUPS as FEWEST_IN_GROUPS
    from .extremes import place_of_extreme as place_of_extreme
    from .operations import SIGNATURES as SIGNATURES
    from .operations import cost_of as cost_of
    from .program import BOOL as BOOL
    from .program import INDEX as INDEX
    from .program import ORIGIN as ORIGIN
    from .program import Index as Index
    from .program import LoopProgram as LoopProgram
    from .program import Operand as Operand
    from .reductions import accumulated as accumulated
    from .reductions import reduced as reduced
    from .translation import loop_program as loop_program
    from .values import Place as Place
    from .values import Value as Value
    from .values import row_major as row_major
    from .writer import Writer as Writer

__getattr__, __dir__ = _on_demand(
    __name__,
    (
        "bits",
        "calls",
        "complex_scalars",
        "complex_waves",
        "contraction",
        "control",
        "draws",
        "householder",
        "indexing",
        "joining",
        "linalg",
        "ordering",
        "scalars",
        "special",
        "tridiagonal",
        "window_selection",
        "windows",
    ),
    {
        ".builder": ("Builder", "NotALoopProgram"),
        ".extremes": ("FEWEST_IN_GROUPS", "place_of_extreme"),
        ".operations": ("SIGNATURES", "cost_of"),
        ".program": ("BOOL", "INDEX", "ORIGIN", "Index", "LoopProgram", "Operand"),
        ".reductions": ("accumulated", "reduced"),
        ".translation": ("loop_program",),
        ".values": ("Place", "Value", "row_major"),
        ".writer": ("Writer",),
    },
)
