"""Which directory keeps the compiled programs, and whether it may be trusted.

It is what ``jax_compilation_cache_dir`` names, else ``morphax`` in the user's directory for caches.
A directory that somebody else owns or can write to is refused: whoever can write there decides
which native code runs here.  Access lists beyond the mode bits are not looked at.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_MAY_READ: Final = stat.S_IRGRP | stat.S_IROTH


class UnusableDirectory(Exception):
    """The cache cannot be in this place."""


def directory(configured: str | None) -> Path:
    """The directory of the cache; it need not exist.

    Args:
        configured: the value of ``jax_compilation_cache_dir``.

    Raises:
        UnusableDirectory: it is on no file system, is no path, or the user has no home.
    """
    if configured:
        if not _is_path(configured):
            raise UnusableDirectory(f"{configured!r} is no path: it has characters that none has")
        if "://" in configured:
            raise UnusableDirectory(f"{configured} is not on a file system")
        return _expanded(configured).absolute()
    caches = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    root = Path(caches) if os.path.isabs(caches) else _expanded("~/.cache")
    return root / "morphax"


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UnusableDirectory("the user has no home directory") from None


def prepare(folder: Path) -> None:
    """Make the directory if need be, for the user alone.

    Raises:
        OSError: it cannot be made.
        UnusableDirectory: it may not be trusted.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    fault = _fault(folder.stat(), _OTHERS_MAY_WRITE)
    if fault:
        raise UnusableDirectory(f"{folder} {fault}")


def is_private(facts: os.stat_result) -> bool:
    """Whether a file is the user's own and nobody else can read or write it."""
    return not _fault(facts, _OTHERS_MAY_READ | _OTHERS_MAY_WRITE)


def _fault(facts: os.stat_result, forbidden: int) -> str:
    """Why a file may not be trusted; Windows has neither these owners nor these modes."""
    if os.name != "posix":
        return ""
    if facts.st_uid != os.geteuid():
        return f"belongs to user {facts.st_uid}, not to user {os.geteuid()} who runs this program"
    mode = stat.S_IMODE(facts.st_mode)
    return f"is open to others (mode {mode:04o}; use chmod 700)" if mode & forbidden else ""
