"""Documents and where their lines break."""

from __future__ import annotations

import pytest

from morphax.util.layout import (
    LINE_END,
    NOTHING,
    SPACE,
    Block,
    Document,
    Text,
    filled,
    group,
    joined,
    layout,
)

CALL = Block(("f", group("[", Block((NOTHING, "a=1", SPACE, "b=2"), indent=2), NOTHING, "]"), " x"))


@pytest.mark.parametrize(
    ("document", "width", "text"),
    [
        ("word", 1, "word"),
        (group("a", SPACE, "b"), 3, "a b"),
        (group("a", SPACE, "b"), 2, "a\nb"),
        (group("a", NOTHING, "b"), 2, "ab"),
        (Block(("a", SPACE, "b")), 80, "a\nb"),
        (group("a", SPACE, "b", indent=4), 1, "a\n    b"),
        (group("a", LINE_END, "b"), 80, "a\nb"),
        # The outer group breaks, the inner one fits.
        (group("a", SPACE, group("b", SPACE, "c")), 3, "a\nb c"),
        # A group inside one that fits is not asked.
        (group("a", SPACE, group("b", SPACE, "c")), 5, "a b c"),
        # What follows a group does not count.
        (Block((group("a", SPACE, "b"), "cdefgh")), 3, "a bcdefgh"),
        (CALL, 10, "f[a=1 b=2] x"),
        (CALL, 9, "f[\n  a=1\n  b=2\n] x"),
        (filled("abcdefg"), 5, "a b c\n  d e\n  f g"),
        (filled("abc", comma=","), 80, "a, b, c"),
        (filled("abc", comma=","), 5, "a, b,\n  c"),
        (Block(joined(" + ", ["a", "b", "c"])), 80, "a + b + c"),
        (Block(()), 80, ""),
    ],
)
def test_breaks(document: Document, width: int, text: str) -> None:
    assert layout(document, width) == text


def test_comments_stand_in_one_column() -> None:
    document = Block(
        (
            Text("a", comments=("one", "two")),
            LINE_END,
            "longest",
            LINE_END,
            Text("b", comments=("c",)),
        )
    )
    assert layout(document).splitlines() == [
        "a       # one",
        "        # two",
        "longest",
        "b       # c",
    ]


def test_styles_begin_and_end() -> None:
    document = Block((Text("k", "keyword"), Text("l", "keyword"), " x", Text("t", "type"), "y"))
    styles = {"keyword": ("1", "22"), "type": ("35", "39")}
    assert layout(document) == "kl xty"
    assert layout(document, styles=styles) == "\x1b[1mkl\x1b[22m x\x1b[35mt\x1b[39my"


def test_deep_documents_need_no_stack() -> None:
    document: Document = "x"
    for _ in range(100_000):
        document = group(document)
    assert layout(document) == "x"
