"""`jax.sharding`: on which devices the parts of an array lie."""

from __future__ import annotations

from .array.sharding import Sharding as Sharding
from .array.sharding import SingleDeviceSharding as SingleDeviceSharding
