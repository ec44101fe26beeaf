"""Memoisation of pure functions, with one owner for all such caches.

Every cache is bounded (least recently used first out), safe under threads, and known to
`clear_all`, so that `morphax.clear_caches` can free what they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_clearers: list[Callable[[], None]] = []


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
    cached = lru_cache(maxsize)(function)
    _clearers.append(cached.cache_clear)
    return cached  # type: ignore[return-value]


def memoize_if_hashable(function: F, *, maxsize: int = 8192) -> F:
    """Like `memoize`, but arguments that cannot be hashed are worked out anew each time."""
    cached = lru_cache(maxsize)(function)
    _clearers.append(cached.cache_clear)

    @wraps(function)
    def call(*args: Any) -> Any:
        try:
            hash(args)
        except TypeError:
            return function(*args)
        return cached(*args)

    return call  # type: ignore[return-value]


def on_clear(clearer: Callable[[], None]) -> None:
    """Register the clearing of a cache that is not made by `memoize`."""
    _clearers.append(clearer)


def clear_all() -> None:
    """Empty every cache."""
    for clear in _clearers:
        clear()
