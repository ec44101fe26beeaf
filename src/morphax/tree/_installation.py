"""Hands the classes, the tables and the error texts of trees to the compiled core."""

from __future__ import annotations

from ._builtin_kinds import DictKind, NamedTupleKind, NoneKind, SequenceKind
from ._core import compiled
from ._flatten import MAX_DEPTH, note_place, says_leaf, too_deep
from ._mismatch import add_path_note, note_path, wrong_number_of_leaves
from ._node import Node, same_data
from ._registered_kinds import CustomKind, DataclassKind
from ._registry import kinds
from ._treedef import LEAF, PyTreeDef

if compiled is not None:
    compiled.install(
        Node,
        PyTreeDef,
        LEAF,
        kinds,
        (NoneKind, SequenceKind, DictKind, NamedTupleKind, DataclassKind, CustomKind),
        MAX_DEPTH,
        errors={
            "add_path_note": add_path_note,
            "note_path": note_path,
            "note_place": note_place,
            "same_data": same_data,
            "says_leaf": says_leaf,
            "too_deep": too_deep,
            "wrong_number_of_leaves": wrong_number_of_leaves,
        },
    )
