"""Tell users why a jitted function is traced, and so compiled, once more.

A function that is traced at every call is the most common reason for slow programs, and a silent
one.  So when one place of the user's program is traced for the third time outside of other
programs, for other arguments or by another function with the same ones, one line is logged, once:
what differs from the most similar call before.  Where both differ, as in functions that one helper
makes for several purposes, they are different programs, and there is nothing to advise.  With
``jax_explain_cache_misses`` every trace is explained; with ``jax_no_tracing`` it is an error.

The line goes to the logger of this module at level WARNING, not to `warnings`: it is advice, not a
fault, and must not fail suites that turn warnings into errors.  Python prints it to stderr unless
the program configures logging; ``logging.getLogger("morphax.control.jit.recompiles")`` silences it.

What is kept of a call are avals, structures and texts, never arrays, functions or static values.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import zip_longest
from operator import ne
from types import CodeType, NoneType
from typing import Any, Final, NamedTuple, final

from ...config import current as current_config
from ...config.options import FACTS
from ...core import axis_env, carries_aval, current_trace, root_trace
from ...transforms.flattening import argument_names, function_label
from ...transforms.function_identity import Unidentified, identify
from ...tree import PyTreeDef
from ...util.frames import is_users
from ...util.memo import on_clear
from ...util.messages import message
from ...util.parameter_keys import key_of
from ...util.records import dataclass
from ..chosen_arguments import StaticArguments
from .jit_options import JitOptions

Names = Callable[[], Sequence[str]]

_logger: Final = logging.getLogger(__name__)

_TRACES_BEFORE_ADVICE: Final = 3
_MAX_CALLS: Final = 16
_MAX_PLACES: Final = 1024
_LONGEST_TEXT: Final = 160
# What tracing depends on besides the arguments: first what `TraceKey.settings` holds.
_CONTEXT: Final = (
    *(f"jax_{name}" for name, facts in FACTS.items() if facts["trace"]),
    "user contexts",
    "named axes",
    "options of jit",
)


class Seen(NamedTuple):
    """A value of the user's: a short text, and a mark that differs where values do."""

    text: str
    mark: Any

    @classmethod
    def of(cls, value: Any) -> Seen:
        """Runs no code of the user but the hash of a static argument."""
        if isinstance(value, (bool, int, float, complex, str, bytes, NoneType)):
            return cls(f"{value!r:.40}", hash(repr(value)))
        if isinstance(value, (tuple, list, dict, set)):
            items = tuple(map(id, value.values() if isinstance(value, dict) else value))
            return cls(f"a {type(value).__name__} of {len(value)} items", hash(items))
        if carries_aval(value):
            return cls(f"an array {value.aval}", id(value))
        return cls(f"a {type(value).__name__}", id(value))

    def changed_from(self, before: Seen) -> str:
        """The change from another value, in words."""
        if self.text == before.text:
            return f"was {before.text}, now another one"
        return f"was {before.text}, now {self.text}"


@final
@dataclass(frozen=True, slots=True)
class Call:
    """What a trace depended on, kept so that it can be compared later.

    Args:
        in_tree: the structure of the arguments.
        avals: of the array arguments.
        static: name → value of the other arguments.
        context: settings in the order of `_CONTEXT`.
        closure: variable → value that the function closes over.
        function: refers to the function object weakly.
        outermost: whether it was outside of other programs; inside, a trace costs no compilation.
    """

    in_tree: Any
    avals: Sequence[Any]
    static: dict[str, Seen]
    context: tuple[Any, ...]
    closure: dict[str, Seen]
    function: Callable[[], Any]
    outermost: bool

    def times(self, before: Sequence[Call]) -> int:
        """How often one function was traced, or one signature, this trace being the last."""
        calls = [call for call in before if call.outermost]
        functions = sum([call.closure == self.closure for call in calls])
        signatures = sum([self.distance(call) == 0 for call in calls])
        return max(functions, signatures) + 1

    def distance(self, other: Call) -> int:
        """How many things differ; another structure outweighs them all."""
        if self.in_tree != other.in_tree:
            return len(self.avals) + len(other.avals) + len(_CONTEXT)
        changed = map(ne, (*self.avals, *self.context), (*other.avals, *other.context))
        return sum(map(bool, changed)) + len(_changed(self.static, other.static))


