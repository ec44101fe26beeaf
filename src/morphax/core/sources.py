"""Which line of the user's program an equation belongs to.

An equation belongs to the line that runs while it is staged.  Two cases need more:

- A program is *replayed*: differentiated, transposed, batched, inlined.  What comes of one of its
  equations belongs to the line of that equation; of a transposed one, to the same line with the
  mark `backward`.
- A *fragment*, the rule of a primitive staged once for a signature, belongs to no line; its
  equations take the line of the place that they are spliced into.

So the state of a thread is the place in force: `None` if there is none but the running line,
`NOWHERE` while a fragment is staged.  See docs/design/diagnostics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..util.contexts import replaced_attribute
from ..util.frames import NOWHERE, UserFrame, user_frame
from ..util.memo import memoize
from .trace import _current

F = TypeVar("F", bound=Callable[..., Any])


def equation_source(depth: int = 1) -> UserFrame | None:
    """The line that what happens now belongs to; the frames up to `depth` are ours."""
    source = _current.source
    if source is None:
        return user_frame(depth + 1)
    return None if source is NOWHERE else source


def attributed_to(source: UserFrame | None) -> replaced_attribute[UserFrame | None]:
    """Context in which equations belong to `source`; `None` leaves the place in force."""
    return replaced_attribute(_current, "source", _current.source if source is None else source)


def attributed_to_transpose(source: UserFrame | None) -> replaced_attribute[UserFrame | None]:
    """Context for the backward pass of what belongs to `source`."""
    return attributed_to(None if source is None else source.transposed())


def attributed_to_running_line() -> replaced_attribute[UserFrame | None]:
    """Context for a function of the user that runs amid a replay: its lines are its own."""
    return replaced_attribute(_current, "source", None)


def without_source(function: F) -> F:
    """A function that stages equations of no line, unless they replay some that have one."""

    @wraps(function)
    def stage_fragment(*args: Any, **kwargs: Any) -> Any:
        with attributed_to(NOWHERE):
            return function(*args, **kwargs)

    return stage_fragment  # type: ignore[return-value]


def memoize_fragment(function: F) -> F:
    """`memoize` of what is `without_source`, as one frame: fragments hold fragments."""
    return memoize(function, within=_nowhere)


def _nowhere() -> replaced_attribute[UserFrame | None]:
    return attributed_to(NOWHERE)
