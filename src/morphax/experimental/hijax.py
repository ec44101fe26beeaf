"""Types of values that users define, and operations on them: `jax.experimental.hijax`."""

from __future__ import annotations

from ..core import AbstractRef as AbstractRef
from ..core import AbstractValue as AbstractValue
from ..core import AvalQDD as AvalQDD
from ..core import ShapedArray as ShapedArray
from ..core import Zero as Zero
from ..core import is_undefined_primal as is_undefined_primal
from ..core.high_types import AvalMutableQDD as AvalMutableQDD
from ..core.high_types import HiPspec as HiPspec
from ..core.high_types import HiType as HiType
from ..core.high_types import MutableHiType as MutableHiType
from ..core.high_types import aval_method as aval_method
from ..core.high_types import aval_property as aval_property
from ..core.high_types import register_hitype as register_hitype
from ..extend.core.derived_rules import jvp_from_lin as jvp_from_lin
from ..extend.core.derived_rules import linearize_from_jvp as linearize_from_jvp
from ..extend.core.derived_rules import vjp_from_jvp as vjp_from_jvp
from ..extend.core.derived_rules import vjp_from_lin as vjp_from_lin
from ..extend.core.high_primitive import HiPrimitive as HiPrimitive
from ..extend.core.vjp_high_primitive import VJPHiPrimitive as HiPrim  # noqa: F401, the new name
from ..extend.core.vjp_high_primitive import VJPHiPrimitive as VJPHiPrimitive
from ..interpreters.ad import instantiate_zeros as instantiate_zeros
from ..interpreters.effect_types import control_flow_allowed_effects as control_flow_allowed_effects
from ..lax.reference.references import TransformedRef as TransformedRef
