"""The compile cache on the command line: ``python -m morphax.cache [show | clear]``.

It works on the directory that a program with the same environment variables uses.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .config import current as current_config
from .engines.xla.compile_cache.files import ForeignFile
from .engines.xla.compile_cache.location import UnusableDirectory, directory
from .engines.xla.compile_cache.programs import limit
from .engines.xla.compile_cache.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Show or clear the compile cache; the exit status."""
    parser = argparse.ArgumentParser("python -m morphax.cache", description=__doc__.split(":")[0])
    parser.add_argument("command", nargs="?", choices=("show", "clear"), default="show")
    command = parser.parse_args(arguments).command
    settings = current_config()
    try:
        folder = directory(settings.compilation_cache_dir)
        if not folder.exists():
            print(f"no compile cache yet; programs will be kept in {folder}")
            return 0
        store = Store(folder)
    except (OSError, ForeignFile, UnusableDirectory) as error:
        print(f"the compile cache cannot be used: {error}", file=sys.stderr)
        return 1
    if command == "clear":
        print(f"removed {store.clear()} programs from {folder}")
    else:
        print(_described(store, limit(settings), settings.enable_compilation_cache))
    return 0


def _described(store: Store, most: int, enabled: bool) -> str:
    entries = store.entries()
    hits, misses = store.counted("hits"), store.counted("misses")
    facts = {
        "directory": f"{store.folder}{'' if enabled else ' (switched off)'}",
        "programs": f"{len(entries)}",
        "size": f"{_size(sum(entry.size for entry in entries))} of at most {_size(most)}",
        "hits": f"{hits}",
        "misses": f"{misses}",
    }
    return "\n".join(f"{name + ':':10} {value}" for name, value in facts.items())


def _size(count: int) -> str:
    """Bytes in a unit that people read."""
    size, units = float(count), iter(("bytes", "KiB", "MiB"))
    for unit in units:
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"


if __name__ == "__main__":
    sys.exit(main())