@final
@dataclass(slots=True)
class _History:
    """The traces of one place: how many, the last calls, and whether advice was given."""

    count: int = 0
    calls: list[Call] = field(default_factory=list)
    advised: bool = False


_lock: Final = threading.Lock()
_histories: Final[dict[CodeType | str, _History]] = {}
on_clear(_histories.clear)


def note_trace(
    fun: Callable[..., Any],
    options: JitOptions,
    avals: Sequence[Any],
    in_tree: PyTreeDef,
    static: StaticArguments | None,
) -> None:
    """Take note that a jitted function is about to be traced, and explain it if that is called for.

    Raises:
        RuntimeError: ``jax_no_tracing`` is on.
    """
    config = current_config()
    verbose = config.explain_cache_misses
    code = getattr(fun, "__code__", None)
    if code is not None and not is_users(code) and not config.no_tracing:
        return
    call = _call(fun, options, avals, in_tree, static)
    complete = None if static is None else static.without_values().complete
    names = partial(argument_names, fun, in_tree, complete)
    place = code or function_label(fun)
    with _lock:
        history = _histories.get(place)
        if history is None:
            if len(_histories) >= _MAX_PLACES:
                _histories.clear()
            history = _histories[place] = _History()
        before = list(history.calls)
    if config.no_tracing:
        raise RuntimeError(_refusal(fun, call, before, names))
    outermost = call.outermost
    with _lock:
        history.count += outermost
        history.calls = [*history.calls[-_MAX_CALLS:], call]
        due = outermost and not history.advised and call.times(before) >= _TRACES_BEFORE_ADVICE
        history.advised |= due
    if verbose or due:
        times = f"traced {_ordinal(history.count)} time" if outermost else "traced inside a program"
        why = _explanation(fun, call, before, names)
        _logger.warning("jit of %s is %s: %s", function_label(fun), times, why)


def _call(
    fun: Callable[..., Any],
    options: JitOptions,
    avals: Sequence[Any],
    in_tree: PyTreeDef,
    static: StaticArguments | None,
) -> Call:
    chosen: Sequence[Any] = () if static is None else (*static.positional, *static.named)
    return Call(
        in_tree,
        avals,
        {_parameter(fun, place): _seen_static(value) for place, value in chosen},
        (*current_config().trace_key.settings, axis_env(), options),
        {name: Seen.of(value) for name, value in _closure(fun)},
        _weakly(fun),
        current_trace() is root_trace(),
    )


