"""`jax.custom_derivatives`: functions whose derivatives the user defines."""

from __future__ import annotations

from .control.custom.closure_convert import closure_convert as closure_convert
from .control.custom.closure_convert import custom_gradient as custom_gradient
from .control.custom.custom_jvp import custom_jvp as custom_jvp
from .control.custom.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from .control.custom.custom_linear_call import linear_call as linear_call
from .control.custom.custom_symbolic import CustomVJPPrimal as CustomVJPPrimal
from .control.custom.custom_symbolic import SymbolicZero as SymbolicZero
from .control.custom.custom_symbolic import (
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
)
from .control.custom.custom_symbolic import zero_from_primal as zero_from_primal
from .control.custom.custom_vjp import custom_vjp as custom_vjp
from .control.custom.custom_vjp_primitives import custom_vjp_call_p as custom_vjp_call_p
from .control.custom.custom_vjp_remat import remat_opt_p as remat_opt_p
