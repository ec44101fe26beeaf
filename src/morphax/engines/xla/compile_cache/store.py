"""A directory of entries: read and write them, keep the directory small, count hits and misses.

Any number of processes use it at once, without locks.  A file appears complete under its name, or
not at all (it is written beside and renamed); two processes that write the same entry write equal
programs, and the last one stays.  Nothing is synced to the disk: an entry that a crash has damaged
fails its digest.

Reading an entry sets the time of its file, by which the entries used longest ago are removed when
the directory is too large.  Only files made here are counted or removed: others are left alone.

A hit or miss appends one byte to a file of that name, so that its size is the count.  The file
`written` grows by a byte for each KiB before that is written, and is removed when the directory
has been looked at.  So processes that are killed are accounted for by those that come after them.
"""

from __future__ import annotations

import atexit
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, final

from .entries import BrokenEntry, opened, sealed
from .files import ForeignFile, append, read, remove
from .location import UnusableDirectory, is_private, prepare

DIRECTORY_FAILURES: Final = (OSError, ForeignFile, UnusableDirectory)
"""What opening a directory, or keeping an entry in it, may raise."""

_ENTRY: Final = ".executable"
_UNFINISHED: Final = ".unfinished"
_SECRET_NAME: Final = "secret"
_SECRET_BYTES: Final = 32
_WRITTEN: Final = "written"
_WRITTEN_UNIT: Final = 1024

# Making room for a few more entries as well saves looking at all of them at each new one.
_TRIMMED_SHARE: Final = 0.9
_SHARE_BETWEEN_TRIMS: Final = 0.125
_SECONDS_UNTIL_ABANDONED: Final = 3600.0

_NO_LINKS: Final[dict[str, Any]] = (
    {"follow_symlinks": False} if os.utime in os.supports_follow_symlinks else {}
)

Event = Literal["hits", "misses"]


class Kept(NamedTuple):
    """An entry on disk: its file, size in bytes, and time of last use."""

    path: Path
    size: int
    used: float


