"""NumPy's reports of floating-point errors, switched off around our operations.

x / 0 is ∞ here, not an error, whatever the user has told NumPy to do about its own operations.
NumPy keeps that setting in a context variable, so each thread and task has its own.  Entering
``np.errstate`` makes a new setting each time; we make one at import and switch to it, which costs
a sixth.  The variable is found by what it is: that which ``np.errstate`` sets.  A NumPy that keeps
its setting elsewhere gets ``np.errstate``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def variable_set_by(context: AbstractContextManager[Any]) -> tuple[ContextVar[Any], Any] | None:
    """The context variable that a context sets, and its value inside; `None` if it is not one."""
    before = copy_context()
    with context:
        inside = copy_context()
    changed = [(v, x) for v, x in inside.items() if v not in before or before[v] is not x]
    return changed[0] if len(changed) == 1 else None


def _enter() -> Any:
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


def _leave(state: Any) -> None:
    state.__exit__(None, None, None)


def _switch(setting: tuple[ContextVar[Any], Any] | None) -> tuple[Callable[[], Any], Any]:
    if setting is None:
        return _enter, _leave
    variable, ignoring = setting
    return partial(variable.set, ignoring), variable.reset


ignore_float_errors, restore_float_errors = _switch(variable_set_by(np.errstate(all="ignore")))
"""Ignore errors in this context until `restore_float_errors` is given what this returned."""


def without_float_errors(function: Callable[..., T], *args: Any) -> T:
    """The result of a call in which errors are ignored."""
    setting = ignore_float_errors()
    try:
        return function(*args)
    finally:
        restore_float_errors(setting)
