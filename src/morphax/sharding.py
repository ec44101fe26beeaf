"""`jax.sharding`: on which devices the parts of an array lie."""

from __future__ import annotations

from .runtime.sharding import Sharding as Sharding
from .runtime.sharding import SingleDeviceSharding as SingleDeviceSharding
