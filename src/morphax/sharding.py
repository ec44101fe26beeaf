"""`jax.sharding`: on which devices the parts of an array lie."""

from __future__ import annotations

from .core.manual_axis_type import ManualAxisType as ManualAxisType
from .core.mesh import AbstractDevice as AbstractDevice
from .core.mesh import AbstractMesh as AbstractMesh
from .core.mesh import AxisType as AxisType
from .core.partition_spec import PartitionSpec as PartitionSpec
from .lax.shape.resharding import reshard as reshard
from .parallel.axis_modes import auto_axes as auto_axes
from .parallel.axis_modes import explicit_axes as explicit_axes
from .runtime.current_mesh import get_abstract_mesh as get_abstract_mesh
from .runtime.current_mesh import get_mesh as get_mesh
from .runtime.current_mesh import set_mesh as set_mesh
from .runtime.current_mesh import use_abstract_mesh as use_abstract_mesh
from .runtime.mesh import Mesh as Mesh
from .runtime.named_sharding import NamedSharding as NamedSharding
from .runtime.sharding import Sharding as Sharding
from .runtime.sharding import SingleDeviceSharding as SingleDeviceSharding
from .runtime.sharding import make_single_device_sharding as make_single_device_sharding
