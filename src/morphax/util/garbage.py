"""Callbacks of Python's garbage collector that lose no Ctrl-C.

Python reports what such a callback raises and goes on.  A callback written in Python would now and
then be where the handler of a signal runs, and Ctrl-C would be lost: so it is a C function, which
runs nothing but the function it was made of.

The twin sends the signal to itself again, unless it comes before its first instruction.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import Any

from .compiled import part, twin_in

Callback = Callable[[str, dict[str, int]], None]


@twin_in(part("garbage"))
def _at_start_of_collection(function: Callable[[], Any]) -> Callback:
    """A callback for `gc.callbacks`, which calls `function` when a collection starts."""

    def callback(phase: str, _: dict[str, int]) -> None:
        try:
            if phase == "start":
                function()
        except KeyboardInterrupt:
            _thread.interrupt_main()

    return callback


at_start_of_collection = _at_start_of_collection
