"""Programs with callbacks that go on by themselves: who waits for them, and who hears of errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from morphax import effects_barrier
from morphax.engines.xla import pending
from morphax.runtime.client import extension


class Token:
    """Stands for jaxlib's token of a running program."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.times_waited = 0

    def block_until_ready(self) -> None:
        self.times_waited += 1
        if self.error is not None:
            raise self.error


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert pending._pending == []


def test_programs_of_the_cpu_are_waited_for_at_once() -> None:
    token = Token()
    pending.started("f", token, "cpu")
    assert token.times_waited == 1


def test_others_are_waited_for_when_asked() -> None:
    tokens = [Token() for _ in range(3)]
    for token in tokens:
        pending.started("f", token, "cuda")
    assert [t.times_waited for t in tokens] == [0, 0, 0]
    for _ in range(2):
        effects_barrier()
        assert [t.times_waited for t in tokens] == [1, 1, 1]


def test_the_number_of_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_MOST_PENDING", 2)
    tokens = [Token() for _ in range(3)]
    for token in tokens:
        pending.started("f", token, "cuda")
    assert [t.times_waited for t in tokens] == [1, 0, 0]
    effects_barrier()


def test_all_are_waited_for_even_if_one_fails() -> None:
    error: Any = extension().JaxRuntimeError("INTERNAL: oops")
    tokens = [Token(), Token(error), Token()]
    for token in tokens:
        pending.started("f", token, "cuda")
    with pytest.raises(Exception, match=r"INTERNAL: running the program f"):
        effects_barrier()
    assert [t.times_waited for t in tokens] == [1, 1, 1]
