"""Documents: text that chooses its own line breaks.

A document is a string, a `Text` that carries a style or a comment, a `Break`, or a `Block` of
documents.  A block that is a *group* is laid out on one line if it fits into what is left of the
line; otherwise its own breaks, not those of the groups inside, end lines.  What follows a group on
the line does not count, so the choice is made when the group is reached and never revised.

The width that a document takes on one line is worked out as it is built: layout costs time
proportional to the size of the document.

Reference: P. Wadler, "A prettier printer", in *The Fun of Programming*, 2003.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias, final

from .records import dataclass


@final
@dataclass(frozen=True, slots=True)
class Text:
    """Characters with a style, and comments that stand to the right of their line."""

    characters: str
    style: str = ""
    comments: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        return len(self.characters)


@final
@dataclass(frozen=True, slots=True)
class Break:
    """A place where a line may end; `characters` stand there if it does not."""

    characters: str = " "
    must: bool = False

    @property
    def width(self) -> float:
        return math.inf if self.must else len(self.characters)


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Documents one after another; lines that begin inside are indented by `indent` more."""

    parts: Sequence[Document]
    indent: int = 0
    is_group: bool = False
    width: float = field(init=False)

    def __post_init__(self) -> None:
        total = sum([len(p) if isinstance(p, str) else p.width for p in self.parts])
        object.__setattr__(self, "width", total)


Document: TypeAlias = str | Text | Break | Block
Styles: TypeAlias = Mapping[str, tuple[str, str]]

SPACE = Break(" ")
NOTHING = Break("")
LINE_END = Break("", must=True)
# A group of its own: the line ends here only if it is full.
SOFT_SPACE = Block((SPACE,), is_group=True)


def group(*parts: Document, indent: int = 0) -> Block:
    """Documents on one line if they fit, and else with all their breaks."""
    return Block(parts, indent, is_group=True)


def joined(separator: Document, parts: Iterable[Document]) -> list[Document]:
    """The documents with `separator` between each two."""
    out: list[Document] = []
    for part in parts:
        out += (separator, part)
    return out[1:]


def filled(parts: Iterable[Document], comma: str = "") -> Block:
    """Documents with spaces between, as many on each line as it holds."""
    separator = Block((comma, SOFT_SPACE)) if comma else SOFT_SPACE
    return Block(joined(separator, parts), indent=2)


def layout(document: Document, width: int = 80, styles: Styles | None = None) -> str:
    """The text of a document.

    Args:
        document: the document.
        width: where groups begin to break.
        styles: for each style, the terminal codes that begin and end it; plain text without.

    Example:
        >>> from morphax.util.layout import SPACE, group, layout
        >>> sentence = group("one", SPACE, "two", indent=2)
        >>> print(layout(sentence))
        one two
        >>> print(layout(sentence, width=5))
        one
          two
    """
    out = _Lines(styles or {})
    pending: list[tuple[Document, int, bool]] = [(document, 0, False)]
    while pending:
        part, indent, flat = pending.pop()
        if isinstance(part, str):
            out.write(part)
        elif type(part) is Text:
            out.write(part.characters, part.style)
            out.comments[-1] += part.comments
        elif type(part) is Block:
            flat = flat or (part.is_group and out.column + part.width <= width)
            indent += part.indent
            pending += [(p, indent, flat) for p in reversed(part.parts)]
        elif flat:
            out.write(part.characters)
        else:
            out.end_line(indent)
    return out.text()


@final
class _Lines:
    """The lines written so far."""

    __slots__ = ("_pieces", "_style", "_styles", "column", "columns", "comments")

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._style = ""
        self._pieces: list[list[str]] = [[]]
        self.column = 0
        self.columns: list[int] = []
        self.comments: list[tuple[str, ...]] = [()]

    def write(self, characters: str, style: str = "") -> None:
        if style != self._style:
            codes = [self._styles.get(self._style, ("", ""))[1], self._styles.get(style, ("",))[0]]
            self._pieces[-1] += [f"\x1b[{code}m" for code in codes if code]
            self._style = style
        self._pieces[-1].append(characters)
        self.column += len(characters)

    def end_line(self, indent: int) -> None:
        self.columns.append(self.column)
        self._pieces.append([" " * indent])
        self.comments.append(())
        self.column = indent

    def text(self) -> str:
        """All lines, their comments in one column."""
        columns = [*self.columns, self.column]
        margin = max(columns)
        lines = []
        for pieces, column, comments in zip(self._pieces, columns, self.comments, strict=True):
            line = "".join(pieces)
            for comment in comments:
                lines.append(f"{line}{' ' * (margin - column)} # {comment}")
                line, column = "", 0
            if not comments:
                lines.append(line)
        return "\n".join(lines)
