"""What a trace may do with a call of a function that brings its own rules.

A function with a derivative or a batching rule of the user is no primitive: who carries the call
out decides what becomes of the rule.  The call goes down the traces, from the current one, until
something is to be done with it; `Trace.process_custom_call` says what that is.

- A trace of differentiation that holds a tangent of an operand runs the user's rule, in its parent.
- A trace of batches passes on the function and the rule of batches, which run those of one member.
- A trace that writes programs stages the function; the equation keeps the rule.
- Where no trace has anything to do with it the function itself runs.

So the user's code gets the operands as they are in the trace that runs it: Python control flow on
what is concrete there works, under ``grad`` and beside batched operands too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .abstract_value import Operand
from .trace import Trace


class CallWithRules(Protocol):
    """A function with its rules; each method applies it to operands, in a trace."""

    def run(self, trace: Trace, operands: Sequence[Operand]) -> Sequence[Any]:
        """Run the function itself."""

    def stage(self, trace: Trace, operands: Sequence[Operand]) -> Sequence[Any]:
        """Apply the equation that holds the function as a program, and the rule."""

    def push(self, trace: Any, operands: Sequence[Operand]) -> Sequence[Any]:
        """Run the rule of forward mode, in the parent of a `JVPTrace`."""

    def record(self, trace: Any, operands: Sequence[Operand]) -> Sequence[Any]:
        """Run the rule of reverse mode, in the parent of a `LinearizeTrace`."""

    def batch(self, trace: Any, operands: Sequence[Operand]) -> Sequence[Any]:
        """Hand function and rule of whole batches to the parent of a `BatchTrace`."""
