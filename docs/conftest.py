"""Pages on several devices take those of the CPU; their number counts before the first is used."""

from __future__ import annotations

import morphax

morphax.config.update("jax_num_cpu_devices", 4)
