"""Leak checks: ``jax_check_tracer_leaks`` and ``jax.checking_leaks``.

A tracer is of no use once its trace is over.  One that is still there then has escaped by a side
effect: it was stored in a list, an attribute or a global.  The check runs when a trace ends.  It
asks the garbage collector who refers to the tracers that are alive, and who refers to those, up to
holders that nothing but the running frames refers to.

The frames of this package that have just run the traced function still hold its arguments and
results, in plain containers or in objects of the types that `held_for_a_while` declares.  So only
other holders count as leaks.
"""

from __future__ import annotations

import gc
from collections import deque
from types import CellType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from ..errors import LeakCheckError
from ..util.messages import message
from .abstract_value import HasAval

if TYPE_CHECKING:
    from .trace import Trace

C = TypeVar("C", bound=type)

_held_for_a_while: Final[set[type]] = {list, tuple, dict, set}


def held_for_a_while(kind: C) -> C:
    """Declare a class whose objects may hold tracers for a moment after their trace."""
    _held_for_a_while.add(kind)
    return kind


@final
class _Node:
    """An object met by the search, and the one that it refers to.

    The search's own containers hold nodes only, so they are not among the referrers of objects.
    """

    __slots__ = ("held", "value")

    def __init__(self, value: Any, held: _Node | None) -> None:
        self.value = value
        self.held = held

    def first(self) -> _Node:
        """Where the chain began."""
        return self if self.held is None else self.held.first()


def check_leaks(trace: Trace) -> None:
    """Raise an error if tracers of a trace that has ended have escaped.

    Raises:
        LeakCheckError: naming a tracer and who refers to it.
    """
    if _escape_from(trace) is None:
        return
    # What garbage refers to has not escaped; collecting it takes longest, so it comes second.
    gc.collect()
    end = _escape_from(trace)
    if end is None:
        return
    tracer = end.first().value
    raise LeakCheckError(
        message(
            f"leak check of a {type(trace).__name__}",
            given=f"{tracer.origin()}, {tracer.aval.str_short()}, "
            f"still referred to after its trace has ended by {_told(end)}",
            expected="traced values that live no longer than the transformed function runs",
            fix="Return the value from the function instead of storing it.",
        )
    )


def _escape_from(trace: Trace) -> _Node | None:
    """The end of a chain of holders from any tracer of a trace that has escaped."""
    for start in _referrers(_Node(trace, None)):
        start.held = None
        if (
            not isinstance(start.value, HasAval)
            or getattr(start.value, "_trace", None) is not trace
        ):
            continue  # it helps the trace, and is no value
        if (end := _escape(start)) is not None:
            return end
    return None


def _escape(start: _Node) -> _Node | None:
    """The holder that explains a leak, at the end of a chain from a tracer; `None` if none does."""
    nodes, seen = deque([start]), {id(start.value)}
    while nodes:
        node = nodes.popleft()
        holders = _referrers(node)
        if not holders and node is not start and type(node.value) not in _held_for_a_while:
            return node
        for holder in holders:
            if _is_root(holder.value):
                return holder
            if id(holder.value) not in seen:
                seen.add(id(holder.value))
                nodes.append(holder)
    return None


def _referrers(node: _Node) -> list[_Node]:
    """Who refers to an object, other than frames and this search."""
    return [
        _Node(holder, node)
        for holder in gc.get_referrers(node.value)
        if not isinstance(holder, (FrameType, _Node))
    ]


def _is_root(holder: object) -> bool:
    """Whether a holder is reason enough: it lives as long as the user's program likes."""
    return isinstance(holder, (CellType, ModuleType, type)) or _module_of(holder) is not None


def _module_of(holder: object) -> str | None:
    """The name of the module whose variables a dict holds."""
    if type(holder) is dict and "__name__" in holder and "__builtins__" in holder:
        return str(holder["__name__"])
    return None


def _told(end: _Node) -> str:
    """The holders in words, from the nearest to the furthest."""
    steps, node = [], end
    while node.held is not None:
        steps.append(_step(node.held.value, node.value))
        node = node.held
    return ", in ".join(reversed(steps))


def _step(held: Any, holder: Any) -> str:
    module = _module_of(holder)
    if module is not None:
        return f"the global variable {_key(held, holder)} of {module}"
    if isinstance(holder, CellType):
        return _closure_variable(holder)
    if isinstance(holder, dict):
        return f"a dict, under {_key(held, holder)}"
    if isinstance(holder, (list, tuple)):
        place = next((i for i, x in enumerate(holder) if x is held), "?")
        return f"a {type(holder).__name__}, at [{place}]"
    names = [name for name, value in getattr(holder, "__dict__", {}).items() if value is held]
    attribute = f"the attribute {names[0]} of " if names else ""
    return f"{attribute}an object of type {type(holder).__name__}"


def _key(held: Any, holder: dict[Any, Any]) -> str:
    return next((f"{key!s}" for key, value in holder.items() if value is held), "?")


def _closure_variable(cell: CellType) -> str:
    """The variable of a closure by its name."""
    for closure in gc.get_referrers(cell):
        for function in gc.get_referrers(closure) if type(closure) is tuple else ():
            if type(function) is FunctionType and function.__closure__ is closure:
                cells = function.__closure__ or ()
                named = zip(function.__code__.co_freevars, cells, strict=True)
                names = [name for name, c in named if c is cell]
                return f"the variable {names[0]} of {function.__qualname__}"
    return "a variable of a closure"
