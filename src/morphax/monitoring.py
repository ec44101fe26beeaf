"""`jax.monitoring`: let others know what happens, such as how long programs take to compile.

An *event* is named like a path, ``"/my/library/cache_misses"``, and goes to the listeners of its
kind, in the thread that records it: a plain event, one with a duration in seconds, one with a time
span (begin and end in seconds since the epoch), or one with a scalar.  Keywords of the event are
passed on.  What a listener raises is raised where the event is recorded.

`jit` reports the steps of building a program (`engines.build_events`); the compile cache reports
its hits and misses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, final

from .util.messages import described, message

Listener = Callable[..., Any]

_lock = threading.Lock()


@final
class _Listeners:
    """Who listens to one kind of event; a tuple that is replaced, never changed."""

    __slots__ = ("callbacks", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.callbacks: tuple[Listener, ...] = ()

    def add(self, callback: Listener) -> None:
        if not callable(callback):
            raise TypeError(
                message(
                    f"monitoring, a listener of {self.kind}",
                    given=described(callback),
                    expected="a function of the event's name, its numbers and its keywords",
                    fix="Pass the function itself.",
                )
            )
        with _lock:
            self.callbacks = (*self.callbacks, callback)

    def remove(self, callback: Listener) -> None:
        with _lock:
            kept = list(self.callbacks)
            if callback in kept:
                kept.remove(callback)
                self.callbacks = tuple(kept)
                return
        raise ValueError(
            message(
                f"monitoring, a listener of {self.kind}",
                given=f"{callback!r:.80}",
                expected="a listener that was registered for this kind and not removed since",
                fix="Pass the same function object that was registered.",
            )
        )


_plain, _durations = _Listeners("events"), _Listeners("durations")
_spans, _scalars = _Listeners("time spans"), _Listeners("scalars")


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners of plain events that `event` happened.

    Example:
        >>> from morphax import monitoring
        >>> listener = lambda event, **facts: print(event, facts)
        >>> monitoring.register_event_listener(listener)
        >>> monitoring.record_event("/library/restart", attempt=2)
        /library/restart {'attempt': 2}
        >>> monitoring.unregister_event_listener(listener)
    """
    for callback in _plain.callbacks:
        callback(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners of durations that `event` took so many seconds.

    Example:
        >>> from morphax import monitoring
        >>> monitoring.register_event_duration_secs_listener(print)
        >>> monitoring.record_event_duration_secs("/mine/loading", 0.5)
        /mine/loading 0.5
        >>> monitoring.clear_event_listeners()
    """
    for callback in _durations.callbacks:
        callback(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tell the listeners of time spans that `event` lasted from one time to another.

    Example:
        >>> from morphax import monitoring
        >>> monitoring.register_event_time_span_listener(print)
        >>> monitoring.record_event_time_span("/mine/epoch", 10.0, 12.5)
        /mine/epoch 10.0 12.5
        >>> monitoring.clear_event_listeners()
    """
    for callback in _spans.callbacks:
        callback(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float, **kwargs: str | int) -> None:
    """Tell the listeners of scalars that `event` has a value.

    Example:
        >>> from morphax import monitoring
        >>> monitoring.register_scalar_listener(print)
        >>> monitoring.record_scalar("/mine/loss", 0.25)
        /mine/loss 0.25
        >>> monitoring.clear_event_listeners()
    """
    for callback in _scalars.callbacks:
        callback(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Call ``callback(event, **kwargs)`` at each plain event from now on; see `record_event`.

    Example:
        >>> from morphax import monitoring
        >>> monitoring.register_event_listener(lambda event, **kwargs: print(event, kwargs))
        >>> monitoring.record_event("/mine/retry", attempt=2)
        /mine/retry {'attempt': 2}
        >>> monitoring.clear_event_listeners()
    """
    _plain.add(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call ``callback(event, duration, **kwargs)`` at each event with a duration from now on.

    Example:
        >>> import morphax as jax
        >>> steps = []
        >>> def listener(event, duration, **facts):
        ...     if event.startswith("/jax/core/compile/"):
        ...         steps.append(event.split("/")[-1])
        >>> jax.monitoring.register_event_duration_secs_listener(listener)
        >>> y = jax.jit(lambda x: x + 1.0)(2.0)
        >>> steps
        ['jaxpr_trace_duration', 'jaxpr_to_mlir_module_duration', 'backend_compile_duration']
        >>> jax.monitoring.unregister_event_duration_listener(listener)
    """
    _durations.add(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call ``callback(event, start_time, end_time, **kwargs)`` at each event with a time span."""
    _spans.add(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call ``callback(event, value, **kwargs)`` at each event with a scalar from now on."""
    _scalars.add(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Call this listener of plain events no more.

    Raises:
        ValueError: it is not registered; so too for the other kinds.
    """
    _plain.remove(callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Call this listener of durations no more."""
    _durations.remove(callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Call this listener of time spans no more."""
    _spans.remove(callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Call this listener of scalars no more."""
    _scalars.remove(callback)


def clear_event_listeners() -> None:
    """Forget all listeners, of all kinds."""
    with _lock:
        for listeners in (_plain, _durations, _spans, _scalars):
            listeners.callbacks = ()
