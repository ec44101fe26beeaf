"""A function of machine code as a function of NumPy arrays."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, final

import numpy as np

from ...util import host_memory
from ...util.compiled import part
from ..loops.callees import Callees, Declared

_LONG_SECONDS: Final = 1e-3
_ALIGNMENT: Final = 64

Improve = Callable[[], tuple[Any, int] | None]
"""Makes code of a function: its owner, and its address."""

_FUNCTION: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)


@final
class PythonFunction:
    """The twin of the compiled `MachineFunction`: calls the code by `ctypes`.

    Args:
        owner: keeps the code.
        address: of the function, see `MachineCode`.
        scratch_bytes: how much memory it needs in between.
        pool: the memory of the results.
        operands, results: dtypes and shapes.
        has_loops: whether the first run may take long.
        is_unbounded: whether numbers decide how long a run takes; other threads may work meanwhile.
        entry: makes the calls of Python, see `Callees`; `None` if there are none.
    """

    def __init__(
        self,
        owner: Any,
        address: int,
        scratch_bytes: int,
        pool: Any,
        operands: Sequence[Declared],
        results: Sequence[Declared],
        has_loops: bool,
        is_unbounded: bool,
        entry: Callees | None = None,
    ) -> None:
        self._owner, self._scratch_bytes, self._pool = owner, scratch_bytes, pool
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)
        self._operands, self._results, self._entry = operands, results, entry
        self._last_seconds = 1.0 if has_loops else 0.0
        self._make: Improve | None = None
        self._worth = self._seconds_left = inf

    def __call__(self, operands: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The results for arrays of the declared dtypes and shapes."""
        if self._seconds_left < 0:
            self._improve()
        given = [np.require(x, requirements=["C", "A"]) for x in operands]
        sizes = [x.nbytes for x in given]
        if sizes != [np.dtype(d).itemsize * int(np.prod(s)) for d, s in self._operands]:
            raise ValueError("a function of machine code on arrays of another size")
        results = [self._pool.empty(shape, dtype) for dtype, shape in self._results]
        scratch = np.empty(self._scratch_bytes + _ALIGNMENT, np.uint8)
        calls = Calls(self._entry)
        start = time.perf_counter()
        self._run(
            _pointers(given, calls.address),
            _pointers(results),
            scratch.ctypes.data + -scratch.ctypes.data % _ALIGNMENT,
        )
        self._last_seconds = time.perf_counter() - start
        self._seconds_left -= self._last_seconds
        if calls.failure is not None:
            raise calls.failure
        return results

    def may_take_long(self) -> bool:
        """Whether Ctrl-C may have to wait for the next run."""
        return self._last_seconds > _LONG_SECONDS

    def improve_after(self, seconds: float, make: Improve) -> None:
        """Have better code of the same function made, once it is worth the time.

        That is before the first run after runs have taken so many seconds in all.

        Args:
            seconds: how many.
            make: gives the owner of the code and its address, or `None`.
        """
        self._make = make
        self._worth = self._seconds_left = seconds

    def _improve(self) -> None:
        # Threads that come here meanwhile, and what Python does meanwhile, run the code there is.
        self._seconds_left = inf
        make, self._make = self._make, None
        if make is None:
            return
        try:
            found = make()
        except BaseException:
            # Somebody has interrupted it: a later run tries again.
            self._make, self._seconds_left = make, self._worth
            raise
        if found is not None:
            # What was run before stays as well: another thread may still run it.
            self._owner = (self._owner, found[0])
            self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(found[1])


@final
class Calls:
    """What a run calls Python with: a pointer to a function, which machine code reads.

    Attributes:
        address: of the pointer.
        failure: what Python raised, which ended the run.
    """

    def __init__(self, entry: Callees | None) -> None:
        self.failure: BaseException | None = None

        def call(_: int, number: int, memory: int) -> int:
            assert entry is not None, "a program that calls Python"
            try:
                entry(number, memory)
            except BaseException as error:
                self.failure = error
            return self.failure is not None

        self._function = _FUNCTION(call)
        self._pointer = ctypes.cast(self._function, ctypes.c_void_p)
        self.address = ctypes.addressof(self._pointer)


def _pointers(arrays: Sequence[np.ndarray[Any, Any]], *more: int) -> Any:
    addresses = [*[x.ctypes.data for x in arrays], *more]
    return (ctypes.c_void_p * len(addresses))(*addresses)


_compiled = part("machine_functions")
MachineFunction: Any = PythonFunction if _compiled is None else _compiled.MachineFunction
pool: Final = host_memory.shared
