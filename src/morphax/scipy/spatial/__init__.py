"""`morphax.scipy.spatial`: rotations in space."""

from __future__ import annotations

from . import transform as transform
