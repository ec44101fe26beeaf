"""`jax.experimental.colocated_python`: Python that runs where arrays are.

With one process that is here: functions are called with the arrays as they lie, outside of all
transformations, and what they return lies as they say or as `out_specs_fn` asks for.
"""

from __future__ import annotations

from .func import colocated_python as colocated_python
from .obj import colocated_python_class as colocated_python_class
from .serialization import colocated_cpu_devices as colocated_cpu_devices

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]
