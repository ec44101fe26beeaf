"""`morphax.numpy.linalg`: linear algebra."""

from __future__ import annotations

from .norms import norm as norm
