"""What becomes of cotangents in ``f_vjp.with_refs``: `jax.ad`."""

from __future__ import annotations

from .transforms.cotangent_targets import DidntWant as DidntWant
from .transforms.cotangent_targets import DontWant as DontWant
from .transforms.cotangent_targets import GradRef as GradRef
from .transforms.cotangent_targets import GradValue as GradValue
