"""Loops of foreign functions: native code that is given operands, results, sizes and steps.

A loop is known by a number.  That of a compiled source is a digest of it, so that a program that is
kept on disk calls the same function in each process that has made it; others are drawn anew in each
process, and programs that call them are not kept.
"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any, Final, NamedTuple, final

import numpy as np

from ... import dtypes
from ...runtime.foreign_targets import register_ffi_target
from ...util.compiled import part
from ...util.messages import message
from .shapes import Shapes

native = part("foreign")

TARGET: Final = "morphax_foreign_loop"
_NUMBER_BITS: Final = 63

_LOOP_TYPE: Final = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)


@final
class Code(NamedTuple):
    """Where the code of a loop is.

    Args:
        function, data: addresses; 0 for a ufunc without native code.
        has_status: whether the loop returns an error code.
        keeps: objects that must live as long as the loop, or the ufunc that computes it.
        digest: of what it was compiled from; `None` if the addresses are all that is known.
    """

    function: int
    data: int
    has_status: bool
    keeps: tuple[Any, ...] = ()
    digest: str | None = None


@final
class Call(NamedTuple):
    """One call of a loop, for operands of certain shapes."""

    batch: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    results: tuple[tuple[int, ...], ...]


@final
class Loop:
    """A foreign function over arrays of certain dtypes.

    Args:
        name: of the function, for people.
        in_dtypes, out_dtypes: of operands and results.
        shapes: of both, without the axes of a batch.
        code: what computes it.
    """

    __slots__ = ("code", "in_dtypes", "name", "number", "out_dtypes", "shapes")

    def __init__(
        self,
        name: str,
        in_dtypes: tuple[np.dtype[Any], ...],
        out_dtypes: tuple[np.dtype[Any], ...],
        shapes: Shapes,
        code: Code,
    ) -> None:
        self.name = name
        self.in_dtypes = in_dtypes
        self.out_dtypes = out_dtypes
        self.shapes = shapes
        self.code = code
        if code.digest is None:
            self.number = secrets.randbits(_NUMBER_BITS)
        else:
            self.number = int(code.digest, 16) >> (4 * len(code.digest) - _NUMBER_BITS)
        if native is not None and code.function:
            arrays = len(in_dtypes) + len(out_dtypes)
            native.add(self.number, code.function, code.data, arrays, code.has_status)
        # Compiled programs may call it at any time.
        _kept.append(self)

    @property
    def is_local(self) -> bool:
        """Whether other processes cannot know it."""
        return self.code.digest is None

    @property
    def is_available(self) -> bool:
        """Whether arrays of its dtypes can be made now."""
        every = (*self.in_dtypes, *self.out_dtypes)
        return all([dtypes.canonicalize(dtype) == dtype for dtype in every])

    def call(self, shapes: Sequence[tuple[int, ...]]) -> Call:
        """The call for operands of some shapes, each with all axes of the batch or none.

        Raises:
            ValueError: the shapes do not fit.
        """
        sizes = self.shapes.sizes(self.name, shapes)
        ranks = [len(core) for core in self.shapes.operands]
        batches = [s[: len(s) - rank] for s, rank in zip(shapes, ranks, strict=True)]
        batch = max(batches, key=len, default=())
        assert all([b in ((), batch) for b in batches]), "operands are broadcast before"
        cores = [
            tuple([sizes[n] if isinstance(n, str) else n for n in core])
            for core in (*self.shapes.operands, *self.shapes.results)
        ]
        moves = [bool(b) or not batch for b in batches] + [True] * len(self.out_dtypes)
        dtypes = (*self.in_dtypes, *self.out_dtypes)
        each = zip(cores, dtypes, moves, strict=True)
        return Call(
            batch,
            (prod(batch), *[sizes[name] for name in self.shapes.names]),
            tuple([prod(core) * dtype.itemsize if move else 0 for core, dtype, move in each]),
            tuple([(*batch, *core) for core in cores[len(self.in_dtypes) :]]),
        )

    def run(self, call: Call, operands: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """The results for NumPy arrays of the shapes of `call`.

        Raises:
            RuntimeError: the function returns an error code.
        """
        inputs = [x if x.flags.c_contiguous else np.ascontiguousarray(x) for x in operands]
        outs = [np.empty(s, d) for s, d in zip(call.results, self.out_dtypes, strict=True)]
        if call.sizes[0]:
            status = self._run([*inputs, *outs], call)
            if status != 0:
                raise RuntimeError(self._failed(status))
        return outs

    def _run(self, arrays: list[np.ndarray[Any, Any]], call: Call) -> int:
        if not self.code.function:
            (ufunc,) = self.code.keeps
            inputs = [
                x.reshape(call.batch) if s else x for x, s in zip(arrays, call.steps, strict=True)
            ]
            ufunc(*inputs[: ufunc.nin], out=tuple(arrays[ufunc.nin :]))
            return 0
        if native is not None:
            status: int = native.run(self.number, arrays, call.sizes, call.steps)
            return status
        pointers = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
        sizes = (ctypes.c_ssize_t * len(call.sizes))(*call.sizes)
        steps = (ctypes.c_ssize_t * len(call.steps))(*call.steps)
        status = _LOOP_TYPE(self.code.function)(pointers, sizes, steps, self.code.data)
        return status if self.code.has_status else 0

    def _failed(self, status: int) -> str:
        return message(
            f"the foreign function {self.name}",
            given=f"the error code {status}, which it has returned",
            expected="0, for success",
            fix="Look up what the code means in the documentation of the function.",
        )

    def __repr__(self) -> str:
        return f"<{self.name}>"


_kept: Final[list[Loop]] = []


@cache
def register_target() -> None:
    """Let compiled programs call loops."""
    assert native is not None, "without native code, programs call Python"
    register_ffi_target(TARGET, native.handler())
