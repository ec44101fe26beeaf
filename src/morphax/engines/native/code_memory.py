"""Memory for machine code: pages of a few large blocks, which many programs share.

A memory map for each program, which LLVM's own loader makes, is too much for a process with
thousands of them: the kernel allows 65,530.  Here those whose code has been written lie side by
side, and the kernel keeps them as one.

Code is written while its pages are writable, and executable only afterwards: no memory is ever
both.  Pages are private, so a process and its forks do not see each other's.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import weakref
from typing import final

_PAGE = mmap.PAGESIZE
_BLOCK = 1 << 20


@final
class CodePages:
    """Pages that hold code, as long as this lives.

    Args:
        address: of the first one.
        size: in bytes.
    """

    __slots__ = ("__weakref__", "address", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size


@final
class CodeMemory:
    """Gives pages out, and takes them back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: list[mmap.mmap] = []
        # Runs of free pages: address and size.
        self._free: dict[int, int] = {}

    def pages(self, size: int) -> CodePages:
        """Writable pages for so many bytes; `seal` makes them executable."""
        size = -(-size // _PAGE) * _PAGE
        with self._lock:
            address = self._taken(size)
        pages = CodePages(address, size)
        giving_back = weakref.finalize(pages, self._give_back, address, size)
        giving_back.atexit = False
        return pages

    def seal(self, pages: CodePages) -> None:
        """Make what was written executable, and no longer writable."""
        _protect(pages.address, pages.size, mmap.PROT_READ | mmap.PROT_EXEC)

    def _taken(self, size: int) -> int:
        fitting = [at for at, free in self._free.items() if free >= size]
        if not fitting:
            block = mmap.mmap(-1, max(size, _BLOCK), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._blocks.append(block)
            start = ctypes.addressof(ctypes.c_char.from_buffer(block))
            self._free[start] = len(block)
            fitting = [start]
        address = min(fitting)
        rest = self._free.pop(address) - size
        if rest:
            self._free[address + size] = rest
        return address

    def _give_back(self, address: int, size: int) -> None:
        with self._lock:
            _protect(address, size, mmap.PROT_READ | mmap.PROT_WRITE)
            for start, free in list(self._free.items()):
                if start == address + size:
                    size += self._free.pop(start)
                elif start + free == address:
                    del self._free[start]
                    address, size = start, size + free
            self._free[address] = size


def _protect(address: int, size: int, protection: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection):
        error = ctypes.get_errno()
        raise OSError(error, f"mprotect: {os.strerror(error)}")


CODE_MEMORY = CodeMemory()
"""The memory of this process."""
