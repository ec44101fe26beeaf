"""Bodies of eager loops and branches, which are interpreted again and again.

A body is applied equation by equation at first.  One that has been applied often becomes a function
of NumPy arrays (`kernel_program`), which has the bits of single operations: its program takes as
long to make as some applications of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ...array import Array
from ...config import current as current_config
from ...core import Jaxpr, apply_jaxpr
from ...util.memo import MemoTable, missing
from .eager import allow_short_ways
from .kernel_program import kernel_program
from .kernels import KernelCall

_OFTEN = 16


@final
class _Body:
    """How often a body was applied, and its kernels since it was often enough."""

    __slots__ = ("applied", "program")

    def __init__(self) -> None:
        self.applied = 0
        self.program: KernelCall | None = None


_bodies: MemoTable[_Body] = MemoTable(max_entries=1024)


def apply_body(jaxpr: Jaxpr, *operands: Any) -> list[Any]:
    """The results of a body that eager mode interprets, at the root."""
    body = _bodies[jaxpr]
    if body is missing:
        body = _bodies.add(jaxpr, _Body())
    body.applied += 1
    if body.applied == _OFTEN:
        body.program = kernel_program(jaxpr, list)
    if body.program is None or not _are_at_home(operands):
        return apply_jaxpr(jaxpr, *operands)
    results: list[Any] = body.program([x._host for x in operands])
    return results


def known_kernels(operands: Sequence[Any], *jaxprs: Jaxpr) -> Callable[..., Any] | None:
    """How to apply the bodies of a loop with these operands to NumPy arrays.

    Returns:
        (body, arrays) → arrays, for `without_float_errors`; `None` where a body was not applied
        often, or to call kernels is not all there is to do.
    """
    kernels = {}
    for jaxpr in jaxprs:
        body = _bodies[jaxpr]
        if body is missing or body.program is None:
            return None
        kernels[jaxpr] = body.program.function
    if not _are_at_home(operands):
        return None
    return lambda jaxpr, *arrays: kernels[jaxpr](*arrays)


def _are_at_home(operands: Sequence[Any]) -> bool:
    """Whether to call kernels is all there is to do, as `eager.py` asks for one operation."""
    if not allow_short_ways(current_config()):
        return False
    return all([type(x) is Array and not x._committed and x._host is not None for x in operands])
