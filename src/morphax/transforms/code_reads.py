"""What the code of a function can read beside its arguments and its closure.

The names are taken from the instructions, once per code object; nested functions, lambdas and
comprehensions belong to the code that contains them.  The *libraries*, that is morphax itself, the
standard library and installed packages, count as constant: their functions, classes and numbers do
not change while a program runs.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, final

from ..util.memo import memoize

_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTE_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})
# Through these, code reads what its instructions do not name.
_UNBOUNDED = frozenset({"eval", "exec", "globals", "locals", "__import__", "open", "input"})
_BY_NAME = frozenset({"getattr", "hasattr", "vars", "dir"})


@final
@dataclass(frozen=True, slots=True)
class CodeReads:
    """What a code object reads.

    Args:
        globals: names of global variables.
        attributes: names of attributes, of whatever objects.
        by_name: whether it reads attributes whose names are found at run time.
        unbounded: whether it may read anything, such as files.
    """

    globals: tuple[str, ...]
    attributes: tuple[str, ...]
    by_name: bool
    unbounded: bool


@memoize
def reads_of(code: CodeType) -> CodeReads:
    """What a code object, with the functions defined in it, reads."""
    names: dict[str, None] = {}
    attributes: dict[str, None] = {}
    imports = False
    for inner in _with_nested(code):
        for instruction in dis.get_instructions(inner):
            if instruction.opname in _GLOBAL_READS:
                names[instruction.argval] = None
            elif instruction.opname in _ATTRIBUTE_READS:
                attributes[instruction.argval] = None
            imports |= instruction.opname == "IMPORT_NAME"
    return CodeReads(
        globals=tuple(names),
        attributes=tuple(attributes),
        by_name=not _BY_NAME.isdisjoint(names),
        unbounded=imports or not _UNBOUNDED.isdisjoint(names),
    )


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


_PACKAGE = __name__.partition(".")[0]
_LIBRARY_FOLDERS = tuple(
    {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
)


def is_library(namespace: Mapping[str, Any]) -> bool:
    """Whether the globals of a module are those of a library."""
    name = namespace.get("__name__", "")
    return _is_library(name if isinstance(name, str) else "", str(namespace.get("__file__", "")))


@memoize
def _is_library(name: str, file: str) -> bool:
    if name.partition(".")[0] == _PACKAGE:
        return True
    if not file:  # a built-in module; a function made by `exec`, or in a notebook, is the user's
        return name in sys.builtin_module_names
    return any(Path(file).is_relative_to(folder) for folder in _LIBRARY_FOLDERS)
