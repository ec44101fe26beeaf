"""What becomes of cotangents in ``f_vjp.with_refs``, and of arguments in ``f_vjp.args_res``."""

from __future__ import annotations

from .transforms.cotangent_targets import DidntWant as DidntWant
from .transforms.cotangent_targets import DontWant as DontWant
from .transforms.cotangent_targets import GradRef as GradRef
from .transforms.cotangent_targets import GradValue as GradValue
from .transforms.saved_arguments import NotNeeded as NotNeeded
from .transforms.saved_arguments import NotSaveable as NotSaveable