@final
class Store:
    """The entries in one directory."""

    def __init__(self, folder: Path) -> None:
        """Open the directory, and make it if need be.

        Raises:
            OSError: it can be neither read nor made.
            UnusableDirectory: it may not be trusted.
        """
        prepare(folder)
        self.folder = folder
        self._secret = _secret(folder / _SECRET_NAME)
        self._is_trimmed = True
        self._limit: int | None = None

    def get(self, key: str) -> bytes | None:
        """The payload under a key, or `None` if there is no such entry.

        Raises:
            OSError: the entry cannot be read.
            BrokenEntry: it is not ours, or damaged.
        """
        path = self._path(key)
        try:
            entry, _ = read(path)
        except FileNotFoundError:
            return None
        except ForeignFile as error:
            raise BrokenEntry(str(error)) from error
        except MemoryError as error:
            raise BrokenEntry("it is larger than the memory that there is") from error
        payload = self._opened(entry, key)
        with suppress(OSError):
            os.utime(path, **_NO_LINKS)
        return payload

    def put(self, key: str, payload: bytes, limit: int) -> None:
        """Keep a payload under a key, unless it alone is larger than `limit` bytes.

        A directory that was removed meanwhile is made again, and a new secret is taken over.

        Raises:
            OSError: the disk is full, the directory cannot be written, …; nothing is left behind.
            ForeignFile: the secret is none of ours.
            UnusableDirectory: the directory may not be trusted any more.
        """
        prepare(self.folder)
        self._secret = _secret(self.folder / _SECRET_NAME)
        entry = sealed(payload, key, self._secret)
        if len(entry) > limit:
            return
        is_full = self._account_for(len(entry), limit)
        try:
            _write(self._path(key), entry)
        finally:
            if is_full:
                self.trim(limit)

    def remove(self, key: str) -> None:
        """Remove an entry, if it is there and can be removed."""
        with suppress(OSError):
            remove(self._path(key))

    def _opened(self, entry: bytes, key: str) -> bytes:
        """The payload, by the secret that is known or the one that has taken its place."""
        try:
            return opened(entry, key, self._secret)
        except BrokenEntry:
            # Somebody may have removed the directory, and another process made it again.
            secret = _private_secret(self.folder / _SECRET_NAME)
            if secret is None or secret == self._secret:
                raise
        self._secret = secret
        return opened(entry, key, secret)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENTRY}"

    def _account_for(self, added: int, limit: int) -> bool:
        """Whether much has been written, by all processes, since the directory was looked at."""
        if self._limit is None:
            atexit.register(self._trim_at_exit)
        self._limit, self._is_trimmed = limit, False
        path = self.folder / _WRITTEN
        try:
            units = append(path, b"." * -(-added // _WRITTEN_UNIT))
        except (ForeignFile, PermissionError):
            with suppress(OSError):
                remove(path)
            return True
        return units * _WRITTEN_UNIT > limit * _SHARE_BETWEEN_TRIMS

    def _trim_at_exit(self) -> None:
        if self._limit is not None and not self._is_trimmed:
            self.trim(self._limit)

    def trim(self, limit: int) -> None:
        """Remove the entries used longest ago if all together are larger than `limit` bytes."""
        self._is_trimmed = True
        with suppress(OSError):
            remove(self.folder / _WRITTEN)
        self._remove_abandoned()
        kept = sorted(self.entries(), key=lambda entry: entry.used)
        excess = sum(file.size for file in (*kept, *self._files(_UNFINISHED))) - limit
        if excess > 0:
            excess += int(limit * (1 - _TRIMMED_SHARE))
        for entry in kept:
            if excess <= 0:
                break
            excess -= entry.size
            with suppress(OSError):
                entry.path.unlink()

    def _remove_abandoned(self) -> None:
        """Remove what processes that were killed have left unfinished."""
        newest = time.time() - _SECONDS_UNTIL_ABANDONED
        for file in self._files(_UNFINISHED):
            if file.used < newest:
                with suppress(OSError):
                    file.path.unlink()

    def entries(self) -> list[Kept]:
        """All entries, in no order."""
        return list(self._files(_ENTRY))

    def _files(self, suffix: str) -> Iterator[Kept]:
        """Files with a suffix; one that disappears meanwhile is passed over."""
        with suppress(OSError), os.scandir(self.folder) as found:
            for file in found:
                if file.name.endswith(suffix):
                    with suppress(OSError):
                        facts = file.stat(follow_symlinks=False)
                        if not stat.S_ISDIR(facts.st_mode):
                            yield Kept(Path(file.path), facts.st_size, facts.st_mtime)

    def clear(self) -> int:
        """Remove all entries and counts; the number of entries removed."""
        removed = 0
        for entry in self.entries():
            with suppress(OSError):
                entry.path.unlink()
                removed += 1
        for name in ("hits", "misses", _WRITTEN):
            with suppress(OSError):
                remove(self.folder / name)
        return removed

    def count(self, event: Event) -> None:
        """Count a hit or a miss, if the directory can be written."""
        with suppress(OSError, ForeignFile):
            append(self.folder / event, b".")

    def counted(self, event: Event) -> int:
        """The number of hits or misses of all processes so far."""
        try:
            return (self.folder / event).lstat().st_size
        except OSError:
            return 0


def _write(path: Path, content: bytes) -> None:
    """Make or replace a file in one step."""
    with _unfinished(path.parent, content) as written:
        os.replace(written, path)


@contextmanager
def _unfinished(folder: Path, content: bytes) -> Iterator[str]:
    """The name of a new file, which only the user can read; it is gone afterwards."""
    name = str(folder / f"{os.getpid()}-{os.urandom(8).hex()}{_UNFINISHED}")
    try:
        with open(name, "xb", opener=_open_private) as file:
            file.write(content)
        yield name
    finally:
        with suppress(OSError):
            os.unlink(name)


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _secret(path: Path) -> bytes:
    """The secret of a directory, made on first use.

    One that others can read, that the user cannot, or of the wrong length, is no secret: a new one
    takes its place, and entries made with the old one will fail their digest.
    """
    found = _private_secret(path)
    if found is None:
        with suppress(FileNotFoundError):
            remove(path)
        with _unfinished(path.parent, os.urandom(_SECRET_BYTES)) as written:
            _publish(written, path)
        found = read(path)[0]
    return found


def _private_secret(path: Path) -> bytes | None:
    try:
        secret, facts = read(path)
    except (FileNotFoundError, ForeignFile, PermissionError):
        return None
    return secret if len(secret) == _SECRET_BYTES and is_private(facts) else None


def _publish(written: str, path: Path) -> None:
    """Give a file its name unless another process was first."""
    try:
        os.link(written, path)
    except FileExistsError:
        pass
    except OSError:
        # A file system without links: the last process wins.
        os.replace(written, path)
