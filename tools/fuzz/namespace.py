"""The names that programs see."""

from __future__ import annotations

from typing import Any

from .program import PRELUDE, STATE

_names: dict[str, Any] = {}


def namespace() -> dict[str, Any]:
    """A new dictionary of them; classes and modules are the same ones each time."""
    if not _names:
        _names["__name__"] = "program"
        exec(compile(PRELUDE + STATE, "<prelude>", "exec"), _names)
    return dict(_names)
