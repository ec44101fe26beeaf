"""Shared set-up: the root trace is installed by importing the package."""

import morphax  # noqa: F401
