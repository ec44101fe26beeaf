"""Tracebacks that show the user's program, without the frames of this package in between.

A user's function is called from deep inside: between `scan` and the body that raised there are ten
frames that say nothing about the mistake.  What calls functions of the user is decorated with
`frames_hidden`; an exception that passes leaves our frames behind, and says so in a note.
``jax_traceback_filtering`` chooses how; ``"off"`` shows all there is.

Functions nested in each other may go deeper than Python lets calls go: the error says what to do.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, TypeVar, final

from ..config import current as current_config
from ..util.frames import is_users
from ..util.messages import message

F = TypeVar("F", bound=Callable[..., Any])

NOTE: Final = (
    "--------------------\n"
    "Frames of morphax are left out of this traceback; jax_traceback_filtering='off' shows them."
)

DEPTH: Final = "functions within functions"


def frames_hidden(function: F) -> F:
    """The function; exceptions that leave it have no frames of this package in their traceback."""
    return functools.update_wrapper(frames_hidden_in(function), function)  # type: ignore[return-value]


def frames_hidden_in(function: F) -> F:
    """`frames_hidden` for a function made at each call, whose name its maker sets."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return call  # type: ignore[return-value]


@final
class _HiddenHere:
    """As `frames_hidden`, for a block: without a frame, of which nested functions have few."""

    def __enter__(self) -> None:
        """Nothing to begin with."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if isinstance(error, Exception):
            hide_frames(error)


frames_hidden_here: Final = _HiddenHere()


def hide_frames(error: BaseException) -> None:
    """Take this package's frames out of the traceback of an exception that is about to leave it.

    A bare ``raise`` afterwards adds none: it goes on with the traceback that the exception has.
    """
    if isinstance(error, RecursionError):
        _explain_depth(error)
    mode = current_config().traceback_filtering
    if mode == "off":
        return
    if mode == "tracebackhide":
        _mark_frames(error)
        return
    frames = list(_entries(error.__traceback__))
    users = [entry for entry in frames if is_users(entry.tb_frame.f_code)]
    if len(users) == len(frames):
        return
    error.__traceback__ = _linked(users)
    if mode != "quiet_remove_frames" and NOTE not in getattr(error, "__notes__", ()):
        error.add_note(NOTE)


def _explain_depth(error: RecursionError) -> None:
    """Say once what the limit is and how to move it, where the stack has room to say so."""
    if any([note.startswith(DEPTH) for note in getattr(error, "__notes__", ())]):
        return
    limit = sys.getrecursionlimit()
    try:
        note = message(
            DEPTH,
            given=f"calls deeper than Python's limit of {limit}, of which each jit, scan, cond, … "
            "within another takes 6 to 12",
            expected="about 80 of them in each other, or a higher limit",
            fix=f"Call sys.setrecursionlimit({10 * limit}) first if they are meant to be so deep; "
            "if not, look for a function that calls itself without end.",
        )
    except RecursionError:
        return  # further out there is room
    error.add_note(note)


def _mark_frames(error: BaseException) -> None:
    """Give our frames the local variable by which IPython and pytest know that they are dull."""
    for entry in _entries(error.__traceback__):
        if not is_users(entry.tb_frame.f_code):
            entry.tb_frame.f_locals["__tracebackhide__"] = True


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _linked(entries: list[TracebackType]) -> TracebackType | None:
    linked = None
    for entry in reversed(entries):
        linked = TracebackType(linked, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return linked
