"""`jax.example_libraries`: small libraries that show how to build on the rest.

- `stax`: layers of neural networks as pairs of functions;
- `optimizers`: first-order methods of stochastic optimisation.
"""

from __future__ import annotations

from . import optimizers as optimizers
from . import stax as stax
