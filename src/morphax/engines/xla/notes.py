"""Notes to the compiler, HLO's frontend attributes, on the operations of a module's text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...core.source_info import attributes_of
from .literals import quoted

# The attribute among those at the end of an operation, behind its regions.
_NOTES = re.compile(
    r"mhlo\.frontend_attributes = \{((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*)\}(?=[^{}]*\} : )"
)
_PAIR = re.compile(r"(\w+|\"(?:[^\"\\]|\\.)*\") = (\"(?:[^\"\\]|\\.)*\")")


def notes_of(name_stack: tuple[str, ...]) -> str:
    """The notes that a name stack brings, as an attribute of MLIR; empty without any."""
    pairs = attributes_of(name_stack)
    return _attribute({_name(name): quoted(x) for name, x in pairs.items()}) if pairs else ""


def annotated(operation: str, pairs: Mapping[str, str]) -> str:
    """The text of an operation, with more notes."""
    added = {_name(name): quoted(x) for name, x in pairs.items()}
    present = list(_NOTES.finditer(operation))
    if present:
        start, end = present[-1].span()
        known = dict(_PAIR.findall(present[-1][1]))
        return f"{operation[:start]}{_attribute(known | added)}{operation[end:]}"
    head, types = re.fullmatch(r"(?s)(.*?)( : [^:]*)", operation).groups()  # type: ignore[union-attr]
    if head.endswith("}"):
        return f"{head[:-1]}, {_attribute(added)}}}{types}"
    return f"{head} {{{_attribute(added)}}}{types}"


def _attribute(pairs: Mapping[str, str]) -> str:
    text = ", ".join([f"{name} = {value}" for name, value in pairs.items()])
    return f"mhlo.frontend_attributes = {{{text}}}"


def _name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else quoted(name)
