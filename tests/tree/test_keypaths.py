"""Entries of key paths and their text."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from morphax.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr


class Own:
    """A user's key."""

    def __str__(self) -> str:
        return "own"


PATH = (
    DictKey("a b"),
    DictKey(1),
    DictKey((1, 2)),
    SequenceKey(3),
    GetAttrKey("n"),
    FlattenedIndexKey(2),
)


@pytest.mark.parametrize(
    ("keys", "options", "expected"),
    [
        ((), {}, ""),
        ((), {"simple": True, "separator": "/"}, ""),
        (PATH, {}, "['a b'][1][(1, 2)][3].n[<flat index 2>]"),
        (PATH, {"separator": "/"}, "['a b']/[1]/[(1, 2)]/[3]/.n/[<flat index 2>]"),
        (PATH, {"simple": True}, "a b1(1, 2)3n2"),
        (PATH, {"simple": True, "separator": "."}, "a b.1.(1, 2).3.n.2"),
        (("a", 1, Own()), {}, "a1own"),
        (("a", 1, Own()), {"simple": True, "separator": "/"}, "a/1/own"),
        ([DictKey("a")], {}, "['a']"),
    ],
)
def test_keystr(keys: Any, options: dict[str, Any], expected: str) -> None:
    assert keystr(keys, **options) == expected


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (DictKey("a"), "DictKey(key='a')"),
        (SequenceKey(1), "SequenceKey(idx=1)"),
        (GetAttrKey("n"), "GetAttrKey(name='n')"),
        (FlattenedIndexKey(2), "FlattenedIndexKey(key=2)"),
    ],
)
def test_entries_are_values(key: Any, text: str) -> None:
    assert repr(key) == text
    restored = pickle.loads(pickle.dumps(key))
    assert restored == key
    assert hash(restored) == hash(key)
    (name,) = key.__match_args__
    with pytest.raises(AttributeError):
        setattr(key, name, 5)


def test_entries_of_different_kinds_differ() -> None:
    same_content = [SequenceKey(1), DictKey(1), FlattenedIndexKey(1), 1]
    assert all((x == y) == (x is y) for x in same_content for y in same_content)
