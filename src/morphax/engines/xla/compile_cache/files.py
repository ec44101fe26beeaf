"""Files of the cache, read and written with no trust in what lies under their names.

A name may have become a pipe or a device, which would be waited for without end, or a link to
somebody else's file.  So files are opened without waiting and without following links, and what
was opened, not its name, is asked whether it is a regular file of the user's own.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

# Not all systems have these; they have neither such pipes nor such links then.
_CAREFULLY: Final = (
    getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_LARGEST: Final = 1 << 31
_WAYS_TO_BE_NO_FILE: Final = (errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR)


class ForeignFile(Exception):
    """What has the name of a file of the cache was not made by it."""


def read(path: Path) -> tuple[bytes, os.stat_result]:
    """The content of a file, and what the system says about it.

    Raises:
        FileNotFoundError: there is none.
        ForeignFile: it is a link, a pipe, a device, a directory, or belongs to somebody else.
        OSError: it cannot be read.
    """
    descriptor = _opened(path, os.O_RDONLY)
    try:
        facts = os.fstat(descriptor)
        if facts.st_size > _LARGEST:
            raise ForeignFile(f"{path} has {facts.st_size} bytes, more than any entry")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read()
        return content, facts
    finally:
        os.close(descriptor)


def append(path: Path, content: bytes) -> int:
    """Append to a file, made if need be for the user alone, in one step; its size thereafter.

    Raises:
        ForeignFile: what has this name is no such file.
        OSError: it cannot be written.
    """
    descriptor = _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, content)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove what has this name; a directory only if it is empty.

    Raises:
        OSError: it is not there, or cannot be removed.
    """
    try:
        path.unlink()
    except (IsADirectoryError, PermissionError):
        path.rmdir()


def _opened(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | _CAREFULLY, 0o600)
    except OSError as error:
        if error.errno in _WAYS_TO_BE_NO_FILE:
            raise ForeignFile(f"{path} is no regular file") from error
        raise
    facts = os.fstat(descriptor)
    if stat.S_ISREG(facts.st_mode) and (os.name != "posix" or facts.st_uid == os.geteuid()):
        return descriptor
    os.close(descriptor)
    raise ForeignFile(f"{path} is no regular file of this user's own")
