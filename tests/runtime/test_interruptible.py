"""Who waits for results: the main thread, which asks, or another one that blocks."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

import morphax.runtime.interruptible as interruptible


class Buffer:
    """Ready once somebody blocks, or has asked so many times."""

    def __init__(self, shape: tuple[int, ...], questions: int) -> None:
        self.aval: Any = SimpleNamespace(shape=shape, dtype="float32")
        self.questions = questions
        self.waiting: list[threading.Thread] = []

    def is_deleted(self) -> bool:
        return False

    def is_ready(self) -> bool:
        self.questions -= 1
        return self.questions < 0

    def block_until_ready(self) -> None:
        self.waiting.append(threading.current_thread())
        self.questions = 0


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    kinds: set[Any] = set()
    monkeypatch.setattr(interruptible, "_lasting", kinds)
    return kinds


def test_after_a_wait_that_lasted_nobody_asks(
    lasting: set[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruptible, "_EAGER_SECONDS", 0.0)
    first, second = Buffer((3,), 10**6), Buffer((3,), 10**6)
    interruptible.wait_until_ready([first])
    assert len(first.waiting) == len(lasting) == 1
    assert first.waiting != [threading.main_thread()]
    monkeypatch.setattr(interruptible, "_become_ready", None)
    interruptible.wait_until_ready([second])
    assert second.waiting == first.waiting
    with pytest.raises(TypeError, match="not callable"):
        interruptible.wait_until_ready([Buffer((4,), 10**6)])


def test_a_wait_that_was_short_is_asked_for_again(
    lasting: set[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruptible, "_EAGER_SECONDS", 1e6)
    lasting.add(interruptible._kind_of([Buffer((3,), 1)]))
    blocked, asked = Buffer((3,), 10**6), Buffer((3,), 20)
    interruptible.wait_until_ready([blocked])
    assert len(blocked.waiting) == 1
    assert not lasting
    interruptible.wait_until_ready([asked])
    assert not asked.waiting


def test_what_is_kept_of_waits_is_bounded(
    lasting: set[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruptible, "_EAGER_SECONDS", 0.0)
    monkeypatch.setattr(interruptible, "_MOST_KINDS", 3)
    for size in range(8):
        interruptible.wait_until_ready([Buffer((size,), 10**6)])
        assert len(lasting) <= 3
