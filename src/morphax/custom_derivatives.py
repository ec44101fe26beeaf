"""`jax.custom_derivatives`: functions whose derivatives the user defines."""

from __future__ import annotations

from .control.closure_convert import closure_convert as closure_convert
from .control.closure_convert import custom_gradient as custom_gradient
from .control.custom_jvp import custom_jvp as custom_jvp
from .control.custom_vjp import custom_vjp as custom_vjp
