"""Directories of checkpoints: made beside their place, and put there when they are whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

from ...util.messages import message

STRUCTURE: Final = "pytreedef.json"
STORE: Final = "array_store"


def local_path(where: str, directory: str | os.PathLike[str]) -> Path:
    """The path of a directory, without symbolic links; `RuntimeError` if it is of a network."""
    text = os.fspath(directory)
    if "://" in text:
        raise RuntimeError(
            message(
                f"{where}, argument directory",
                given=repr(text),
                expected="a directory of a file system of this machine",
                fix="Mount the bucket, copy the directory there afterwards, or write array by "
                "array with serialization.run_serialization, which knows buckets.",
            )
        )
    return Path(os.path.realpath(text))


def new_directory(where: str, target: Path, overwrite: bool) -> Path:
    """A new directory beside the one that shall be written, if that may be."""
    present = sorted(target.iterdir()) if target.exists() else []
    known = [target / STRUCTURE, target / STORE]
    foreign = [path.name for path in present if path not in known]
    if present and not overwrite:
        raise ValueError(
            message(
                f"{where}, argument directory",
                given=f"{str(target)!r}, where files are, with overwrite=False",
                expected="a path where there is nothing",
                fix="Choose another one, or pass overwrite=True.",
            )
        )
    if foreign:
        raise RuntimeError(
            message(
                f"{where}, argument directory",
                given=f"{str(target)!r}, with {foreign!r:.200} in it",
                expected="a path where there is nothing, or a checkpoint",
                fix="Choose a new directory for each checkpoint, or remove these files.",
            )
        )
    partial = target.with_name(f".{target.name}.{uuid4().hex}.partial")
    partial.mkdir()
    return partial


@contextmanager
def removed_on_error(partial: Path) -> Iterator[None]:
    """Remove a directory that could not be finished."""
    try:
        yield
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a new file, and return when it is on the disk."""
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def put_in_place(partial: Path, target: Path) -> None:
    """Put a directory in place of what is there."""
    if target.exists():
        replaced = partial.with_suffix(".replaced")
        target.rename(replaced)
        partial.rename(target)
        shutil.rmtree(replaced)
    else:
        partial.rename(target)
