"""Functions that eager mode meets for the first time: no program is made for them.

A lambda that stands where a solver is called is another function at each call, and a program of it
would be used once.  So the solver's own operations run one by one, as at the first call of any
eager function (docs/design/eager-replay.md); a function that comes again gets a program, which has
the same numbers up to rounding.  With `jax_replay_first_calls` it gets one at once.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar
from weakref import WeakSet

from .. import lax
from ..config import current as current_config
from ..core import current_trace, root_trace

S = TypeVar("S")
_ROOT = root_trace()
_MET: WeakSet[FunctionType] = WeakSet()


def is_by_operations() -> bool:
    """Whether solvers run their operations one by one: eagerly, with nothing to watch them."""
    config = current_config()
    watched = config.debugs_execution or config.replay_first_calls
    return current_trace() is _ROOT and not watched


def meets_first(function: Callable[..., Any]) -> bool:
    """Whether this is the first eager call with this function; other callables may be equal."""
    if not is_by_operations() or not isinstance(function, FunctionType):
        return False
    is_new = function not in _MET
    _MET.add(function)
    return is_new


def repeated(go_on: Callable[[S], Any], step: Callable[[S], S], state: S) -> S:
    """`lax.while_loop`, of Python where operations run one by one."""
    if not is_by_operations():
        found: S = lax.while_loop(go_on, step, state)
        return found
    while go_on(state):
        state = step(state)
    return state
