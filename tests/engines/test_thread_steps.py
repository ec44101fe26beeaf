"""Loops that threads make in pieces give the bits of loops that one makes."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops import NotALoopProgram
from morphax.engines.loops.memory import local_buffers
from morphax.engines.native import linking, thread_steps
from morphax.engines.native.llvm_text import llvm_module
from morphax.engines.native.loop_plans import LoopPlans
from morphax.engines.native.machine_code import compile_loops
from morphax.transforms.make_jaxpr import make_jaxpr
from morphax.util import threads
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call
from tests.engines.test_loop_fuzz import valid_programs

KEY = jax.random.key(0)
STEPS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Loops of any length are divided, anywhere, and pieces are made by four threads in any order.

    The list has how many pieces each loop had.
    """
    counts: list[int] = []
    rng = random.Random(7)
    with ThreadPoolExecutor(4) as pool:

        @SHARE
        def share(steps: int, context: int, count: int) -> None:
            inner = sorted(rng.sample(range(1, count), rng.randrange(min(count, 12))))
            cuts = [0, *inner, count]
            ranges = list(itertools.pairwise(cuts))
            rng.shuffle(ranges)
            counts.append(len(ranges))
            made = [pool.submit(STEPS(steps), context, *each) for each in ranges]
            for piece in made:
                piece.result()

        address = ctypes.cast(share, ctypes.c_void_p).value
        monkeypatch.setattr(linking, "address_of_sharing", lambda: address)
        yield counts
    # Programs that were run meanwhile are kept, with code that calls this function.
    jax.clear_caches()


def assert_same(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *given: Any) -> int:
    """In pieces and in one, the bits are the same; how many loops are divided."""
    operands = list(map(np.asarray, jax.tree.leaves(given)))
    program = checked_program(make_jaxpr(function)(*given), "f")
    results, divided = [], 0
    for worth in (np.inf, 0.0):
        monkeypatch.setattr(thread_steps, "WORTH_DIVIDING", worth)
        divided = llvm_module(program).count(f"call void @{thread_steps.SHARE}(")
        found = call(program, compile_loops(program), *operands)
        results.append([x.tobytes() for x in found])
        assert worth == 0 or not divided
    assert results[0] == results[1]
    return divided


def member(x: Any, n: Any) -> Any:
    """A loop that ends at different times, with a branch in it and an array of its own."""

    def body(state: Any) -> Any:
        i, v, seen = state
        v = lax.cond(v > 1, lambda v: v * 0.5, lambda v: jnp.sin(v) + 0.7, v)
        return i + 1, v, seen.at[i % 3].add(v)

    return lax.while_loop(lambda s: s[0] < n, body, (0, x, jnp.zeros(3)))


def batches(size: int) -> Any:
    x = np.linspace(-9, 9, size, dtype=np.float32)
    x[[0, 3, -1]] = np.nan, -0.0, np.inf
    return x, (np.arange(size) * 7 % 23).astype(np.int32)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "members": (jax.vmap(member), batches(203)),
    "whole vectors of members": (jax.vmap(member), batches(128)),
    "members of members": (
        jax.vmap(jax.vmap(member, (0, None)), (None, 0)),
        (batches(19)[0], batches(21)[1]),
    ),
    "members of many members": (
        jax.vmap(jax.vmap(member, (0, None)), (None, 0)),
        (batches(101)[0], batches(7)[1]),
    ),
    "elements and a rest": (lambda x, n: jnp.tanh(x) * x[::-1] + n, batches(101)),
    "rows": (lambda x: (jnp.sort(x, 1), x.sum(1)), (batches(60 * 7)[0].reshape(60, 7),)),
    "in place": (lambda x, n: x.at[10:90].multiply(jnp.sin(x[20:100])), batches(120)),
    "places that numbers say": (lambda x, n: x.at[n].add(x), batches(101)),
    "numbers from outside": (lambda x, n: jnp.exp(x[::-1]) * x[3] + (n > n[5]), batches(77)),
}


