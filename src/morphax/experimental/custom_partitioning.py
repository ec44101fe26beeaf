"""`jax.experimental.custom_partitioning`: functions whose division the user defines."""

from __future__ import annotations

from ..parallel.custom_partitioning import custom_partitioning as custom_partitioning
from ..parallel.custom_partitioning import custom_partitioning_p as custom_partitioning_p
from ..parallel.sharding_rules import BATCHING as BATCHING
from ..parallel.sharding_rules import ArrayMapping as ArrayMapping
from ..parallel.sharding_rules import CompoundFactor as CompoundFactor
from ..parallel.sharding_rules import SdyShardingRule as SdyShardingRule
