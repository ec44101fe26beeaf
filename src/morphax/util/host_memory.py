"""Host memory for arrays: 64-byte aligned, and retained when an array is freed.

XLA on the CPU reads an array where it lies when its data start on a 64-byte boundary, and copies it
otherwise.  Large results are slow for a second reason: the system hands out fresh memory page by
page.  `HostMemory` answers both: its arrays are aligned, and up to a cap in bytes it keeps the
memory of freed arrays for the next ones, until no array has been made or freed for some seconds.

The compiled class and `OverallocatedMemory`, its twin in Python, have the same interface.  The twin
serves a source checkout without the compiled module: it aligns by slicing a larger NumPy array,
retains nothing, and cannot align what NumPy allocates between `enter` and `leave`, so callers that
need alignment there must ask `is_aligned`.

All of morphax shares one instance; its methods are the functions of this module.  The results of
compiled programs are XLA's, which takes memory from the C library: `keep_freed` makes that keep
freed memory too, as soon as a program needs blocks so large that it would not.
Reference: NEP 49, data allocation strategies.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .available_memory import available_memory
from .compiled import part, twin_in
from .memo import on_clear
from .messages import message

ALIGNMENT = 64
DEFAULT_CAP = 1 << 30
SHARE = 1 / 16
"""Of the memory that this process may use: more is not retained by default."""
MANY = 1 << 15
"""From about so many elements on, `pooled` is worth its third of a microsecond."""
_LONG_ROW = 1024
"""Elements that NumPy copies quickly, one row after another."""


class OverallocatedMemory:
    """The twin of the compiled `HostMemory`: aligned arrays with NumPy alone."""

    def __init__(self, cap: int = DEFAULT_CAP, idle_seconds: float = 5.0) -> None:
        self._cap = cap
        self._misses = 0

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An uninitialised, C-contiguous, aligned array."""
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        plain = _plain_dtype(dtype)
        raw = np.empty(_byte_count(sizes, plain) + ALIGNMENT, np.uint8)
        self._misses += 1
        return np.ndarray(sizes, plain, buffer=raw, offset=-_address(raw) % ALIGNMENT)

    def aligned_copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """A C-contiguous, aligned copy of an array."""
        _require_array(array)
        copy = self.empty(array.shape, array.dtype)
        np.copyto(copy, array)
        return copy

    @staticmethod
    def is_aligned(array: NDArray[Any]) -> bool:
        """Whether the data of an array start on a 64-byte boundary."""
        _require_array(array)
        return _address(array) % ALIGNMENT == 0

    def enter(self) -> object:
        """Let NumPy allocate from this pool in the current context: no effect on the twin."""
        return None

    @staticmethod
    def leave(previous: object) -> None:
        """Let NumPy allocate as it did before the matching `enter()`."""

    def release(self) -> None:
        """Give all retained memory back to the system: the twin retains none."""

    def set_cap(self, cap: int) -> None:
        """Retain at most this many bytes."""
        self._cap = cap

    @staticmethod
    def keep_freed(cap: int, idle_seconds: float = 5.0) -> bool:
        """Let the C library keep large blocks that are freed: the twin cannot."""
        return False

    def stats(self) -> dict[str, int]:
        """The keys of the compiled class; the twin does not follow its arrays: none is in use."""
        return {
            "cap": self._cap,
            "retained": 0,
            "in_use": 0,
            "hits": 0,
            "misses": self._misses,
        }


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _require_array(array: object) -> None:
    if not isinstance(array, np.ndarray):
        text = message(
            "host memory, argument array",
            given=type(array).__name__,
            expected="a numpy.ndarray",
            fix="Convert the argument with numpy.asarray first.",
        )
        raise TypeError(text)


def _plain_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    plain = np.dtype(dtype)
    if plain.hasobject or plain.itemsize == 0:
        text = message(
            "host memory, argument dtype",
            given=repr(plain),
            expected="a dtype of fixed size that holds no Python objects",
            fix="Use a numeric dtype.",
        )
        raise TypeError(text)
    return plain


def _byte_count(sizes: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    negative = next((axis for axis, size in enumerate(sizes) if size < 0), None)
    if negative is not None:
        text = message(
            "host memory, argument shape",
            given=f"dimension {sizes[negative]} on axis {negative}",
            expected="no negative dimension",
            fix="Pass the sizes themselves.",
        )
        raise ValueError(text)
    return math.prod(sizes) * dtype.itemsize


try:
    from morphax._native import HostMemory
except ImportError:  # a source checkout without the compiled module
    HostMemory = OverallocatedMemory  # type: ignore[assignment, misc]

_cap = min(DEFAULT_CAP, int(available_memory() * SHARE))
shared = HostMemory(_cap)
empty = shared.empty
aligned_copy = shared.aligned_copy
is_aligned = shared.is_aligned
enter = shared.enter
leave = shared.leave
release = shared.release
set_cap = shared.set_cap
stats = shared.stats


def pooled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the arrays that NumPy makes in it in memory of ours."""

    def call(*operands: Any) -> Any:
        previous = enter()
        try:
            return function(*operands)
        finally:
            leave(previous)

    return call


def repeated_view(
    aligned: Sequence[int], shape: Sequence[int], dtype: Any
) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """How arrays, once of the shape `aligned`, are seen repeated along axes where that is 1."""
    if 0 in shape or not isinstance(dtype, np.dtype) or dtype.kind not in "biufc":
        return lambda v: np.broadcast_to(v.reshape(aligned), shape)
    steps = [math.prod(aligned[axis + 1 :]) * dtype.itemsize for axis in range(len(aligned))]
    strides = tuple([0 if n == 1 else step for n, step in zip(aligned, steps, strict=True)])

    def view(v: NDArray[Any]) -> NDArray[Any]:
        # NumPy's own function takes six times as long.
        if v.flags.c_contiguous:
            return np.ndarray(shape, v.dtype, v, 0, strides)
        return np.broadcast_to(v.reshape(aligned), shape)

    return view


def repeated_row(row: NDArray[Any], times: int) -> NDArray[Any]:
    """A few numbers, so many times: NumPy takes as long for a short row as for a long one."""
    together = np.tile(row.reshape(-1), _LONG_ROW // row.size)
    out = np.empty(row.size * times, row.dtype)
    whole = out.size // together.size * together.size
    out[:whole].reshape(-1, together.size)[...] = together
    out[whole:] = together[: out.size - whole]
    return out


@twin_in(part("kernels"))
def transposed(array: NDArray[Any], permutation: Sequence[int]) -> NDArray[Any]:
    """A copy in C order, whose axis i is the axis ``permutation[i]`` of the array."""
    return array.transpose(permutation).copy()


def in_order(array: NDArray[Any]) -> NDArray[Any]:
    """The array in C order: itself, or a copy of one whose axes lie in another order."""
    if array.flags.c_contiguous:
        return array
    order = np.argsort(array.strides, kind="stable")[::-1]
    return transposed(array.transpose(order), tuple(np.argsort(order).tolist()))


@twin_in(part("kernels"))
def reversed_copy(view: NDArray[Any]) -> NDArray[Any]:
    """A copy in C order of a view that may be read backwards along its last axis."""
    return view.copy()


def keep_freed() -> bool:
    """Let the C library keep what is freed of large blocks, as this pool does; whether it can.

    For the results and temporaries of compiled programs, which XLA takes from the C library.
    """
    return bool(HostMemory.keep_freed(_cap))


def _return_freed_memory() -> None:
    """Give the system back what was freed, here and by the C library where it can be told to."""
    release()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


on_clear(_return_freed_memory)
