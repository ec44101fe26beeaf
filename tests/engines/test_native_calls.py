"""Calls of Python by machine code: results, order, errors, memory, threads, as in other engines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines import native
from morphax.engines.engine import Options
from morphax.engines.loops import NotALoopProgram
from morphax.engines.loops.callees import Callees
from morphax.engines.native import kept_code
from morphax.engines.native.machine_function import MachineFunction, PythonFunction
from morphax.experimental import io_callback
from morphax.util import host_memory
from tests.sampling import few

F32_3 = jax.ShapeDtypeStruct((3,), np.float32)
SCALAR = jax.ShapeDtypeStruct((), np.float32)
X = np.arange(3, dtype=np.float32)


@pytest.fixture(autouse=True)
def chosen() -> Iterator[None]:
    with jax.cpu_engine("native"):
        yield


def python(function: Callable[..., Any], out: Any, *operands: Any) -> Any:
    return jax.pure_callback(function, out, *operands, vmap_method="sequential")


class Making:
    """Random programs of steps, loops, branches and batches that call Python.

    Attributes:
        seen: what ordered calls were given.
    """

    def __init__(self, seed: int) -> None:
        self.draws = np.random.default_rng(seed)
        self.seen: list[list[float]] = []

    def program(self, depth: int, *, is_batched: bool = False) -> Callable[[Any], Any]:
        """A function of three numbers, to as many."""
        kinds = ["pure", "arithmetic", "watch"]
        if depth:
            kinds = ["scan", "loop", "cond", "batch", "both", "both"]
        kind = str(self.draws.choice(kinds))
        scale = float(np.round(self.draws.uniform(0.5, 1.5), 2))
        inner = [
            self.program(depth - 1, is_batched=is_batched or kind == "batch")
            for _ in range(2 * bool(depth))
        ]
        if kind == "watch":
            return self.unordered if is_batched else self.watched
        return getattr(self, kind)(scale, *inner)  # type: ignore[no-any-return]

    def pure(self, scale: float) -> Callable[[Any], Any]:
        def call(v: Any) -> Any:
            return np.asarray(v)[::-1] * np.float32(scale)

        return lambda x: python(call, F32_3, x + 1) - x

    def arithmetic(self, scale: float) -> Callable[[Any], Any]:
        return lambda x: jnp.where(x > 1, x * scale, x + scale) / 2

    def watched(self, x: Any) -> Any:
        jax.debug.callback(lambda v: self.seen.append(np.asarray(v).tolist()), x, ordered=True)
        return x

    def unordered(self, x: Any) -> Any:
        jax.debug.callback(lambda v: None, x)
        return x

    def both(self, _: float, f: Any, g: Any) -> Callable[[Any], Any]:
        return lambda x: g(f(x))

    def scan(self, scale: float, f: Any, g: Any) -> Callable[[Any], Any]:
        def step(c: Any, k: Any) -> Any:
            return f(c) * scale, g(c + k)

        return lambda x: sum(lax.scan(step, x, jnp.arange(3.0))[1])

    def cond(self, scale: float, f: Any, g: Any) -> Callable[[Any], Any]:
        return lambda x: lax.cond(x.sum() > scale, f, g, x)

    def batch(self, _: float, f: Any, g: Any) -> Callable[[Any], Any]:
        return lambda x: jax.vmap(lambda y: g(f(y)))(jnp.stack([x, x + 1])).sum(0) / 4

    def loop(self, scale: float, f: Any, g: Any) -> Callable[[Any], Any]:
        def body(c: tuple[Any, Any]) -> tuple[Any, Any]:
            return c[0] + 1, f(c[1]) * scale / 2

        def holds(c: tuple[Any, Any]) -> Any:
            return c[0] < 2 + (c[1].sum() > 1)

        return lambda x: g(lax.while_loop(holds, body, (0, x))[1])


@pytest.mark.parametrize("seed", few(range(24), 8))
def test_random_programs_agree_in_three_engines(seed: int) -> None:
    found, seen = [], []
    ways: list[Callable[[], AbstractContextManager[Any]]] = [
        jax.disable_jit,
        lambda: jax.cpu_engine("xla"),
        lambda: jax.cpu_engine("native"),
    ]
    for way in ways:
        making = Making(seed)
        f = making.program(3)
        with way():
            found += [np.asarray(jax.jit(f)(x)) for x in (X, -X, X * np.nan)]
        seen.append(making.seen)
    for i, other in enumerate(found[3:]):
        np.testing.assert_allclose(other, found[i % 3], rtol=2e-5, atol=2e-6)
    for other_seen in seen[1:]:
        np.testing.assert_allclose(np.array(other_seen), np.array(seen[0]), rtol=2e-5, atol=2e-6)


def test_the_choice() -> None:
    def f(x: Any) -> Any:
        jax.debug.print("{}", x)
        return python(np.sin, F32_3, x)

    with jax.cpu_engine("auto"):
        assert jax.jit(f).lower(X).compile().as_text("engine").startswith("engine native")
        # What has another form in Python than in loops is XLA's.
        text = jax.jit(jax.random.fold_in).lower(jax.random.key(0), 1).compile().as_text("engine")
        assert "has effects" not in text
        g = jax.jit(lambda x: python(np.conj, x, x))
        assert g(jnp.complex64(1 + 2j)) == 1 - 2j
        assert g.lower(jnp.complex64(1j)).compile().as_text("engine").startswith("engine xla")


def test_programs_in_c_call_nothing() -> None:
    with pytest.raises(NotALoopProgram, match="no Python to call"):
        jax.export_c(lambda x: python(np.sin, F32_3, x), X, name="f")


def test_code_knows_no_function() -> None:
    texts = [
        jax.jit(lambda x, f=f: python(f, F32_3, x)).lower(X).compile().as_text("native")
        for f in (np.sin, np.cos)
    ]
    assert texts[0] == texts[1]
    assert jax.jit(lambda x: python(np.cos, F32_3, x))(X)[0] == 1


@pytest.mark.parametrize("where", ["straight", "branch", "loop", "while", "batch", "condition"])
def test_what_is_raised_ends_the_run(where: str) -> None:
    raised = ZeroDivisionError("here")
    calls: list[float] = []

    def check(v: Any) -> Any:
        calls.append(float(v))
        if v > 2:
            raise raised
        return np.float32(v)

    def call(x: Any) -> Any:
        return python(check, SCALAR, x)

    programs: dict[str, Callable[[Any], Any]] = {
        "straight": lambda x: call(x + 1) + call(x),
        "branch": lambda x: lax.cond(x > 2, call, lambda x: x, x),
        "loop": lambda x: lax.scan(lambda c, _: (call(c) + 1, c), x, None, length=20)[1],
        "while": lambda x: lax.while_loop(lambda c: c < 20, lambda c: call(c) + 1, x),
        "batch": lambda x: jax.vmap(lambda y: call(x + y))(jnp.arange(8.0)),
        "condition": lambda x: lax.while_loop(lambda c: call(c) < 20, lambda c: c + 1, x),
    }
    f = jax.jit(programs[where])
    for _ in range(2):
        calls.clear()
        with pytest.raises(ZeroDivisionError) as caught:
            f(np.float32(2.5))
        assert caught.value is raised
        assert all([x <= 2 for x in calls[:-1]]), "nothing runs after an error"
    if where == "branch":
        assert f(np.float32(1)) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_errors_of_all_kinds_pass(error: type[BaseException]) -> None:
    raised = error("of a user")

    def fail(_: Any) -> Any:
        raise raised

    f = jax.jit(lambda x: python(fail, SCALAR, x))
    for call in (f, f, f.lower(np.float32(0)).compile()):
        with pytest.raises(error) as caught:
            call(np.float32(0))
        assert caught.value is raised


def test_wrong_results_are_refused() -> None:
    for wrong, error in ((np.zeros(2, np.float32), ValueError), (np.zeros(3, int), TypeError)):
        f = jax.jit(lambda x, w=wrong: python(lambda _: w, F32_3, x))
        with pytest.raises(error, match="pure_callback"):
            f(X)


def test_a_program_may_call_itself() -> None:
    """Its temporaries are too large for the stack, and those of each run are its own."""
    size = 1000

    def down(v: Any, n: Any) -> Any:
        return np.asarray(f(jnp.asarray(v) + 1, n - 1)) if n else np.asarray(v)

    @jax.jit
    def f(x: Any, n: Any) -> Any:
        rising = jnp.cumsum(x[::-1] + jnp.sort(x)) * 2
        inner = python(down, jax.ShapeDtypeStruct((size,), np.float32), x, n)
        return rising[::-1] / size + inner

    def expected(x: Any, n: int) -> Any:
        inner = expected(x + 1, n - 1) if n else x
        return (np.cumsum(x[::-1] + np.sort(x)) * 2)[::-1] / size + inner

    x = np.linspace(0, 1, size).astype(np.float32)
    np.testing.assert_allclose(f(x, 3), expected(x.astype(float), 3), rtol=1e-4)


def test_operands_belong_to_the_callback() -> None:
    kept: list[Any] = []

    def body(c: Any, _: Any) -> Any:
        io_callback(kept.append, None, c, ordered=True)
        return c + 1, c.sum()

    f = jax.jit(lambda x: lax.scan(body, x, None, length=5))
    for start in (0, 10):
        f(X + start)
    values = [np.asarray(x).tolist() for x in kept]
    assert values == [(X + start + i).tolist() for start in (0, 10) for i in range(5)]


def test_dtypes_and_shapes() -> None:
    with jax.enable_x64(True):
        operands = [
            np.array([True, False]), np.int8([-1, 3]), np.uint64([2**63, 1]), np.float64(0.1),
            np.zeros((0, 3), np.float32), np.float32([[1, np.nan], [-0.0, np.inf]]),
        ]  # fmt: skip
        outs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in operands]
        f = jax.jit(lambda *xs: python(lambda *xs: [np.asarray(x) for x in xs], outs, *xs))
        for x, y in zip(operands, f(*operands), strict=True):
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            assert x.tobytes() == np.asarray(y).tobytes()
    assert jax.jit(lambda: python(lambda: np.float32(7), SCALAR))() == 7
    assert jax.jit(lambda: io_callback(lambda: [], []))() == []


def test_python_has_the_modes_of_the_program() -> None:
    seen: list[Any] = []

    def look(v: Any) -> Any:
        seen.append((jnp.asarray(1.5).dtype, type(v)))
        return np.asarray(v)

    with jax.enable_x64(True):
        call = jax.jit(lambda x: python(look, SCALAR, x)).lower(np.float32(1)).compile()
    with jax.enable_x64(False):
        call(np.float32(1))
    assert seen == [(np.float64, type(jnp.ones(1)))]


def test_threads_call_one_program() -> None:
    def slow(v: Any) -> Any:
        done.wait(0.001)
        return np.asarray(v) * 2

    done = threading.Event()
    f = jax.jit(
        lambda x: lax.fori_loop(0, 10, lambda i, c: python(slow, F32_3, c + i) / 2, x).sum()
    )
    expected = [float(f(X + i)) for i in range(4)]
    found: dict[int, list[float]] = {}

    def work(i: int) -> None:
        found[i] = [float(f(X + i)) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [expected[i]] * 20 for i in range(4)}


def test_derivatives_and_effects_of_them() -> None:
    seen: list[float] = []

    @jax.custom_jvp
    def sine(x: Any) -> Any:
        return python(np.sin, SCALAR, x)

    @sine.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        jax.debug.callback(lambda v: seen.append(float(v)), primals[0], ordered=True)
        return sine(*primals), python(np.cos, SCALAR, primals[0]) * tangents[0]

    def loss(x: Any) -> Any:
        return lax.scan(lambda c, _: (sine(c) + 1, None), x, None, length=3)[0]

    with jax.cpu_engine("xla"):
        expected = jax.jit(jax.grad(loss))(0.5)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(0.5), expected, rtol=1e-6)
    np.testing.assert_allclose(seen[:3], seen[3:], rtol=1e-6)


def test_the_twin_does_the_same() -> None:
    calls: list[int] = []

    def check(v: Any) -> Any:
        calls.append(1)
        if v[0] > 9:
            raise ZeroDivisionError
        return np.asarray(v)

    def walk(x: Any) -> Any:
        return lax.fori_loop(0, 4, lambda i, c: c + python(check, F32_3, c), x)

    program = native.translated(jax.make_jaxpr(walk)(X), Options("walk", cpu_engine="native"))
    code = kept_code.machine_code_of(program.loops)
    declared = [
        [(b.dtype, b.shape) for b in buffers]
        for buffers in (program.loops.inputs, program.loops.outputs)
    ]
    for make in (MachineFunction, PythonFunction):
        for is_unbounded in (False, True):
            function = make(
                code, code.address, code.scratch_bytes, host_memory.shared, *declared,
                False, is_unbounded, Callees(program.loops.callees),
            )  # fmt: skip
            np.testing.assert_array_equal(function([X])[0], X * 16)
            with pytest.raises(ZeroDivisionError):
                function([X + 3])
            calls.clear()
            np.testing.assert_array_equal(function([X])[0], X * 16)
            assert len(calls) == 4
