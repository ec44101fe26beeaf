"""Computing at once while a function is staged: `ensure_compile_time_eval`.

Inside the context, what depends on no tracer goes to the root trace and gives concrete arrays.
What depends on a tracer means what it meant outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, final

from .abstract_value import Operand, Param
from .axes import axis_env
from .primitive import Primitive
from .trace import Trace, Tracer, current_trace, new_trace, root_trace


@final
class CompileTimeTrace(Trace):
    """Hands operations on concrete values to the root trace, others to the one around it."""

    __slots__ = ()
    passes_numbers = True

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        return self.responsible_for(operands).process(primitive, operands, params)

    def responsible_for(self, operands: Sequence[Operand]) -> Trace:
        """The trace that gives meaning to an operation on `operands`."""
        assert self.parent is not None, "the context is inside some trace"
        return self.parent if any([isinstance(x, Tracer) for x in operands]) else root_trace()

    def constant(self, value: Operand) -> Any:
        return value if isinstance(value, Tracer) else root_trace().constant(value)


def trace_of(operands: Sequence[Operand]) -> Trace:
    """The current trace, or that to which a `CompileTimeTrace` leaves operations on `operands`."""
    trace = current_trace()
    while isinstance(trace, CompileTimeTrace):
        trace = trace.responsible_for(operands)
    return trace


def computes_numbers_at_once(trace: Trace) -> bool:
    """Whether operations on numbers alone go from this trace to the root trace, as they are.

    They do under derivatives and batches of eager calls.  Where axes have names they may not.
    """
    while trace.passes_numbers and type(trace) is not CompileTimeTrace:
        assert trace.parent is not None, "there is somebody to pass them to"
        trace = trace.parent
    return (trace.passes_numbers or trace is root_trace()) and not axis_env()


def ensure_compile_time_eval() -> AbstractContextManager[Any]:
    """A context in which operations on concrete values are computed at once, under `jit` too.

    So a value that decides about the program itself (a size, a branch) can be computed with jnp.
    Operations on traced values are staged as ever.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> @jax.jit
        ... def padded(x):
        ...     with jax.ensure_compile_time_eval():
        ...         count = int(jnp.ceil(jnp.log2(5.0)))
        ...     return jnp.append(x, jnp.zeros(count))
        >>> padded(jnp.ones(2)).shape
        (5,)
    """
    return new_trace(CompileTimeTrace(current_trace()))
