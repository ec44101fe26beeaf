"""How a compiled program is called, written down for callers that are not Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, final

from ..util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class CallPlan:
    """The steps of `Executable.run`.

    Args:
        operand_places, result_places: of all operands, and of the results.
        kept: positions of the operands that the module takes, `None` for all of them.
        binding: positions of the operands whose commitment counts, `None` for all of them.
        constants: buffers that follow them.
        loaded, handlers: jaxlib's executable, and what makes buffers of its outputs.
        execute: maps all buffers to the outputs, where that is more than a call of `loaded`.
        out_avals: of the results, if the outputs are the results.
        finish: maps outputs, operands and commitment to the results otherwise.
        fail: raises our error in place of jaxlib's.
        donated: positions of the operands whose memory the program may take.
        gone: makes the account of an operand whose memory is gone.
        machine: runs in place of `loaded`, on operands where they lie; `execute` is then for runs
            that take long, and maps arrays of NumPy to such.
    """

    operand_places: Sequence[Any]
    result_places: Sequence[Any]
    kept: tuple[int, ...] | None
    binding: tuple[int, ...] | None
    constants: Sequence[Any]
    loaded: Any
    handlers: Sequence[Any]
    execute: Callable[[list[Any]], Sequence[Any]] | None
    out_avals: Sequence[Any]
    finish: Callable[[Sequence[Any], Sequence[Any], bool], list[Any]] | None
    fail: Callable[[RuntimeError], NoReturn]
    donated: tuple[int, ...]
    gone: Callable[[], Any]
    machine: Any = None
