"""Shared set-up: the root trace is installed by importing the package."""

from __future__ import annotations

import morphax  # noqa: F401
