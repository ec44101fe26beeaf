"""No collection of garbage starts while a program is translated, and all is as before after it."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.engines.engine import Options
from morphax.engines.native.llvm_text import llvm_module
from morphax.engines.native.translation import translated
from morphax.util.paused_collection import RareCollection, importing, paused_collection


class Cycle:
    def __init__(self) -> None:
        self.myself = self


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_it_is_off_inside_and_on_again_outside() -> None:
    with paused_collection():
        assert not gc.isenabled()
        with paused_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_again_after_an_error() -> None:
    with pytest.raises(KeyboardInterrupt), paused_collection():
        raise KeyboardInterrupt
    assert gc.isenabled()


def test_what_a_user_has_switched_off_stays_off() -> None:
    gc.disable()
    with paused_collection():
        pass
    assert not gc.isenabled()


def test_of_threads_that_overlap_the_one_that_paused_it_ends_the_pause() -> None:
    inside, may_end = threading.Event(), threading.Event()

    def work() -> None:
        with paused_collection():
            inside.set()
            may_end.wait(10)

    other = threading.Thread(target=work)
    with paused_collection():
        other.start()
        assert inside.wait(10)
    assert gc.isenabled()
    may_end.set()
    other.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_fork_in_the_midst_collects() -> None:
    with paused_collection():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()


def in_generation(thing: object, number: int) -> bool:
    return any(x is thing for x in gc.get_objects(number))


@pytest.mark.usefixtures("thawed")
def test_what_imports_make_is_old() -> None:
    with importing():
        assert not gc.isenabled()
        made: list[Any] = [[]]
    assert gc.isenabled()
    assert not gc.get_freeze_count()
    assert in_generation(made, 2)
    alive = weakref.ref(cycle := Cycle())
    with importing():
        del cycle
    assert alive() is not None
    gc.collect()
    assert alive() is None, "what is old is looked at when everything is"


def test_what_a_user_has_frozen_stays_frozen() -> None:
    mine: list[Any] = [[]]
    gc.freeze()
    count = gc.get_freeze_count()
    try:
        with importing():
            made: list[Any] = [[]]
        assert gc.get_freeze_count() == count
        assert not in_generation(mine, 2)
        assert not in_generation(made, 2)
    finally:
        gc.unfreeze()


def test_no_collection_starts_while_a_program_is_translated() -> None:
    def f(x: Any) -> Any:
        for i in range(300):
            x = x * (1.0 + i) + x[::-1]
        return x

    jaxpr = jax.make_jaxpr(f)(np.ones(8, np.float32)).jaxpr
    starts = 0

    def noticed(phase: str, _: dict[str, int]) -> None:
        nonlocal starts
        starts += phase == "start"

    threshold = gc.get_threshold()
    gc.collect()
    gc.set_threshold(500)
    gc.callbacks.append(noticed)
    try:
        loops = translated(jaxpr, Options("f")).loops
        llvm_module(loops)
    finally:
        gc.callbacks.remove(noticed)
        gc.set_threshold(*threshold)
    # What has come into being is looked at when each of the two is over.
    assert starts <= 4


@pytest.fixture
def default_threshold() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    gc.set_threshold(*before)


def test_traces_collect_seldom_and_leave_all_as_it_was(
    default_threshold: tuple[int, int, int],
) -> None:
    seen: list[int] = []

    def function(x: Any) -> Any:
        seen.append(gc.get_threshold()[0])
        return jax.jit(lambda y: y + len(seen))(x)

    jax.make_jaxpr(function)(1.0)
    jax.jit(function)(1.0)
    assert min(seen) > 700
    assert gc.get_threshold() == default_threshold

    def fails(x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jax.make_jaxpr(fails)(1.0)
    assert gc.get_threshold() == default_threshold


@pytest.mark.parametrize("chosen", [0, 10**6])
def test_a_threshold_that_a_user_has_set_stays(
    chosen: int, default_threshold: tuple[int, int, int]
) -> None:
    gc.set_threshold(chosen, 5, 5)
    with RareCollection():
        assert gc.get_threshold() == (chosen, 5, 5)
    assert gc.get_threshold() == (chosen, 5, 5)


def test_so_does_one_that_is_set_in_a_trace(default_threshold: tuple[int, int, int]) -> None:
    with RareCollection():
        gc.set_threshold(900, 10, 10)
    assert gc.get_threshold()[0] == 900


def test_cycles_are_found_in_traces(default_threshold: tuple[int, int, int]) -> None:
    with RareCollection():
        gone = weakref.ref(Cycle())
        kept: list[list[int]] = [[] for _ in range(100_000)]
        assert gone() is None
    assert len(kept) == 100_000