# Rows of members have arrays of their own, which are long.
LEAST = {"places that numbers say": 0, "members of many members": 2}


@pytest.mark.parametrize("label", CASES)
def test_pieces_give_the_same_bits(
    label: str, pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    function, operands = CASES[label]
    divided = assert_same(monkeypatch, function, *operands)
    assert len(pieces) == divided
    assert divided >= LEAST.get(label, 1)


@pytest.mark.parametrize("start", [200, 220])
def test_random_programs(start: int, pieces: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    for _, subject, args, _ in valid_programs(range(start, start + 20)):
        try:
            assert_same(monkeypatch, subject.main(), *args)
        except NotALoopProgram:
            continue
    assert len(pieces) > 5


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_each_step_is_made_once(count: int, number: int) -> None:
    made: list[tuple[int, int]] = []
    given = ctypes.c_int64(41)

    @STEPS
    def steps(context: int, first: int, last: int) -> None:
        assert context == ctypes.addressof(given)
        made.append((first, last))

    before = threads.num_threads()
    threads.set_num_threads(number)
    try:
        share = SHARE(thread_steps.address_of_sharing())
        share(ctypes.cast(steps, ctypes.c_void_p).value, ctypes.addressof(given), count)
    finally:
        threads.set_num_threads(before)
    assert sorted([i for first, last in made for i in range(first, last)]) == list(range(count))
    assert number > 1 or made == [(0, count)]


def test_what_is_long_is_divided() -> None:
    """Loops in loops are not: threads would be woken in each step."""

    def divided(function: Callable[..., Any], *operands: Any) -> bool:
        program = checked_program(make_jaxpr(function)(*operands), "f")
        return thread_steps.SHARE in llvm_module(program)

    few, many = batches(64), batches(16384)
    assert divided(jax.vmap(member), *many)
    assert not divided(jax.vmap(member), *few)
    assert not divided(lambda x: jnp.sin(x), many[0])
    once = jax.vmap(member)
    assert not divided(lambda x, n: lax.fori_loop(0, 9, lambda i, x: once(x, n)[1], x), *many)


@pytest.mark.parametrize("shape", [(41, 3), (40, 4), (7, 5, 9)])
def test_rows_that_run_on_are_divided_as_one_loop(
    shape: tuple[int, ...], pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(x: Any) -> Any:
        return jnp.exp(x) * jax.random.normal(KEY, shape)

    program = checked_program(make_jaxpr(drawn)(jnp.ones(shape)), "f")
    plans = LoopPlans(program.body, local_buffers(program))
    monkeypatch.setattr(thread_steps, "WORTH_DIVIDING", 0.0)
    assert any([x.outer for x in thread_steps.loops_to_divide(program.body, plans).values()])
    x = np.linspace(-3, 3, math.prod(shape), dtype=np.float32).reshape(shape)
    assert assert_same(monkeypatch, drawn, x) == len(pieces) > 0


def test_what_threads_share_is_what_the_estimate_takes_for_shared() -> None:
    """Running sums are made by one thread."""
    x = np.ones(1 << 18, np.float32)
    for function, is_shared in ((jnp.arctan, True), (jnp.cumsum, False)):
        program = checked_program(make_jaxpr(function)(x), "f")
        plans = LoopPlans(program.body, local_buffers(program))
        assert (thread_steps.time_divided(program.body, plans) > 0) is is_shared
        assert (thread_steps.SHARE in llvm_module(program)) is is_shared


def test_machine_code_by_the_engine() -> None:
    """As a user calls it, with as many threads as there are."""
    x, n = batches(16384)
    with jax.cpu_engine("native"):
        call_ = jax.jit(jax.vmap(member))
        assert thread_steps.SHARE in call_.lower(x, n).compile().as_text("native")
        found = call_(x, n)
        parts = [call_(x[i : i + 64], n[i : i + 64]) for i in (0, 8192, 16320)]
    for start, part in zip((0, 8192, 16320), parts, strict=True):
        for mine, theirs in zip(found, part, strict=True):
            np.testing.assert_array_equal(mine[start : start + 64], theirs)
