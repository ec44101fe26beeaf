"""How coroutines are run: to their end, within a bound of memory, wherever they are called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Any, TypeVar, final

T = TypeVar("T")


@final
class ByteLimit:
    """Bounds how many bytes are in use at once; what needs more than the bound, goes alone.

    Args:
        bytes_: the bound.
    """

    def __init__(self, bytes_: int) -> None:
        self._bound = bytes_
        self._free = bytes_
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def held(self, needed: int) -> AsyncIterator[None]:
        """Wait until so many bytes are free, and use them meanwhile."""
        taken = min(needed, self._bound)
        async with self._changed:
            await self._changed.wait_for(lambda: self._free >= taken)
            self._free -= taken
        try:
            yield
        finally:
            async with self._changed:
                self._free += taken
                self._changed.notify_all()


async def together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of coroutines, run at once; the first error, when all have ended."""
    # What still runs when a loop is closed would be cut off in the middle.
    found = await asyncio.gather(*coroutines, return_exceptions=True)
    results = []
    for result in found:
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results


def completed(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also where a loop runs already, as in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, coroutine).result()