def _closure(fun: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    code, cells = getattr(fun, "__code__", None), getattr(fun, "__closure__", None)
    for name, cell in zip(code.co_freevars if code else (), cells or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _parameter(fun: Callable[..., Any], place: int | str) -> str:
    code = getattr(fun, "__code__", None)
    if isinstance(place, str):
        return place
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return names[place] if place < len(names) else f"number {place}"


def _seen_static(value: object) -> Seen:
    """A static argument; two of one key are one to `jit`."""
    return Seen(Seen.of(value).text, _StaticMark(value))


@final
class _StaticMark:
    """Equal for static arguments that are one to `jit`; keeps no value alive.

    Hashes may collide, so values that still exist are compared; one that is gone is another one.
    """

    __slots__ = ("_hash", "_value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: object) -> None:
        self._hash = hash((type(value), key_of(value)))
        try:
            self._value: Callable[[], Any] | None = weakref.ref(value)
        except TypeError:  # a number, a string, a tuple
            self._value = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _StaticMark) or self._hash != other._hash:
            return False
        if self._value is None or other._value is None:
            return True
        mine, others = self._value(), other._value()
        both_exist = mine is not None and others is not None
        return both_exist and bool(key_of(mine) == key_of(others))


def _weakly(fun: object) -> Callable[[], Any]:
    try:
        return weakref.ref(fun)
    except TypeError:
        return lambda: fun


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names whose values differ; those of one side only are a matter of structure."""
    return [name for name, value in now.items() if name in before and before[name] != value]


def _explanation(fun: Callable[..., Any], call: Call, before: Sequence[Call], names: Names) -> str:
    if not before:
        return "it was not traced before"
    nearest = min(reversed(before), key=call.distance)
    told = [*_differences(nearest, call, names)] or [_same_signature(fun, nearest, call)]
    return "; ".join(told)


def _differences(before: Call, now: Call, names: Names) -> Iterator[str]:
    """What differs between two calls, each with what helps."""
    if key_of(before.in_tree) != key_of(now.in_tree):
        was, became = _apart(str(before.in_tree), str(now.in_tree))
        yield (
            f"the structure of the arguments was {was}, now {became} "
            "(keep the keys, lengths and optional arguments the same)"
        )
    else:
        yield from _changed_arrays(before, now, names())
    for name in _changed(before.static, now.static):
        yield (
            f"static argument {name} {now.static[name].changed_from(before.static[name])} "
            "(each value is a program; make it an array argument if shapes do not depend on it)"
        )
    for name, old, new in zip(_CONTEXT, before.context, now.context, strict=True):
        if old != new:
            yield f"{name} was {old}, now {new}"


def _apart(*texts: str) -> list[str]:
    """The texts, of long ones what is around the first difference."""
    if max(map(len, texts)) <= _LONGEST_TEXT:
        return list(texts)
    alike = [len(set(each)) == 1 for each in zip_longest(*texts)]
    start = max(alike.index(False) - _LONGEST_TEXT // 2, 0) if False in alike else 0
    end = start + _LONGEST_TEXT
    return [f"{'…' * (start > 0)}{x[start:end]}{'…' * (end < len(x))}" for x in texts]


def _changed_arrays(before: Call, now: Call, names: Sequence[str]) -> Iterator[str]:
    """One argument for each kind of change, and how many more there are."""
    kinds: Counter[str] = Counter()
    for name, old, new in zip(names, before.avals, now.avals, strict=True):
        if old == new:
            continue
        kind = _kind_of_change(old, new)
        kinds[kind] += 1
        if kinds[kind] == 1:
            yield f"argument {name} was {old}, now {new} ({kind})"
    for kind, count in kinds.items():
        if count > 1:
            yield f"so did {count - 1} more, in {kind.partition(':')[0]}"


def _kind_of_change(before: Any, now: Any) -> str:
    if before.shape != now.shape:
        return "shape: pad it to a fixed one if it changes often"
    if before.dtype != now.dtype:
        return "dtype: convert it before the call"
    if before.weak_type == now.weak_type:
        return "split: lay it out alike, with jax.device_put or jax.sharding.reshard"
    return "weak type: pass arrays of a fixed dtype instead of Python numbers now and then"


def _same_signature(fun: Callable[..., Any], before: Call, now: Call) -> str:
    """Why a function is traced again for arguments that it was traced for before."""
    if before.function() is fun:
        return "the same arguments as before: what it was traced to has been forgotten"
    reads = _changed(before.closure, now.closure)
    identity = identify([fun])
    if isinstance(identity, Unidentified):
        why = f"reads {identity.reason}"
    elif reads:
        names = [f"{n}, which {now.closure[n].changed_from(before.closure[n])}" for n in reads]
        why = f"closes over {'; '.join(names)}"
    else:
        why = "reads something that differs"
    return (
        f"the function is a new object at each call and {why} "
        "(define and jit it once, outside the loop, and pass what changes as an argument)"
    )


def _refusal(fun: Callable[..., Any], call: Call, before: Sequence[Call], names: Names) -> str:
    avals = ", ".join(map(str, call.avals))
    return message(
        f"jit of {function_label(fun)}",
        given=f"a call that must be traced: {_explanation(fun, call, before, names)} ({avals})",
        expected="a call whose program is known, because jax_no_tracing is on",
        fix="Call the function with such arguments before the block of jax.no_tracing.",
    )


def _ordinal(n: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"the {n}{'th' if n % 100 in (11, 12, 13) else endings.get(n % 10, 'th')}"
