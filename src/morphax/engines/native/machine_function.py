"""A function of machine code as a function of NumPy arrays."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from ...util import host_memory
from ...util.compiled import part

_LONG_SECONDS: Final = 1e-3
_ALIGNMENT: Final = 64

Declared = tuple[np.dtype[Any], tuple[int, ...]]


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
    ) -> None:
        self._owner, self._scratch_bytes, self._pool = owner, scratch_bytes, pool
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)
        self._operands, self._results = operands, results
        self._last_seconds = 1.0 if has_loops else 0.0

    def __call__(self, operands: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The results for arrays of the declared dtypes and shapes."""
        given = [np.require(x, requirements=["C", "A"]) for x in operands]
        sizes = [x.nbytes for x in given]
        if sizes != [np.dtype(d).itemsize * int(np.prod(s)) for d, s in self._operands]:
            raise ValueError("a function of machine code on arrays of another size")
        results = [self._pool.empty(shape, dtype) for dtype, shape in self._results]
        scratch = np.empty(self._scratch_bytes + _ALIGNMENT, np.uint8)
        start = time.perf_counter()
        self._run(
            _pointers(given),
            _pointers(results),
            scratch.ctypes.data + -scratch.ctypes.data % _ALIGNMENT,
        )
        self._last_seconds = time.perf_counter() - start
        return results

    def may_take_long(self) -> bool:
        """Whether Ctrl-C may have to wait for the next run."""
        return self._last_seconds > _LONG_SECONDS


def _pointers(arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])


_compiled = part("machine_functions")
MachineFunction: Any = PythonFunction if _compiled is None else _compiled.MachineFunction
pool: Final = host_memory.shared
