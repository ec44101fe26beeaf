"""`jax.experimental.jet`: Taylor-mode differentiation."""

from __future__ import annotations

from ..control.jet import def_comp, def_deriv, deflinear, defzero, jet
from ..control.jet_programs import jet_rules

__all__ = ["def_comp", "def_deriv", "deflinear", "defzero", "jet", "jet_rules"]
