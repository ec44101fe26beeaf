"""`jax.experimental.layout`: how arrays lie in the memory of each device."""

from __future__ import annotations

from ..core import Format as Format
from ..core import Layout as Layout
from ..lax.shape.layout_constraint import with_layout_constraint as with_layout_constraint
