"""How much memory this process may use: that of the machine, or of its control groups if less.

Reference: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_UNKNOWN: Final = 16 << 30
_GROUPS: Final = "/sys/fs/cgroup"
_OWN_GROUPS: Final = "/proc/self/cgroup"


def available_memory(groups: str = _GROUPS, own: str = _OWN_GROUPS) -> int:
    """Bytes of memory that the system lets this process use; 16 GiB where it does not tell.

    Args:
        groups: where control groups are mounted.
        own: the file that names those of this process.
    """
    return min([_of_machine(), *_limits(groups, own)])


def _of_machine() -> int:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN
    return size if size > 0 else _UNKNOWN


def _limits(groups: str, own: str) -> Iterator[int]:
    """The limits of the groups that this process is in, and of the groups around them."""
    for line in _text(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield from _limits_above(Path(groups), path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_above(Path(groups, "memory"), path, "memory.limit_in_bytes")


def _limits_above(root: Path, path: str, name: str) -> Iterator[int]:
    """The root counts too: in a container it is the group itself, whatever its path outside."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts) + 1):
        text = _text(os.path.join(root, *parts[:depth], name)).strip()
        if text.isdecimal() and int(text) > 0:
            yield int(text)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
