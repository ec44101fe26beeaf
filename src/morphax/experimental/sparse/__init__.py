"""`jax.experimental.sparse`: arrays most of whose elements are zero.

Why it is so: docs/design/sparse.md.
"""

from __future__ import annotations

from .base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from .base import JAXSparse as JAXSparse
from .base import SparseEfficiencyError as SparseEfficiencyError
from .base import SparseEfficiencyWarning as SparseEfficiencyWarning
