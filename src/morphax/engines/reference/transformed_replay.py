"""Functions of several operations under eager derivatives and batches, taken as one operation.

A trace of derivatives or batches rewrites each operation by a fragment, and the root trace
evaluates that, one small operation after the other.  So after a few calls of a signature the
function is staged, as for replay, and its program is applied as *one* operation: one fragment,
whose programs are rows of kernels themselves.  See docs/design/eager-replay.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, final

from ...array import Array
from ...config import current as current_config
from ...core import (
    HasAval,
    Jaxpr,
    computes_numbers_at_once,
    is_recording,
    jaxprs_in_params,
    recording,
)
from ...core.trace import Trace
from ...util.memo import MemoTable, missing
from .kernel_program import has_kernels
from .replay_signatures import Arguments, followed, signature_of

Staged = tuple[Jaxpr, Callable[[list[Any]], Any] | None]

applies_programs: list[Any] = []
"""The operation that applies a program: its module stands higher, and puts it here when loaded."""

# To stage and to transform a program takes as long as to run the function five to ten times.
_FEW_CALLS = 4
# Calls in a row that are one operation, or have no kernels, after which none is looked at any more.
_MOST_IN_VAIN = 32


@final
class TransformedCalls:
    """What is known of such calls of one function.

    Args:
        function: what is called.
        positions, roles: of its parameters, as `signature_of` takes them.
        stage: a signature and the arguments → the program and what makes the result of several
            arrays; `None` if there is none.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        positions: tuple[int, ...],
        roles: dict[str, int],
        stage: Callable[[Sequence[Any], Arguments, dict[str, Any]], Staged | None],
    ) -> None:
        self._function = function
        self._parameters = positions, roles
        self._stage = stage
        self._in_vain = 0
        self._programs: MemoTable[Staged | None] = MemoTable(max_entries=1024)
        self._met: MemoTable[list[int]] = MemoTable(max_entries=1024)

    def result(self, trace: Trace, args: Arguments, kwargs: dict[str, Any]) -> Any:
        """The result of a call in `trace`; `None` where the function itself is to run."""
        config = current_config()
        if self._in_vain >= _MOST_IN_VAIN or not config.replay_transformed_calls or is_recording():
            return None
        if not computes_numbers_at_once(trace):
            return None
        operands: list[Any] = []
        signature = signature_of(*self._parameters, args, kwargs, operands, take=followed)
        if signature is None:
            return None
        key = signature, tuple(kwargs), config.trace_key
        program = self._programs[key]
        if program is missing:
            if not config.replay_first_calls and self._is_one_of_few(key):
                with recording():
                    return self._function(*args, **kwargs)
            program = self._programs.add(key, self._worthwhile(signature, args, kwargs))
        self._in_vain = self._in_vain + 1 if program is None else 0
        return None if program is None else _applied(*program, operands)

    def _is_one_of_few(self, key: Any) -> bool:
        """Whether a call is one of the first of its signature; it is counted."""
        met = self._met[key]
        if met is missing:
            met = self._met.add(key, [0])
        met[0] += 1
        return met[0] <= _FEW_CALLS

    def _worthwhile(
        self, signature: Sequence[Any], args: Arguments, kwargs: dict[str, Any]
    ) -> Staged | None:
        """The program of a call, if it is a row of at least two kernels."""
        staged = self._stage(signature, args, kwargs)
        if staged is None or _operations(staged[0]) < 2 or not has_kernels(staged[0]):
            return None
        return staged


def _operations(jaxpr: Jaxpr) -> int:
    """How many there are, with those of functions that have derivatives of their own."""
    inner = [x for eqn in jaxpr.eqns for x in jaxprs_in_params(eqn.params)]
    return len(jaxpr.eqns) + sum(map(_operations, inner))


def _applied(
    jaxpr: Jaxpr, collect: Callable[[list[Any]], Any] | None, operands: Sequence[Any]
) -> Any:
    if not applies_programs:
        # Nothing else that the process has done needed it.
        import_module("...control.program_call", __package__)
    (primitive,) = applies_programs
    # Numbers of Python have the types that the program takes them for.
    given = [
        x if isinstance(x, HasAval) else Array(aval, x)
        for x, aval in zip(operands, jaxpr.in_avals, strict=True)
    ]
    outs = primitive.bind(*given, jaxpr=jaxpr)
    return outs[0] if collect is None else collect(outs)
