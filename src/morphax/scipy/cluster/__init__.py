"""`morphax.scipy.cluster`: groups of vectors."""

from __future__ import annotations

from . import vq as vq
