"""`jax.stages`: the steps from a function to a compiled program."""

from __future__ import annotations

from .control.compiled import Compiled as Compiled
from .control.stage_info import ArgInfo as ArgInfo
from .control.stages import CompilerOptions as CompilerOptions
from .control.stages import Lowered as Lowered
from .control.stages import Traced as Traced
from .control.stages import Wrapped as Wrapped
