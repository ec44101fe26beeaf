"""Object files of x86-64, linked into code memory.

What LLVM emits here is simple: a few sections, references from one to another and to functions of
the C library.  These may be far from the code, so each gets a jump nearby.

Reference: "System V Application Binary Interface, AMD64 Architecture Processor Supplement", chapter
4; "Tool Interface Standard (TIS) Executable and Linking Format", version 1.2.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from contextlib import suppress
from functools import cache
from typing import NamedTuple, final

from .code_memory import CODE_MEMORY, CodePages
from .products import address_in_blas
from .routines import address_of_routine
from .thread_steps import SHARE, address_of_sharing

_ALLOCATED, _RELOCATIONS, _SYMBOLS, _EMPTY = 2, 4, 2, 8
# The kinds of references: an address, distances, distances to a slot that holds the address.
_ABSOLUTE, _RELATIVE, _TO_SLOT = 1, (2, 4), (9, 41, 42)
# Jump to the address that follows: jmp [rip + 0].
_JUMP = bytes.fromhex("ff2500000000")
_JUMP_SIZE = 16


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


@final
class UnknownObject(Exception):
    """An object file has something that is not expected in it."""


def can_link() -> bool:
    """Whether this machine is one whose object files are linked here."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def address_of(name: str) -> int | None:
    """Where a function of a library is; `None` if there is none."""
    if name == SHARE:
        return address_of_sharing()
    known = address_in_blas(name) or address_of_routine(name)
    if known is not None:
        return known
    for library in _libraries():
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value
    return None


@cache
def _libraries() -> list[ctypes.CDLL]:
    """The C library and, where it is one of its own, that of mathematics."""
    libraries = [ctypes.CDLL(None)]
    with suppress(OSError):
        libraries.append(ctypes.CDLL("libm.so.6"))
    return libraries


def linked(code: bytes, entry: str) -> tuple[CodePages, int]:
    """The code in executable memory, and where its entry is.

    Args:
        code: the object file.
        entry: name of a function in it.

    Raises:
        UnknownObject: if the file refers to something in a way that is not known, or to a function
            that is nowhere.
    """
    file = _ObjectFile(code)
    starts, size = _layout(file)
    outside = [s.name for s in file.symbols if not s.section and s.name]
    jumps = {name: size + _JUMP_SIZE * i for i, name in enumerate(outside)}
    image = bytearray(size + _JUMP_SIZE * len(outside))
    for number, start in starts.items():
        section = file.sections[number]
        if section.kind != _EMPTY:
            image[start : start + section.size] = code[section.offset :][: section.size]
    for name, at in jumps.items():
        address = address_of(name)
        if address is None:
            raise UnknownObject(f"there is no function {name}")
        image[at : at + 14] = _JUMP + struct.pack("<Q", address)
    pages = CODE_MEMORY.pages(len(image))
    for target, kind, symbol, addend in file.references():
        if target in starts:
            place = starts[target] + symbol.place
            known = file.symbols[symbol.number]
            where = jumps[known.name] if not known.section else starts[known.section] + known.value
            _refer(image, pages.address, place, kind, where + addend, is_slot=not known.section)
    ctypes.memmove(pages.address, bytes(image), len(image))
    CODE_MEMORY.seal(pages)
    (found,) = [s for s in file.symbols if s.name == entry and s.section]
    return pages, pages.address + starts[found.section] + found.value


class _Reference(NamedTuple):
    place: int
    number: int


@final
class _ObjectFile:
    """The sections, symbols and references of a file."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        if code[:6] != b"\x7fELF\x02\x01":
            raise UnknownObject("no ELF file of 64 bits")
        (start,) = struct.unpack_from("<Q", code, 40)
        size, count = struct.unpack_from("<HH", code, 58)
        self.sections = []
        for i in range(count):
            _, kind, flags, _, offset, length, link, info, alignment, _ = struct.unpack_from(
                "<IIQQQQIIQQ", code, start + i * size
            )
            self.sections.append(_Section(kind, flags, offset, length, link, info, alignment))
        self.symbols = self._symbols()

    def _symbols(self) -> list[_Symbol]:
        (table,) = [s for s in self.sections if s.kind == _SYMBOLS]
        names = self.sections[table.link].offset
        symbols = []
        for at in range(table.offset, table.offset + table.size, 24):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.code, at)
            end = self.code.index(b"\0", names + name)
            symbols.append(_Symbol(self.code[names + name : end].decode(), section, value))
        return symbols

    def references(self) -> list[tuple[int, int, _Reference, int]]:
        """For each: the section that it is in, its kind, place and symbol, what is added."""
        found = []
        for section in self.sections:
            if section.kind == _RELOCATIONS:
                for at in range(section.offset, section.offset + section.size, 24):
                    place, what, addend = struct.unpack_from("<QQq", self.code, at)
                    reference = _Reference(place, what >> 32)
                    found.append((section.info, what & 0xFFFFFFFF, reference, addend))
        return found


def _layout(file: _ObjectFile) -> tuple[dict[int, int], int]:
    """Where the sections start that are needed when the code runs, and the size of all."""
    starts: dict[int, int] = {}
    size = 0
    for number, section in enumerate(file.sections):
        if section.flags & _ALLOCATED:
            starts[number] = -(-size // max(section.alignment, 1)) * max(section.alignment, 1)
            size = starts[number] + section.size
    return starts, -(-size // _JUMP_SIZE) * _JUMP_SIZE


def _refer(
    image: bytearray, base: int, place: int, kind: int, where: int, *, is_slot: bool
) -> None:
    """Write a reference into a place of the image; a slot is the address in a jump."""
    if kind == _ABSOLUTE:
        struct.pack_into("<q", image, place, base + where)
    elif kind in _RELATIVE:
        struct.pack_into("<i", image, place, where - place)
    elif kind in _TO_SLOT and is_slot:
        struct.pack_into("<i", image, place, where + len(_JUMP) - place)
    else:
        raise UnknownObject(f"a reference of the kind {kind}")
