"""Memoisation of pure functions, with one owner for all such caches.

Every cache is bounded (least recently used first out), safe under threads, and known to
`clear_all`, so that `morphax.clear_caches` can free what they hold.

Arguments and results may be large: whole programs.  These tell their size as `remembered_weight`;
when all that was remembered since the tables were last emptied weighs too much, they start anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import RLock
from typing import Any, Generic, TypeVar, final

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")

_MAX_WEIGHT = 500_000

_clearers: list[Callable[[], None]] = []
# Of the caches that hold results by arguments, and so can be emptied at any time.
_table_clearers: list[Callable[[], None]] = []
_weight = 0


def _weigh(values: tuple[Any, ...]) -> int:
    """The size of the programs in a tuple, and in tuples in it."""
    weight = 0
    for value in values:
        if isinstance(value, tuple):
            weight += _weigh(value)
        elif not isinstance(value, type):
            weight += getattr(value, "remembered_weight", 0)
    return weight


def _note(arguments: tuple[Any, ...], result: Any) -> None:
    """Empty the tables if what they hold may weigh too much."""
    global _weight
    added = _weigh((arguments, result))
    if added:
        _weight += added
        if _weight > _MAX_WEIGHT:
            _clear_tables()
            _weight = added


def _clear_tables() -> None:
    for clear in _table_clearers:
        clear()


def _weighed(function: F) -> F:
    @wraps(function)
    def call(*args: Any) -> Any:
        result = function(*args)
        _note(args, result)
        return result

    return call  # type: ignore[return-value]


def memoize(function: F, *, maxsize: int = 8192) -> F:
    """Remember the results of `function` by its hashable positional arguments.

    Example:
        >>> from morphax.util.memo import memoize
        >>> @memoize
        ... def square(x):
        ...     print("working")
        ...     return x * x
        >>> square(3), square(3)
        working
        (9, 9)
    """
    cached = lru_cache(maxsize)(_weighed(function))
    _table_clearers.append(cached.cache_clear)
    return cached  # type: ignore[return-value]


def is_hashable(value: Any) -> bool:
    """Whether a value may be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def memoize_if_hashable(function: F, *, maxsize: int = 8192) -> F:
    """Like `memoize`, but arguments that cannot be hashed are worked out anew each time."""
    cached = lru_cache(maxsize)(_weighed(function))
    _table_clearers.append(cached.cache_clear)

    @wraps(function)
    def call(*args: Any) -> Any:
        try:
            return cached(*args)
        except TypeError:
            if is_hashable(args):
                raise
        return function(*args)

    return call  # type: ignore[return-value]


@final
class ResultTable(dict[tuple[Any, ...], V], Generic[V]):
    """The results of a pure function by its arguments: ``table[arguments]``.

    For the hottest paths: looking up what is known takes no call of a function.  A table that is
    full starts anew.

    Example:
        >>> from morphax.util.memo import ResultTable
        >>> sums = ResultTable(lambda x, y: x + y)
        >>> sums[1, 2], len(sums)
        (3, 1)
    """

    __slots__ = ("_function", "_max_entries")

    def __init__(self, function: Callable[..., V], max_entries: int = 8192) -> None:
        super().__init__()
        self._function = function
        self._max_entries = max_entries
        _table_clearers.append(self.clear)

    def __missing__(self, arguments: tuple[Any, ...]) -> V:
        result = self._function(*arguments)
        _note(arguments, result)
        if len(self) >= self._max_entries:
            self.clear()
        self[arguments] = result
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
    """Register the clearing of a cache that is not made by `memoize`."""
    _clearers.append(clearer)


def clear_all() -> None:
    """Empty every cache."""
    _clear_tables()
    for clear in _clearers:
        clear()
