"""Questions about values and about the trace of the moment, for interpreters of other people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import index
from typing import Any, final

import numpy as np

from .. import dtypes
from ..errors import (
    ConcretizationTypeError,
    InconclusiveDimensionOperation,
    TracerBoolConversionError,
)
from ..util.messages import message
from .axes import axis_env, axis_size
from .staging import StagingTrace
from .trace import Trace, Tracer, _current, current_trace, root_trace
from .values import aval_of

no_axis_name = None
"""In place of the name of a mapped axis: it has none."""


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` may be an operand."""
    try:
        aval_of(x)
    except (TypeError, OverflowError):
        return False
    return True


def concrete_or_error(
    force: Callable[[Any], Any] | None, val: Any, context: str | None = ""
) -> Any:
    """`val`, which must be known while tracing, converted by `force`.

    Args:
        force: `int`, `float`, `np.asarray`, …, or `None` to leave the value as it is.
        val: the value.
        context: what it is needed for.

    Raises:
        ConcretizationTypeError: if the value is traced.
    """
    concrete = val.concrete() if isinstance(val, Tracer) else val
    if concrete is None and isinstance(val, Tracer):
        raise _unknown(context or "concrete_or_error", val, ConcretizationTypeError)
    return concrete if force is None else force(concrete)


def concretization_function_error(
    fun: Callable[..., Any], suggest_astype: bool = False
) -> Callable[[Any, Tracer], Any]:
    """The error of `fun`, a conversion such as `bool`, as a function of its owner and a tracer.

    `suggest_astype` lets the text name the conversion by dtype, which can be traced.
    """
    error = TracerBoolConversionError if fun is bool else ConcretizationTypeError
    where = f"{getattr(fun, '__name__', fun)}()"
    fix = f"Say x.astype({fun.__name__}), or mark" if suggest_astype else "Mark"

    def refuse(self: Any, arg: Tracer) -> Any:
        raise _unknown(where, arg, error, f"{fix} the argument static in jit.")

    return refuse


def _unknown(
    where: str,
    tracer: Tracer,
    error: type[TypeError],
    fix: str = "Mark the argument static in jit.",
) -> TypeError:
    given = f"{tracer.origin()}{tracer.dependence()}, {tracer.aval.str_short()}"
    expected = "a concrete value, known while the function is traced"
    return error(message(where, given=given, expected=expected, fix=fix))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents of values of a dtype: itself, `float0` for integers and booleans."""
    return dtypes.tangent_dtype(np.dtype(primal_dtype))


def is_constant_dim(d: Any) -> bool:
    """Whether the size of an axis is a number."""
    try:
        index(d)
    except (TypeError, InconclusiveDimensionOperation):
        return False
    return True


def is_constant_shape(s: Sequence[Any]) -> bool:
    """Whether all sizes of a shape are numbers."""
    return all(map(is_constant_dim, s))


def find_top_trace(_: Any) -> Trace:
    """The trace that gives meaning to `bind` now."""
    return current_trace()


@final
class OpaqueTraceState:
    """Which trace is current, to be compared with that of another time."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    __hash__ = None  # type: ignore[assignment]


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """The state of tracing, equal to that of another time if the same trace is current."""
    return OpaqueTraceState(current_trace())


def _traces() -> Iterator[Trace]:
    trace: Trace | None = current_trace()
    while trace is not None:
        yield trace
        trace = trace.parent


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether operations are being staged."""
    return any(isinstance(trace, StagingTrace) for trace in _traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether operations are being batched."""
    return any(trace.maps for trace in _traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the axes that collectives may refer to now."""
    return [name for name, _ in axis_env()]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether there are such axes."""
    return bool(axis_env())


@final
class NamedAxes:
    """The axes that collectives may refer to, as `trace_ctx.axis_env`."""

    __slots__ = ("axis_sizes",)

    def __init__(self, axis_sizes: Mapping[Any, int]) -> None:
        self.axis_sizes = axis_sizes

    def axis_names(self) -> tuple[Any, ...]:
        """Their names, outermost first."""
        return tuple(self.axis_sizes)

    def axis_exists(self, name: Any) -> bool:
        """Whether there is an axis of a name."""
        return name in self.axis_sizes

    def axis_size(self, name: Any) -> int:
        """The size of an axis; `NameError` if there is none of this name."""
        return axis_size(name)


@final
class TracingContext:
    """The state of tracing of this thread."""

    __slots__ = ()

    @property
    def trace(self) -> Trace:
        """The current trace."""
        return current_trace()

    @property
    def axis_env(self) -> NamedAxes:
        """The axes that collectives may refer to."""
        return NamedAxes(dict(axis_env()))

    def is_top_level(self) -> bool:
        """Whether operations are computed at once, outside all transformations."""
        return current_trace() is root_trace() and not axis_env()

    def set_trace(self, trace: Trace) -> None:
        """Make `trace` current; `set_current_trace` does so for a while."""
        _current.trace = trace


trace_ctx = TracingContext()
