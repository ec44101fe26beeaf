"""Memoisation of pure functions, with one owner for all such caches.

Results are kept by `parameter_keys.key_of` of the arguments, which tells ``0.0`` from ``-0.0`` and
``1`` from ``True``; calls whose arguments have no key are worked out each time.  Every table is
bounded, safe under threads, and known to `clear_all`, so that `morphax.clear_caches` can free what
they hold.

Arguments and results may be large: whole programs.  These tell their size as `remembered_weight`,
and all tables together are bounded by weight as well.

A lookup notes nothing.  Instead, the entries of a table belong to two generations.  When half of a
bound has been added, the older generation is forgotten and the recent one becomes the older one; an
entry that is asked for while it is old is recent again.  So what is in use stays, and what goes was
not asked for while half a bound of others came.  See docs/design/memo-keys.md.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from threading import RLock
from typing import Any, Generic, TypeVar, final

from .parameter_keys import Mark, key_of

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")

_MAX_WEIGHT = 500_000
# What there is most of in keys.
_WEIGHTLESS = frozenset((bool, int, str, type(None)))

_clearers: list[Callable[[], None]] = []
_lock = RLock()
if hasattr(os, "register_at_fork"):
    # A child has no thread that would release what another one held.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )
_tables: list[MemoTable[Any]] = []
# Of the recent generations of all tables together.
_recent_weight = 0

missing: Any = Mark("missing")
"""What a table answers for a key that it does not know."""


def weight_of(values: Iterable[Any]) -> int:
    """The size of the programs among some values, and in tuples among them."""
    weight = 0
    for value in values:
        if type(value) in _WEIGHTLESS:
            continue
        if isinstance(value, tuple):
            weight += weight_of(value)
        elif not isinstance(value, type):
            weight += getattr(value, "remembered_weight", 0)
    return weight


class MemoTable(dict[Any, V], Generic[V]):
    """Results by keys: ``table[key]``, which is `missing` if there is none.

    For the hottest paths: looking up what is known takes no call of a function.  The dictionary
    itself is the recent generation.

    Example:
        >>> from morphax.util.memo import MemoTable, missing
        >>> table = MemoTable()
        >>> table["a"] is missing, table.add("a", 1), table["a"]
        (True, 1, 1)
    """

    __slots__ = ("_max_entries", "_older", "_older_weights", "_recent_weight", "_weights")

    def __init__(self, max_entries: int = 8192) -> None:
        super().__init__()
        self._max_entries = max_entries
        self._older: dict[Any, V] = {}
        # Of the entries that weigh anything.
        self._weights: dict[Any, int] = {}
        self._older_weights: dict[Any, int] = {}
        self._recent_weight = 0
        with _lock:
            _tables.append(self)

    @property
    def weight(self) -> int:
        """What the table holds weighs."""
        return self._recent_weight + sum(self._older_weights.values())

    @property
    def num_entries(self) -> int:
        """How many results the table holds."""
        return len(self) + len(self._older)

    def __missing__(self, key: Any) -> Any:
        with _lock:
            result = self._older.pop(key, missing)
            if result is missing:
                # Another thread may have been here in between.
                return self.get(key, missing)
            weight = self._older_weights.pop(key, 0)
        return self._keep(key, result, weight)

    def add(self, key: Any, result: V) -> V:
        """Keep a result; if another thread was first, its result is the one to use."""
        return self._keep(key, result, weight_of((key, result)))

    def _keep(self, key: Any, result: V, weight: int) -> V:
        global _recent_weight
        with _lock:
            known: Any = self.get(key, missing)
            if known is not missing:
                return known
            # Destroyed when the lock is free: that may run anybody's code.
            forgotten = _make_room(self, weight)
            self[key] = result
            if weight:
                self._weights[key] = weight
                self._recent_weight += weight
                _recent_weight += weight
        del forgotten
        return result

    def _set_aside(self) -> tuple[Any, Any]:
        """Begin a new generation; what was forgotten."""
        global _recent_weight
        forgotten = self._older, self._older_weights
        self._older, self._older_weights = dict(self), self._weights
        _recent_weight -= self._recent_weight
        self._weights, self._recent_weight = {}, 0
        super().clear()
        return forgotten

    def clear(self) -> None:
        """Forget everything."""
        with _lock:
            forgotten = self._set_aside(), self._set_aside()
        del forgotten


def _make_room(table: MemoTable[Any], weight: int) -> list[Any]:
    """Begin new generations where half of a bound has been added; what was forgotten."""
    if weight and 2 * (_recent_weight + weight) > _MAX_WEIGHT:
        return [t._set_aside() for t in _tables]
    return [table._set_aside()] if 2 * len(table) >= table._max_entries else []


def memoize(
    function: F,
    *,
    maxsize: int = 8192,
    within: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> F:
    """Remember the results of `function` by the keys of its arguments.

    Args:
        function: its results depend on its arguments alone.
        maxsize: how many results are kept.
        within: makes the context that the function runs in.

    Example:
        >>> from morphax.util.memo import memoize
        >>> @memoize
        ... def square(x):
        ...     print("working")
        ...     return x * x
        >>> square(3), square(3)
        working
        (9, 9)
        >>> square(3.0)
        working
        9.0
    """
    table: MemoTable[Any] = MemoTable(maxsize)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        key = key_of((args, tuple(kwargs.items())) if kwargs else args)
        result = missing if key is None else table[key]
        if result is missing:
            with within():
                result = function(*args, **kwargs)
            if key is not None:
                result = table.add(key, result)
        return result

    return call  # type: ignore[return-value]


@final
class ResultTable(MemoTable[V]):
    """The results of a pure function by its arguments: ``table[arguments]``.

    The arguments themselves are the key.  So they are of kinds whose `==` tells everything apart:
    avals, dtypes, strings, and booleans and integers where either is always the same.

    Example:
        >>> from morphax.util.memo import ResultTable
        >>> sums = ResultTable(lambda x, y: x + y)
        >>> sums[1, 2], len(sums)
        (3, 1)
    """

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., V], max_entries: int = 8192) -> None:
        super().__init__(max_entries)
        self._function = function

    def __missing__(self, arguments: tuple[Any, ...]) -> V:
        result = super().__missing__(arguments)
        if result is missing:
            result = self.add(arguments, self._function(*arguments))
        return result


@final
class BoundedTable(Generic[V]):
    """A table that forgets what was used longest ago, by number and by weight.

    Example:
        >>> from morphax.util.memo import BoundedTable
        >>> table = BoundedTable(max_entries=2, max_weight=100)
        >>> for name in ("a", "b", "c"):
        ...     table.add(name, name.upper(), weight=1)
        >>> table.get("a"), table.get("c")
        (None, 'C')
    """

    __slots__ = ("_entries", "_lock", "_max_entries", "_max_weight", "_weight")

    def __init__(self, max_entries: int, max_weight: int) -> None:
        self._entries: OrderedDict[Any, tuple[V, int]] = OrderedDict()
        self._max_entries = max_entries
        self._max_weight = max_weight
        self._weight = 0
        self._lock = RLock()
        _clearers.append(self.clear)

    def get(self, key: Any) -> V | None:
        """The value of a key, or `None`."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def add(self, key: Any, value: V, weight: int) -> None:
        """Keep a value, unless it alone is too heavy."""
        if weight > self._max_weight:
            return
        with self._lock:
            _, replaced = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, weight)
            self._weight += weight - replaced
            while len(self._entries) > self._max_entries or self._weight > self._max_weight:
                _, (_, freed) = self._entries.popitem(last=False)
                self._weight -= freed

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._weight = 0


def on_clear(clearer: Callable[[], None]) -> None:
    """Register the clearing of a cache that is not made here."""
    _clearers.append(clearer)


def total_weight() -> int:
    """What all tables of results hold weighs."""
    with _lock:
        return sum([table.weight for table in _tables])


def clear_all() -> None:
    """Empty every cache."""
    for table in list(_tables):
        table.clear()
    for clear in _clearers:
        clear()
