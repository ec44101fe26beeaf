"""Structures of trees as bytes, in the FlatBuffers format that JAX's checkpoints have.

A node is a table of five fields (https://flatbuffers.dev/internals/), any of which may be absent:

==  ======================  ==================================================
0   kind, a byte            leaf, `None`, tuple, list, dictionary or class
1   children                a vector of tables
2   keys of a dictionary    a vector of strings, sorted
3   name of a class         a string, as registered
4   data of a class         a vector of bytes
==  ======================  ==================================================

Offsets within the bytes point forwards, but several may point to one place, so a few bytes could
claim to be a tree of astronomical size.  The reader checks each offset and counts nodes: a tree
that was written has at most one for each four bytes.  It runs no code but the functions that the
user has registered for classes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, final

from ... import tree
from ...export._trees import class_as_bytes, node_of_class
from ...tree import PyTreeDef, default_registry
from ...util.messages import message

T = TypeVar("T")
_LEAF_KIND, _NONE_KIND, _TUPLE, _LIST, _DICT, _CLASS = range(6)
_LEAF: Final = tree.structure(0)
_NONE: Final = tree.structure(None)
_SEQUENCES: Final = {_TUPLE: tuple, _LIST: list}
# Where the fields of our tables lie: behind the offset of the vtable, the kind first.
_PLACES: Final = (4, 8, 12, 16, 20)
_TABLE_SIZE: Final = 24
# Deeper trees would run into the limit of Python for calls.
_DEEPEST: Final = 200


def tree_as_bytes(structure: PyTreeDef, where: str) -> bytes:
    """The structure of a tree as bytes.

    Raises:
        TypeError: if a dictionary has keys that are no strings.
        ValueError: if the class of a node is not registered.
    """
    data = bytearray(4)
    struct.pack_into("<I", data, 0, _write_node(data, structure, where))
    return bytes(data)


def _write_node(data: bytearray, structure: PyTreeDef, where: str) -> int:
    """Append a node and all below it; returns where its table is."""
    children = structure.children()
    keys, name, written = None, None, None
    found: Any = (None, None) if structure == _LEAF else structure.node_data()
    kind, aux = found
    if kind is None:
        number = _LEAF_KIND
    elif kind in (type(None), tuple, list):
        number = {type(None): _NONE_KIND, tuple: _TUPLE, list: _LIST}[kind]
    elif kind is dict:
        number, keys = _DICT, _checked_keys(aux, where)
    else:
        number = _CLASS
        name, written = class_as_bytes(kind, aux, where)
    table = _write_table(data, number, (bool(children), bool(keys), name is not None))
    if children:
        _write_vector(data, table + _PLACES[1], children, lambda c: _write_node(data, c, where))
    if keys:
        _write_vector(
            data, table + _PLACES[2], keys, lambda k: _write_bytes(data, k.encode(), b"\0")
        )
    if name is not None and written is not None:
        for place, text, end in ((3, name.encode(), b"\0"), (4, written, b"")):
            _point(data, table + _PLACES[place], _write_bytes(data, text, end))
    return table


def _checked_keys(keys: Sequence[Any], where: str) -> Sequence[str]:
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(
                message(
                    where,
                    given=f"a dictionary with the key {key!r:.80} of type {type(key).__name__}",
                    expected="strings for keys",
                    fix="Make them strings with str.",
                )
            )
    return keys


def _write_table(data: bytearray, kind: int, present: tuple[bool, bool, bool]) -> int:
    """Append a table whose offsets are still to be filled in; returns where it is."""
    _align(data)
    children, keys, named = present
    fields = (True, children, keys, named, named)
    places = [place if is_there else 0 for place, is_there in zip(_PLACES, fields, strict=True)]
    vtable = len(data) + 2
    # Two bytes before the vtable, of 14, so that the table is aligned.
    data += struct.pack("<2xHH5H", 14, _TABLE_SIZE, *places)
    table = len(data)
    data += struct.pack("<iB3x16x", table - vtable, kind)
    return table


def _write_vector(
    data: bytearray, place: int, items: Sequence[T], write: Callable[[T], int]
) -> None:
    """Append a vector of offsets to what `write` appends, and point to it from `place`."""
    _align(data)
    vector = len(data)
    _point(data, place, vector)
    data += struct.pack("<I", len(items)) + bytes(4 * len(items))
    for i, item in enumerate(items):
        _point(data, vector + 4 + 4 * i, write(item))


def _write_bytes(data: bytearray, text: bytes, end: bytes) -> int:
    _align(data)
    start = len(data)
    data += struct.pack("<I", len(text)) + text + end
    return start


def _align(data: bytearray) -> None:
    data += bytes(-len(data) % 4)


def _point(data: bytearray, place: int, target: int) -> None:
    struct.pack_into("<I", data, place, target - place)


def tree_of_bytes(data: bytes) -> PyTreeDef:
    """The structure that `tree_as_bytes` or JAX has written.

    Raises:
        ValueError: if the bytes are damaged, or the class of a node is not registered.
    """
    return _Reader(data).tree()


def refused(given: str) -> ValueError:
    """The error for what is no structure of a tree."""
    return ValueError(
        message(
            "reading of a tree",
            given=f"bytes that are damaged: {given}",
            expected="the structure that was saved, as it was",
            fix="Restore the file pytreedef.json, or save the arrays again.",
        )
    )


@final
class _Reader:
    """Reads nodes, with all offsets checked.

    Args:
        data: the bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._nodes_left = len(data) // 4

    def tree(self) -> PyTreeDef:
        """The whole."""
        return self._node(self._number("<I", 0), 0)

    def _number(self, form: str, place: int) -> int:
        try:
            if place >= 0:
                number: int = struct.unpack_from(form, self._data, place)[0]
                return number
        except struct.error:
            pass
        raise refused(f"an offset to byte {place} of {len(self._data)}")

    def _field(self, table: int, number: int) -> int | None:
        """Where a field of a table is, if it is there."""
        vtable = table - self._number("<i", table)
        slot = 4 + 2 * number
        offset = self._number("<H", vtable + slot) if slot < self._number("<H", vtable) else 0
        return table + offset if offset else None

    def _vector(self, table: int, number: int) -> tuple[int, int]:
        """Where the items of a vector begin, and how many there are."""
        place = self._field(table, number)
        if place is None:
            return 0, 0
        start = place + self._number("<I", place)
        return start + 4, self._number("<I", start)

    def _bytes(self, start: int, length: int) -> bytes:
        if start + length > len(self._data):
            raise refused(f"{length} bytes from byte {start} of {len(self._data)}")
        return self._data[start : start + length]

    def _text(self, start: int, length: int) -> str:
        try:
            return self._bytes(start, length).decode()
        except UnicodeDecodeError:
            raise refused("a name that is no text") from None

    def _targets(self, table: int, number: int) -> list[int]:
        """What the offsets of a vector point to."""
        start, count = self._vector(table, number)
        self._bytes(start, 4 * count)
        return [p + self._number("<I", p) for p in range(start, start + 4 * count, 4)]

    def _node(self, table: int, depth: int) -> PyTreeDef:
        self._nodes_left -= 1
        if self._nodes_left < 0 or depth > _DEEPEST:
            raise refused("more nodes than fit into them, or deeper than 200")
        place = self._field(table, 0)
        kind = 0 if place is None else self._number("<B", place)
        children = [self._node(child, depth + 1) for child in self._targets(table, 1)]
        if kind in (_LEAF_KIND, _NONE_KIND) and not children:
            return _LEAF if kind == _LEAF_KIND else _NONE
        if kind == _CLASS:
            name = self._text(*self._vector(table, 3))
            return node_of_class(name, self._bytes(*self._vector(table, 4)), children)
        build = PyTreeDef.from_node_data_and_children
        if kind in _SEQUENCES:
            return build(default_registry, (_SEQUENCES[kind], None), children)
        keys = [self._text(p + 4, self._number("<I", p)) for p in self._targets(table, 2)]
        if kind == _DICT and len(keys) == len(children) and keys == sorted(set(keys)):
            return build(default_registry, (dict, keys), children)
        raise refused(f"a node of the kind {kind} with {len(children)} children")
