"""Work that makes many objects and no garbage in cycles, without Python's search for such.

A program that is translated becomes tens of thousands of objects, all of which are needed.  Python
looks for cycles among them every 700, and now and then among all objects of the process, which
takes longer than the translation.  So it waits until that is done.

While a program is traced it is the user's functions that run, which may leave cycles behind.  So
there it is looked for them still, but less often: a third of the time of traces went into that.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

# One for each pause of a thread that has switched the collector off.
_pauses: list[None] = []


@contextmanager
def paused_collection() -> Iterator[None]:
    """A block of work in which no automatic collection starts, in any thread.

    Blocks in several threads may overlap: whoever has switched the collector off switches it on
    again.  What a user has switched off stays off.
    """
    if not gc.isenabled():
        yield
        return
    _pauses.append(None)
    try:
        gc.disable()
        yield
    finally:
        gc.enable()
        if _pauses:
            _pauses.pop()


_SELDOM = 20_000
"""Objects more than are gone, after which a collection starts in a trace."""


@final
class RareCollection:
    """A block of work in which Python looks for cycles less often, in all threads.

    Where others have set the same or less, it changes nothing; nor does it at its end, if it is not
    as it was set.  The block of one thread may end that of another, whose work takes longer then.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        before = gc.get_threshold()
        self._before = before if 0 < before[0] < _SELDOM else None
        if self._before is not None:
            gc.set_threshold(_SELDOM, *before[1:])

    def __exit__(self, *_: object) -> None:
        if self._before is not None and gc.get_threshold()[0] == _SELDOM:
            gc.set_threshold(*self._before)


@contextmanager
def importing() -> Iterator[None]:
    """Such a block, of imports: nearly all that they make stays as long as the process.

    It is counted as old, as it would be soon: to look for cycles in it once takes 20 ms, a tenth of
    the import of this package.  They are looked for when Python looks through all objects.
    """
    with paused_collection():
        yield
        if not gc.get_freeze_count():
            # Objects that are frozen are of no generation, and of the oldest afterwards.
            gc.freeze()
            gc.unfreeze()


def _resume() -> None:
    """In a fork the thread that had switched the collector off is not there."""
    if _pauses:
        _pauses.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_resume)
