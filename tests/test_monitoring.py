"""`jax.monitoring`: listeners of each kind, and the steps that `jit` reports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import morphax as jax
from morphax import monitoring
from morphax.config import override

# For each kind: register, unregister, record, and the numbers of an event.
KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], Any]] = {
    "event": (
        monitoring.register_event_listener,
        monitoring.unregister_event_listener,
        monitoring.record_event,
        (),
    ),
    "duration": (
        monitoring.register_event_duration_secs_listener,
        monitoring.unregister_event_duration_listener,
        monitoring.record_event_duration_secs,
        (1.5,),
    ),
    "time span": (
        monitoring.register_event_time_span_listener,
        monitoring.unregister_event_time_span_listener,
        monitoring.record_event_time_span,
        (1.0, 2.5),
    ),
    "scalar": (
        monitoring.register_scalar_listener,
        monitoring.unregister_scalar_listener,
        monitoring.record_scalar,
        (3,),
    ),
}
EVERY = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def nobody_listens() -> Iterator[None]:
    yield
    monitoring.clear_event_listeners()


@EVERY
def test_listeners_hear_their_kind_only(kind: str) -> None:
    heard: dict[str, list[Any]] = {other: [] for other in KINDS}
    for other, (register, *_) in KINDS.items():
        register(lambda *args, other=other, **facts: heard[other].append((args, facts)))
    record, numbers = KINDS[kind][2:]
    record("/library/step", *numbers, cause="test", attempt=2)
    expected = (("/library/step", *numbers), {"cause": "test", "attempt": 2})
    assert heard == {other: [expected] if other == kind else [] for other in KINDS}


@EVERY
def test_one_registration_is_one_call(kind: str) -> None:
    register, unregister, record, numbers = KINDS[kind]
    heard: list[str] = []

    def listener(event: str, *_: Any) -> None:
        heard.append(event)

    register(listener)
    register(listener)
    record("/a", *numbers)
    unregister(listener)
    record("/b", *numbers)
    unregister(listener)
    record("/c", *numbers)
    assert heard == ["/a", "/a", "/b"]


@EVERY
def test_refusals(kind: str) -> None:
    register, unregister, _, _ = KINDS[kind]
    with pytest.raises(ValueError, match=r"a listener of[\s\S]*same function object"):
        unregister(print)
    with pytest.raises(TypeError, match=r"3 of type int[\s\S]*the function itself"):
        register(3)


@EVERY
def test_clearing(kind: str) -> None:
    register, _, record, numbers = KINDS[kind]
    heard: list[Any] = []
    register(lambda *args: heard.append(args))
    monitoring.clear_event_listeners()
    record("/a", *numbers)
    assert not heard


def test_errors_of_listeners_reach_the_recorder() -> None:
    def listener(event: str) -> None:
        raise KeyError(event)

    monitoring.register_event_listener(listener)
    with pytest.raises(KeyError, match="/a"):
        monitoring.record_event("/a")


def test_listeners_may_leave_while_an_event_is_told() -> None:
    heard: list[str] = []

    def once(event: str) -> None:
        heard.append(event)
        monitoring.unregister_event_listener(once)

    monitoring.register_event_listener(once)
    monitoring.register_event_listener(lambda event: heard.append("other"))
    monitoring.record_event("/a")
    monitoring.record_event("/b")
    assert heard == ["/a", "other", "other"]


def test_registering_in_threads() -> None:
    heard: list[str] = []

    def register() -> None:
        for _ in range(50):
            monitoring.register_event_listener(heard.append)

    threads = [threading.Thread(target=register) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monitoring.record_event("/a")
    assert len(heard) == 200


TRACE, LOWER, COMPILE = (
    f"/jax/core/compile/{step}_duration"
    for step in ("jaxpr_trace", "jaxpr_to_mlir_module", "backend_compile")
)


def test_jit_reports_the_steps_of_building_a_program() -> None:
    began: list[Any] = []
    lasted: list[Any] = []
    spans: list[Any] = []
    monitoring.register_scalar_listener(lambda event, time, **facts: began.append((event, facts)))
    monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **facts: lasted.append((event, facts, seconds >= 0))
    )
    monitoring.register_event_time_span_listener(
        lambda event, start, end, **facts: spans.append((event, facts, start <= end))
    )

    def double(x: Any) -> Any:
        return x * 2.0

    f = jax.jit(double)
    with override(enable_compilation_cache=False):
        f(1.0)
    steps = [
        (TRACE, {"fun_name": "double"}),
        (LOWER, {"fun_name": "jit(double)"}),
        (COMPILE, {"fun_name": "jit(double)"}),
    ]
    assert began == steps
    assert lasted == spans == [(*step, True) for step in steps]
    f(2.0)
    assert began == steps
    f.lower(jax.ShapeDtypeStruct((3,), "float32"))
    assert [event for event, _ in began[3:]] == [TRACE, LOWER]


def test_a_step_that_fails_ends_too() -> None:
    ended: list[str] = []
    monitoring.register_event_duration_secs_listener(lambda event, *_, **__: ended.append(event))

    def fails(x: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        jax.jit(fails)(1.0)
    assert ended == [TRACE]
