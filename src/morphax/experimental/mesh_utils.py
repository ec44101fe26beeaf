"""`jax.experimental.mesh_utils`: devices in a grid, for `Mesh`."""

from __future__ import annotations

from ..parallel.device_grids import create_device_mesh as create_device_mesh
from ..parallel.device_grids import create_hybrid_device_mesh as create_hybrid_device_mesh
from ..parallel.device_grids import device_kind_handler_dict as device_kind_handler_dict
