"""Counting calls, without a trace of the counting in what the counted functions see."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


def calls_of(code: CodeType, run: Callable[[], Any]) -> int:
    """How often functions with this code are called while `run` runs."""
    return _counted(lambda frame, event: event == "call" and frame.f_code is code, run)


def work_of(run: Callable[[], Any]) -> int:
    """How many calls of any function, in Python or C, `run` makes: a measure without a clock."""
    return _counted(lambda _, event: event in ("call", "c_call"), run)


def python_calls(run: Callable[[], Any]) -> int:
    """How often `run`, a Python function, calls another one."""
    return _counted(lambda _, event: event == "call", run) - 1


def _counted(counts: Callable[[FrameType, str], bool], run: Callable[[], Any]) -> int:
    count = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += counts(frame, event)

    previous, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # A collection would call who watches it.
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(previous)
        if collects:
            gc.enable()
    return count
