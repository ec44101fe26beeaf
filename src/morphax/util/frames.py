"""Find the line of the *user's* program that is running now.

A frame belongs to the user when its code was not compiled from a file of this package (nor from
`contextlib` and what runs coroutines and threads, through which calls go).  Recording a place costs
a walk over a few frames and one small tuple, the code object and the instruction offset: text is
made only when somebody reads it.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple, final

# Deciding by file name costs a string comparison per frame, so each code object is judged once.
_is_internal: dict[CodeType, bool] = {}


@final
class _Paths(list[str]):
    """A list of paths; code is judged anew when it has changed."""

    def append(self, path: str) -> None:
        super().append(path)
        _is_internal.clear()

    def remove(self, path: str) -> None:
        super().remove(path)
        _is_internal.clear()


_LIBRARY: Final = str(Path(contextlib.__file__).parent)
internal_paths = _Paths(
    [
        "<frozen",
        str(Path(__file__).resolve().parent.parent) + "/",
        *[
            f"{_LIBRARY}/{name}"
            for name in ("contextlib.py", "threading.py", "asyncio/", "concurrent/futures/")
        ],
    ]
)
"""What begins so is no line of the user: files of this package, and those of interpreters that do
not want to be blamed."""


class UserFrame(NamedTuple):
    """A place in the user's program: code object and offset of the running instruction.

    `backward` says that what happens for its sake is the transpose of what it does.
    """

    code: CodeType
    offset: int
    backward: bool = False

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_qualname

    @property
    def line(self) -> int:
        """The source line of the instruction (the function's first line if it has none)."""
        lines = (ln for start, end, ln in self.code.co_lines() if start <= self.offset < end)
        return next(lines, None) or self.code.co_firstlineno

    def transposed(self) -> UserFrame:
        """The same place, of the backward pass."""
        return UserFrame(self.code, self.offset, True)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


def _judge(code: CodeType) -> bool:
    name = code.co_filename
    internal = name.startswith(tuple(internal_paths))
    _is_internal[code] = internal
    return internal


def is_users(code: CodeType) -> bool:
    """Whether code belongs to the user, not to this package."""
    known = _is_internal.get(code)
    return not (_judge(code) if known is None else known)


def is_users_frame(frame: FrameType) -> bool:
    """Whether a frame runs code of the user."""
    return is_users(frame.f_code)


def treat_as_internal(path: str) -> None:
    """Judge the code in a file (or folder) as that of this package."""
    internal_paths.append(path)


def user_frame(depth: int = 1) -> UserFrame | None:
    """The innermost frame of the user's program, `None` if every frame is internal.

    Example:
        >>> from morphax.util.frames import user_frame
        >>> user_frame().function
        '<module>'
    """
    frame: FrameType | None = sys._getframe(depth)
    known = _is_internal.get
    while frame is not None:
        code = frame.f_code
        internal = known(code)
        if internal is None:
            internal = _judge(code)
        if not internal:
            return UserFrame(code, frame.f_lasti)
        frame = frame.f_back
    return None


NOWHERE: Final = UserFrame(user_frame.__code__, 0)
"""Stands for the place of what belongs to no line of the user's."""
