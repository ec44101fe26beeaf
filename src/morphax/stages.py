"""`jax.stages`: the steps from a function to a compiled program."""

from __future__ import annotations

from .control.jit.compiled import Compiled as Compiled
from .control.jit.lowered import CompilerOptions as CompilerOptions
from .control.jit.lowered import Lowered as Lowered
from .control.jit.stage_info import ArgInfo as ArgInfo
from .control.jit.stages import Traced as Traced
from .control.jit.stages import Wrapped as Wrapped
