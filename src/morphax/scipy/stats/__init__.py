"""`morphax.scipy.stats`: distributions, a module each, and statistics."""

from __future__ import annotations

from . import norm as norm
