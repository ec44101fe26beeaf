"""`jax.experimental.multihost_utils`: what programs of several processes ask of each other."""

from __future__ import annotations

from ..parallel.host_local_arrays import (
    global_array_to_host_local_array as global_array_to_host_local_array,
)
from ..parallel.host_local_arrays import (
    host_local_array_to_global_array as host_local_array_to_global_array,
)
from ..parallel.processes import ProcessFailureError as ProcessFailureError
from ..parallel.processes import assert_equal as assert_equal
from ..parallel.processes import broadcast_one_to_all as broadcast_one_to_all
from ..parallel.processes import live_devices as live_devices
from ..parallel.processes import process_allgather as process_allgather
from ..parallel.processes import reached_preemption_sync_point as reached_preemption_sync_point
from ..parallel.processes import sync_global_devices as sync_global_devices
