"""`Array`: immutable values with an aval, in host memory or on a device."""

from __future__ import annotations

from .array import Array

__all__ = ["Array"]
