"""Memory for machine code: pages of a few large blocks, which many programs share.

A memory map for each program, which LLVM's own loader makes, is too much for a process with
thousands of them: the kernel allows 65,530.  Here those whose code has been written lie side by
side, and the kernel keeps them as one.

Pages that are no longer needed are taken back when others are asked for: the garbage collector may
free code in the midst of anything, of giving out pages too.

Code is written while its pages are writable, and executable only afterwards: no memory is ever
both.  Pages are private, so a process and its forks do not see each other's.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import weakref
from collections import deque
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
        self._given_back: deque[tuple[int, int]] = deque()
        if hasattr(os, "register_at_fork"):
            # Another thread may hold it while this one forks.
            os.register_at_fork(after_in_child=self._renew_lock)

    def pages(self, size: int) -> CodePages:
        """Writable pages for so many bytes; `seal` makes them executable."""
        size = -(-size // _PAGE) * _PAGE
        with self._lock:
            while self._given_back:
                self._take_back(*self._given_back.popleft())
            address = self._taken(size)
        pages = CodePages(address, size)
        giving_back = weakref.finalize(pages, self._given_back.append, (address, size))
        giving_back.atexit = False
        return pages

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def seal(self, pages: CodePages) -> None:
        """Make what was written executable, and no longer writable."""
        _protect(pages.address, pages.size, mmap.PROT_READ | mmap.PROT_EXEC)

    def _taken(self, size: int) -> int:
        fitting = [at for at, free in self._free.items() if free >= size]
        if not fitting:
            block = mmap.mmap(-1, max(size, _BLOCK), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._blocks.append(block)
            # A run that Ctrl-C has left may go on until the process ends, and modules end before.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(block))
            start = ctypes.addressof(ctypes.c_char.from_buffer(block))
            self._free[start] = len(block)
            fitting = [start]
        address = min(fitting)
        rest = self._free.pop(address) - size
        if rest:
            self._free[address + size] = rest
        return address

    def _take_back(self, address: int, size: int) -> None:
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
