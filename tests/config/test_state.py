from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import pytest

from morphax.config import current, override
from morphax.config.options import FACTS
from morphax.config.state import update


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = current().settings()
    yield
    for attribute in ("log_compiles", "numpy_rank_promotion", "enable_x64", "transfer_guard"):
        update(attribute, before[attribute])


def in_thread(function: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_update_is_seen_by_all_threads() -> None:
    update("numpy_rank_promotion", "warn")
    assert current().numpy_rank_promotion == "warn"
    assert in_thread(lambda: current().numpy_rank_promotion) == "warn"


def test_override_is_seen_by_its_own_thread_only() -> None:
    with override(enable_x64=True):
        assert current().enable_x64
        assert not in_thread(lambda: current().enable_x64)
    assert not current().enable_x64


def test_overrides_nest_and_the_innermost_wins() -> None:
    with override(enable_x64=True, numpy_rank_promotion="warn"):
        with override(numpy_rank_promotion="raise"):
            assert (current().enable_x64, current().numpy_rank_promotion) == (True, "raise")
            with override(enable_x64=False):
                assert (current().enable_x64, current().numpy_rank_promotion) == (False, "raise")
        assert (current().enable_x64, current().numpy_rank_promotion) == (True, "warn")


def test_override_outlives_updates() -> None:
    with override(enable_x64=True):
        with override(numpy_rank_promotion="raise"):
            update("log_compiles", True)
            update("enable_x64", False)
            assert current().enable_x64
            assert current().log_compiles
            assert current().numpy_rank_promotion == "raise"
        assert current().enable_x64
        assert current().log_compiles
        assert current().numpy_rank_promotion == "allow"
        update("log_compiles", False)
        assert not current().log_compiles
    assert not current().enable_x64


def test_override_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), override(enable_x64=True):
        raise KeyError
    assert not current().enable_x64


def test_override_can_be_entered_again_also_inside_itself() -> None:
    x64 = override(enable_x64=True)
    with x64:
        with x64, override(enable_x64=False):
            assert not current().enable_x64
        assert current().enable_x64
    with x64:
        assert current().enable_x64
    assert not current().enable_x64


def test_override_decorates_functions() -> None:
    @override(enable_x64=True)
    def wide(depth: int) -> list[bool]:
        return [current().enable_x64, *(wide(depth - 1) if depth else [])]

    assert wide(2) == [True] * 3
    assert in_thread(lambda: wide(0)) == [True]
    assert not current().enable_x64


def test_tasks_have_settings_of_their_own() -> None:
    async def task(value: bool) -> bool:
        with override(enable_x64=value):
            await asyncio.sleep(0)
            return current().enable_x64

    async def both() -> list[bool]:
        return await asyncio.gather(task(True), task(False))

    assert asyncio.run(both()) == [True, False]


def test_a_copied_context_keeps_its_override() -> None:
    with override(enable_x64=True):
        context = copy_context()
    update("log_compiles", True)
    assert context.run(lambda: (current().enable_x64, current().log_compiles)) == (True, True)
    assert not current().enable_x64


def test_settings_are_one_object_while_nothing_changes() -> None:
    assert current() is current()
    with override(enable_x64=True):
        inside = current()
        assert current() is inside
    with override(enable_x64=True):
        assert current().trace_key is inside.trace_key
    assert current().trace_key is not inside.trace_key


def test_one_guard_sets_all_directions() -> None:
    guards = [name for name in FACTS if name.startswith("transfer_guard")]
    with override(transfer_guard="log"):
        assert {getattr(current(), guard) for guard in guards} == {"log"}
        with override(transfer_guard_host_to_device="disallow"):
            assert current().transfer_guard_host_to_device == "disallow"
            assert current().transfer_guard_device_to_host == "log"
    update("transfer_guard", "disallow")
    assert {getattr(current(), guard) for guard in guards} == {"disallow"}


def test_concurrent_updates_do_not_lose_each_other() -> None:
    def flip(attribute: str, values: tuple[Any, Any]) -> None:
        for step in range(200):
            update(attribute, values[step % 2])

    threads = [
        threading.Thread(target=flip, args=("log_compiles", (False, True))),
        threading.Thread(target=flip, args=("numpy_rank_promotion", ("allow", "raise"))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (current().log_compiles, current().numpy_rank_promotion) == (True, "raise")


def test_bad_values_are_refused_before_anything_changes() -> None:
    with pytest.raises(TypeError, match=r"^jax.enable_x64 \(at "):
        override(enable_x64="yes")
    with pytest.raises(TypeError, match=r"^config.update \(at "):
        update("enable_x64", "yes")
    assert not current().enable_x64
