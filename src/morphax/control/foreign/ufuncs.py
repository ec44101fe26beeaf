"""The inner loops of NumPy's ufuncs, as foreign functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ...util.messages import message
from .loops import Code, Loop, native
from .shapes import Shapes


def ufunc_loops(where: str, ufunc: np.ufunc) -> tuple[str, Sequence[Loop], str]:
    """Name, loops and description of a ufunc.

    Raises:
        TypeError: it computes with Python objects, or with rows instead of numbers.
    """
    loops = () if ufunc.signature is not None else _all_loops(ufunc)
    if not loops:
        raise TypeError(
            message(
                f"{where}, argument function",
                given=f"{ufunc!r}, whose loops are {ufunc.types}, of signature {ufunc.signature}",
                expected="a ufunc of numbers, computed by native code",
                fix="Call it by jax.pure_callback.",
            )
        )

    return ufunc.__name__, loops, f"{ufunc.__name__}, a ufunc of {len(loops)} dtypes"


@cache
def _all_loops(ufunc: np.ufunc) -> tuple[Loop, ...]:
    addresses = [(0, 0)] * len(ufunc.types) if native is None else native.loops_of(ufunc)
    found = []
    for text, (function, data) in zip(ufunc.types, addresses, strict=True):
        taken, given = [[np.dtype(c) for c in side] for side in text.split("->")]
        if all([d.kind in "biufc" and d.itemsize <= _widest(d) for d in (*taken, *given)]):
            shapes = Shapes(((),) * len(taken), ((),) * len(given))
            code = Code(function, data, has_status=False, keeps=(ufunc,))
            found.append(Loop(ufunc.__name__, tuple(taken), tuple(given), shapes, code))
    return tuple(found)


def _widest(dtype: np.dtype[Any]) -> int:
    """In bytes; extended precision is none of ours."""
    return 16 if dtype.kind == "c" else 8
