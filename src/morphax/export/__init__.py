"""`jax.export`: functions as portable StableHLO modules, for all sizes and several platforms."""

from __future__ import annotations

from ._checks import DisabledSafetyCheck as DisabledSafetyCheck
from ._export import default_export_platform as default_export_platform
from ._export import export as export
from ._export import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from ._export import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from ._exported import Exported as Exported
from ._reading import deserialize as deserialize
from ._scope import SymbolicScope as SymbolicScope
from ._symbols import is_symbolic_dim as is_symbolic_dim
from ._symbols import symbolic_args_specs as symbolic_args_specs
from ._symbols import symbolic_dim_bounds as symbolic_dim_bounds
from ._symbols import symbolic_shape as symbolic_shape
from ._trees import register_namedtuple_serialization as register_namedtuple_serialization
from ._trees import register_pytree_node_serialization as register_pytree_node_serialization

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
]
