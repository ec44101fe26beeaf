"""The trace of the moment, for interpreters of other people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, final

from ... import core
from ...config import current as current_config
from ...core import axis_env, axis_size, current_trace, root_trace
from ...core.leaks import check_leaks as raise_of_leaks
from ...core.trace import Trace, _current
from ...util.contexts import replaced_attribute

no_axis_name = None
"""In place of the name of a mapped axis: it has none."""


def eval_context() -> replaced_attribute[Trace]:
    """A context in which operations are computed at once."""
    return core.set_current_trace(root_trace())


@final
class TraceTag:
    """A mark that the traces of one transformation share, equal only to itself."""


@final
class take_current_trace:
    """A context that hands over the current trace; inside, operations are computed at once."""

    __slots__ = ("_context",)

    def __enter__(self) -> Trace:
        trace = current_trace()
        self._context = eval_context()
        self._context.__enter__()
        return trace

    def __exit__(self, *exc: Any) -> None:
        self._context.__exit__(*exc)


def set_current_trace(trace: Trace, check_leaks: bool = False) -> replaced_attribute[Trace]:
    """A context in which `bind` is interpreted by `trace`.

    Args:
        trace: the trace.
        check_leaks: whether the trace ends with the context: under ``jax_check_tracer_leaks``
            tracers of it that are still there are an error.
    """
    return core.set_current_trace(trace, _end if check_leaks else None)


def _end(trace: Any, _: bool) -> None:
    if current_config().check_tracer_leaks:
        trace.invalidate()
        raise_of_leaks(trace)


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
    """Whether operations are being staged.

    Example:
        >>> import morphax as jax
        >>> seen = []
        >>> _ = jax.jit(lambda x: seen.append(jax.core.unsafe_am_i_under_a_jit_DO_NOT_USE()))(1.0)
        >>> seen, jax.core.unsafe_am_i_under_a_jit_DO_NOT_USE()
        ([True], False)
    """
    return any(trace.stages for trace in _traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether operations are being batched.

    Example:
        >>> import morphax as jax
        >>> jax.core.unsafe_am_i_under_a_vmap_DO_NOT_USE()
        False
    """
    return any(trace.maps for trace in _traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the axes that collectives may refer to now."""
    return [axis.name for axis in axis_env()]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether there are such axes."""
    return bool(axis_env())


def trace_state_clean() -> bool:
    """Whether operations are computed at once, outside all transformations."""
    return current_trace() is root_trace() and not axis_env()


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
        return NamedAxes({axis.name: axis.size for axis in axis_env()})

    def is_top_level(self) -> bool:
        """`trace_state_clean`."""
        return trace_state_clean()

    def set_trace(self, trace: Trace) -> None:
        """Make `trace` current; `set_current_trace` does so for a while."""
        _current.trace = trace


trace_ctx = TracingContext()
