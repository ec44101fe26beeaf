"""The user's stack frames at a breakpoint, with values of traced variables filled in later."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, final

from ... import tree
from ...core import Operand, ShapedArray, Tracer
from ...util.frames import is_users
from ...util.records import dataclass

_LINES_BEFORE = 3
_LINES_AFTER = 2
_leaf = tree.structure(0)


@final
@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame: where it is, and its variables.

    Args:
        file, function, line: the place.
        lines: source lines around it, with their numbers.
        variables: local variables by name.
        module: global variables of its module, as they are when somebody looks.
    """

    file: str
    function: str
    line: int
    lines: tuple[tuple[int, str], ...]
    variables: Mapping[str, Any]
    module: Mapping[str, Any]

    @property
    def source(self) -> str:
        """The line itself."""
        return linecache.getline(self.file, self.line).strip()


def user_frames(*, all_frames: bool = False, limit: int | None = None) -> list[StackFrame]:
    """The frames around the caller's caller, innermost first.

    Args:
        all_frames: those of this package too.
        limit: how many there are at most.
    """
    found: list[StackFrame] = []
    for frame in _frames(sys._getframe(2)):
        if limit is not None and len(found) >= limit:
            break
        if all_frames or is_users(frame.f_code):
            found.append(_captured(frame))
    return found


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _captured(frame: FrameType) -> StackFrame:
    return StackFrame(
        frame.f_code.co_filename,
        frame.f_code.co_name,
        frame.f_lineno,
        _lines_around(frame),
        dict(frame.f_locals),
        frame.f_globals,
    )


def _lines_around(frame: FrameType) -> tuple[tuple[int, str], ...]:
    try:
        lines, start = inspect.getsourcelines(frame)
    except (OSError, TypeError):
        return ()
    start = max(start, 1)
    shown = range(frame.f_lineno - _LINES_BEFORE, frame.f_lineno + _LINES_AFTER + 1)
    numbered = enumerate(lines, start)
    return tuple([(number, line.rstrip("\n")) for number, line in numbered if number in shown])


@final
@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable of a frame; its traced leaves are left out, for they die with their trace."""

    name: str
    leaves: tuple[Any, ...]
    traced: tuple[bool, ...]
    structure: Any

    def filled(self, values: Iterator[Any]) -> Any:
        leaves = [next(values) if on else x for x, on in zip(self.leaves, self.traced, strict=True)]
        return self.structure.unflatten(leaves)


def detached(frames: Sequence[StackFrame]) -> tuple[list[Any], Callable[..., list[StackFrame]]]:
    """The traced values in frames, and a function of their numbers that gives the frames."""
    everything: list[Any] = []
    emptied: list[tuple[StackFrame, list[_Variable]]] = []
    for frame in frames:
        variables = []
        for name, value in frame.variables.items():
            leaves, structure = _opened(value)
            traced = tuple(map(_is_traced, leaves))
            everything += [x for x, on in zip(leaves, traced, strict=True) if on]
            static = [None if on else x for x, on in zip(leaves, traced, strict=True)]
            variables.append(_Variable(name, tuple(static), traced, structure))
        emptied.append((replace(frame, variables={}), variables))

    def filled(*numbers: Operand) -> list[StackFrame]:
        values = iter(numbers)
        return [
            replace(frame, variables={v.name: v.filled(values) for v in variables})
            for frame, variables in emptied
        ]

    return everything, filled


def _opened(value: object) -> tuple[list[Any], Any]:
    """The leaves of a variable; one without traced leaves, or of unclear structure, is a leaf."""
    try:
        leaves, structure = tree.flatten(value)
    except Exception:
        leaves = []
    return (leaves, structure) if any(map(_is_traced, leaves)) else ([value], _leaf)


def _is_traced(x: object) -> bool:
    """Whether `x` can be passed to the breakpoint as an operand."""
    return isinstance(x, Tracer) and x._trace.live and type(x.aval) is ShapedArray
