"""Loops that are functions give the bits of loops that are written where they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.engines.loops import LoopProgram, NotALoopProgram
from morphax.engines.native import shared_loops
from morphax.engines.native.llvm_text import llvm_module
from morphax.engines.native.loop_plans import LoopPlans
from morphax.engines.native.machine_code import compile_loops
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call
from tests.engines.test_loop_fuzz import valid_programs

Limits = Callable[[int], None]
NEVER = 1 << 40


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Limits:
    """Sets how much a loop must do to be a function."""

    def put(work: int) -> None:
        monkeypatch.setattr(shared_loops, "_LEAST_WORK", work)
        # Of few steps too, or of none.
        monkeypatch.setattr(shared_loops, "_FEW_STEPS", 17 if work < 64 else 0)
        monkeypatch.setattr(LoopPlans, "work_not_written_out", lambda plans, loop: NEVER - work)

    return put


def loops_of(function: Callable[..., Any], *operands: Any) -> LoopProgram:
    """What is repeated in Python stays in the program as often."""
    with override(find_repeated_steps=False):
        return checked_program(make_jaxpr(function)(*operands), "f")


def assert_same(limits: Limits, function: Callable[..., Any], *operands: Any) -> int:
    """With functions and without, the bits are the same; how many calls of functions there are."""
    given = list(map(np.asarray, jax.tree.leaves(operands)))
    program = loops_of(function, *operands)
    results, counts = [], []
    for work in (NEVER, 1):
        limits(work)
        counts.append(llvm_module(program).count("call fastcc void @part"))
        found = call(program, compile_loops(program), *given)
        results.append([x.tobytes() for x in found])
    assert results[0] == results[1]
    assert not counts[0]
    return counts[1]


def calls_of(function: Callable[..., Any], *operands: Any) -> tuple[int, int]:
    """How many loops are functions, and how many calls of these there are."""
    text = llvm_module(loops_of(function, *operands))
    return text.count("define internal fastcc void @part"), text.count("call fastcc void @part")


X = np.linspace(-2, 2, 100, dtype=np.float32)


def repeated(x: Any, count: int = 5) -> Any:
    for _ in range(count):
        x = jnp.sin(x) * 1.1 + x[::-1] * 0.1
    return x


def test_a_step_that_is_repeated_is_one_function() -> None:
    # The first one reads an operand, which is other memory and the same text.
    assert calls_of(repeated, X) == (1, 5)
    assert calls_of(lambda x: repeated(x, 50), X)[1] > 40


def test_lines_grow_with_calls_alone() -> None:
    """Ten times as many steps are few lines more, but for what is stored between long chains."""
    few, many = [llvm_module(loops_of(lambda x, n=n: repeated(x, n), X)) for n in (40, 400)]
    assert many.count("\n") - few.count("\n") < 400 + 9 * few.count("\n") // 4


def test_few_steps_are_a_function_if_they_are_long() -> None:
    def product(x: Any, n: int) -> Any:
        matrix, v = x[: n * n].reshape(n, n), x[-n:]
        for _ in range(10):
            v = jnp.tanh(matrix @ v)
        return v

    # The first one reads the vector where the matrix lies too.
    assert calls_of(lambda x: product(x, 7), X) == (1, 9)
    # Steps of a few statements are written out.
    assert calls_of(lambda x: product(x, 3), X) == (0, 0)

    # In loops a call must be little beside what it does, for arrays may be in registers there.
    def often(x: Any, n: int) -> Any:
        return lax.fori_loop(0, 10, lambda _, x: jnp.concatenate([x[n:], product(x, n)]), x)

    assert calls_of(lambda x: often(x, 4), X)[0] == 0
    assert calls_of(lambda x: often(x, 9), X)[0] == 1


OTHERWISE: dict[str, Callable[[Any, int], Any]] = {
    "a number": lambda x, i: jnp.sin(x) * (1.0 + i) + x[::-1],
    "a sign of zero": lambda x, i: jnp.sin(x) + x[::-1] * (0.0 if i else -0.0),
    "an operation": lambda x, i: (jnp.sin, jnp.cos, jnp.tanh)[i](x) + x[::-1],
    "a place": lambda x, i: jnp.sin(x[i : i + 90]) + x[i : i + 90][::-1],
    "a direction": lambda x, i: jnp.sin(x if i else x[::-1]) + jnp.cos(x) * x[::-1],
    "a size": lambda x, i: jnp.sin(x[: 90 - 8 * i]) + x[: 90 - 8 * i][::-1],
    "a stride": lambda x, i: jnp.sin(x[: 30 * i + 30 : i + 1]) * 1.5 + x[:30],
    "a number of steps": lambda x, i: x.at[: 60 + 16 * i].set(jnp.sin(x[: 60 + 16 * i])),
    "an order": lambda x, i: (x - jnp.sin(x[::-1])) if i else (jnp.sin(x[::-1]) - x),
}


@pytest.mark.parametrize("label", OTHERWISE)
def test_what_differs_is_another_function(label: str, limits: Limits) -> None:
    step = OTHERWISE[label]

    def run(x: Any) -> Any:
        return [step(x, i) for i in range(3)]

    assert_same(limits, run, X)
    limits(1)
    functions, calls = calls_of(run, X)
    assert functions == 0 or calls < 3


@pytest.mark.parametrize("order", ["xyx", "xxy", "xyy", "yxx", "xyz"])
def test_buffers_are_told_apart(order: str, limits: Limits) -> None:
    def run(x: Any, y: Any, z: Any) -> Any:
        known = {"x": x, "y": y, "z": z}
        out = []
        for each in ("xyx", order, "zyx"):
            a, b, c = [known[name] for name in each]
            out.append(jnp.sin(a[:90]) * b[1:91] - c[2:92])
        return out

    shared = assert_same(limits, run, X, X * X, 1 - X)
    assert (shared > 0) == (order in ("xyx", "xyz"))


def test_scalars_are_handed_over(limits: Limits) -> None:
    def run(x: Any, a: Any, i: Any, on: Any) -> Any:
        out = []
        for n in range(4):
            out.append(jnp.where(on, jnp.sin(x * (a + n)), lax.dynamic_slice(x, (i + n,), (100,))))
            a, i, on = a * a, i * 2, ~on
        return out

    x = np.linspace(-3, 3, 120, dtype=np.float32)[:100]
    shared = assert_same(limits, run, x, np.float32(1.5), np.int32(3), np.bool_(True))
    assert shared


def test_memory_of_their_own(limits: Limits) -> None:
    """Sums and sorts in batches have temporaries that no other statement accesses."""

    def run(x: Any) -> Any:
        rows = [x, x + 1, x * 2]
        return [jnp.tanh(jnp.sort(r, 1)).sum(1) * jnp.cumsum(r, 1).max(1) for r in rows]

    x = np.random.default_rng(0).standard_normal((40, 7)).astype(np.float32)
    shared = assert_same(limits, run, x)
    assert shared


def test_branches_and_loops(limits: Limits) -> None:
    def one(x: Any, n: Any) -> Any:
        x = lax.while_loop(lambda v: jnp.abs(v) > 1, lambda v: v * 0.5, x)
        return lax.cond(n > 3, jnp.sin, lambda v: v + 1, x)

    def run(x: Any, n: Any) -> Any:
        first = jax.vmap(one)(x, n)
        return first, jax.vmap(one)(first * 9, n + 1), jax.vmap(one)(x + 5, n)

    x = np.linspace(-9, 9, 70, dtype=np.float32)
    x[[3, 5, 7]] = np.nan, 0.0, -0.0
    shared = assert_same(limits, run, x, np.arange(70, dtype=np.int32) % 7)
    assert shared


def test_what_is_changed_in_place(limits: Limits) -> None:
    """The same loop over one buffer, and over two, are not the same."""

    def run(x: Any) -> Any:
        y = x
        for i in range(3):
            y = y.at[10 * i : 10 * i + 60].add(jnp.sin(x[:60]))
            y = y.at[:60].multiply(y[40:100])
        return y, x

    assert_same(limits, run, X)
    assert_same(limits, lambda x: lax.fori_loop(0, 5, lambda i, y: run(y)[0] * 0.5, x), X)


@pytest.mark.parametrize("start", range(100, 145, 15))
def test_random_programs(start: int, limits: Limits) -> None:
    count = 0
    for _, subject, args, _ in valid_programs(range(start, start + 15)):
        try:
            assert_same(limits, subject.main(), *args)
        except NotALoopProgram:
            continue
        count += 1
    assert count > 2


def test_what_there_is_once_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms are made of loops of which there are several of one size."""
    made: list[None] = []

    class Counted(shared_loops._Form):  # type: ignore[misc]
        def __init__(self) -> None:
            made.append(None)
            super().__init__()

    monkeypatch.setattr(shared_loops, "_Form", Counted)

    def step(x: Any, i: int) -> Any:
        for _ in range(i):
            x = x * 0.9 + 0.1
        return jnp.sin(x) + x[::-1]

    def different(x: Any) -> Any:
        return [step(x, i) for i in range(6)]

    assert calls_of(different, X) == (0, 0)
    assert len(made) <= 2
