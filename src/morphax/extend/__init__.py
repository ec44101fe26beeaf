"""`jax.extend`: what libraries that extend JAX build on.

Submodules are imported by those who use them: ``from morphax.extend import linear_util``.
"""

from __future__ import annotations

from . import core as core
