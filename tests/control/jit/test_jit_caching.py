"""When `jit` traces and compiles: what is shared, what is not, what is freed, and under threads."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.control.plans import plan_of
from morphax.engines.engine import Options
from morphax.engines.xla.executable import Executable
from morphax.runtime.sharding import default_place
from tests.tracing import calls_of


class Counter:
    """Counts how often the functions that it makes are traced."""

    def __init__(self) -> None:
        self.count = 0

    def function(self) -> Callable[..., Any]:
        def traced(x: Any, *static: Any) -> Any:
            self.count += 1
            return x

        return traced


@pytest.fixture
def counter() -> Counter:
    return Counter()


# What is shared.


def test_one_trace_per_signature(counter: Counter) -> None:
    f = jax.jit(counter.function())
    for x in (1.0, 2.0, -0.0):
        f(x)
    assert counter.count == 1
    for x in (np.float32(1), np.ones((), np.float32), np.float64(1), lax.add(np.float32(1), 1.0)):
        f(x)
    assert counter.count == 2
    for x in (1, True, 1j, np.ones(1, np.float32), {"x": 1.0}, (1.0,), [1.0]):
        f(x)
    assert counter.count == 9


def test_a_function_wrapped_again_shares(counter: Counter) -> None:
    f = counter.function()
    for _ in range(3):
        jax.jit(f)(1.0)
        jax.jit(f).lower(1.0).compile()(2.0)
        jax.jit(lambda x: jax.jit(f)(x))(1.0)
    assert counter.count == 1
    jax.jit(f, keep_unused=True)(1.0)
    assert counter.count == 2


def test_tracing_ahead_and_calling_share(counter: Counter) -> None:
    f = jax.jit(counter.function())
    f.trace(jax.ShapeDtypeStruct((3,), np.float32))
    f(np.ones(3, np.float32))
    jax.vmap(f)(np.ones((2, 3), np.float32))
    assert counter.count == 1


def test_new_functions_do_not_share(counter: Counter) -> None:
    for _ in range(2):
        jax.jit(counter.function())(1.0)
        jax.jit(partial(counter.function()))(1.0)
    assert counter.count == 4


def test_static_values_of_equal_hash_are_told_apart(counter: Counter) -> None:
    f = jax.jit(counter.function(), static_argnums=1)
    for value in (1, 1.0, True, np.int64(1), "a", "b", (1, 2), None):
        f(1.0, value)
        f(2.0, value)
    assert counter.count == 8


def test_configuration_that_shapes_programs(counter: Counter) -> None:
    f = jax.jit(counter.function())
    f(np.float32(1))
    with jax.enable_x64(True):
        f(np.float32(1))
        f(np.float64(1))
    assert counter.count == 3
    f(np.float32(1))
    with jax.log_compiles(True):
        f(np.float32(1))
    assert counter.count == 3


def test_an_executable_is_shared_by_calls_and_derivatives() -> None:
    f = jax.jit(lambda x: lax.sin(x))
    f(1.0)
    jaxpr = f.trace(1.0).jaxpr
    plan = plan_of(jaxpr, Options("f"), default_place())
    assert f.lower(1.0).compile().runtime_executable() is plan.runtime_executable()


def test_compilations_are_logged_on_request(caplog: pytest.LogCaptureFixture) -> None:
    def named(x: Any) -> Any:
        return x + 1

    jax.jit(named)(1.0)
    assert not caplog.records
    with jax.log_compiles(True):
        jax.jit(named)(1.0)
        jax.jit(named)(np.ones(3, np.float32))
    (text,) = caplog.messages
    assert text.startswith("compiled named(f32[3]) for CpuDevice(id=0) in ")


# Bound methods.


class Scale:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return self.scaled(x)

    def scaled(self, x: Any) -> Any:
        return x * self.factor

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x + 1


@dataclasses.dataclass(frozen=True)
class FrozenScale:
    factor: float

    def scaled(self, x: Any) -> Any:
        return x * self.factor


def traces(run: Callable[[], Any], function: Any = Scale.scaled) -> int:
    return calls_of(function.__code__, run)


def test_equal_bound_methods_share() -> None:
    scale, other = Scale(2.0), Scale(2.0)
    assert traces(lambda: [jax.jit(scale.scaled)(1.0) for _ in range(3)]) == 1
    assert traces(lambda: jax.jit(other.scaled)(1.0)) == 0
    assert traces(lambda: jax.jit(Scale(3.0).scaled)(1.0)) == 1
    of_class = Scale.of_class
    assert traces(lambda: [jax.jit(Scale.of_class)(1.0) for _ in range(3)], of_class) == 1


def test_equal_objects_share() -> None:
    results = [jax.jit(FrozenScale(f).scaled)(1.0) for f in (2.0, 3.0)]
    kept = FrozenScale(4.0)
    results += [jax.jit(FrozenScale(4.0).scaled)(1.0), jax.jit(kept.scaled)(1.0)]
    assert results == [2.0, 3.0, 4.0, 4.0]
    run = lambda: [jax.jit(kept.scaled)(1.0), jax.jit(FrozenScale(4.0).scaled)(1.0)]  # noqa: E731
    assert traces(run, FrozenScale.scaled) == 0


class Slotted:
    __slots__ = ("__weakref__", "factor")
    scaled = Scale.scaled


class PartlySlotted(Slotted):
    """Has a `__dict__` too, which does not hold all of its state."""


class Listed(list[Any]):
    scaled = Scale.scaled

    @property
    def factor(self) -> Any:
        return self[0]


def with_list(factor: Any) -> Any:
    listed = Listed([factor])
    return listed, lambda value: listed.__setitem__(0, value)


def with_attribute(owner: Any) -> Callable[[Any], Any]:
    def make(factor: Any) -> Any:
        owner.factor = factor
        return owner, lambda value: setattr(owner, "factor", value)

    return make


def with_array(factor: Any) -> Any:
    scale = Scale(np.full((), factor))
    return scale, lambda value: scale.factor.fill(value)


@pytest.mark.parametrize(
    "make",
    [
        with_attribute(Scale(0.0)),
        with_attribute(Slotted()),
        with_attribute(PartlySlotted()),
        with_list,
        with_array,
    ],
)
def test_a_changed_object_is_never_mistaken(make: Callable[[float], Any]) -> None:
    owner, change = make(2.0)
    assert jax.jit(owner.scaled)(1.0) == 2.0
    change(3.0)
    assert jax.jit(owner.scaled)(1.0) == 3.0
    change(True)
    assert jax.jit(owner.scaled)(3.0) == 3.0


def test_functions_as_attributes() -> None:
    def sine(x: Any) -> Any:
        return lax.sin(x)

    scale = Scale(2.0)
    scale.activation = sine  # type: ignore[attr-defined]
    assert traces(lambda: [jax.jit(scale.scaled)(1.0) for _ in range(3)]) == 1
    scale.activation = lambda x: x * scale.factor  # type: ignore[attr-defined]
    assert traces(lambda: [jax.jit(scale.scaled)(1.0) for _ in range(3)]) == 1
    scale.activation = iter([sine])  # type: ignore[attr-defined]
    assert traces(lambda: [jax.jit(scale.scaled)(1.0) for _ in range(3)]) == 3


# What is freed.


def jitted_with_weight() -> tuple[Any, list[weakref.ref[Any]]]:
    """A jitted function that closes over a large array, and weak references to both."""
    weight = jax.device_put(np.ones(40_000, np.float32))

    def function(x: Any) -> Any:
        return x + weight

    return jax.jit(function), [weakref.ref(function), weakref.ref(weight)]


def test_functions_constants_and_programs_are_freed() -> None:
    f, freed = jitted_with_weight()
    f(1.0)
    f.lower(1.0).compile()
    jax.vmap(f)(np.ones(2))
    freed.append(weakref.ref(f.trace(1.0).jaxpr))
    del f
    gc.collect()
    assert [x() for x in freed[:1]] == [None]
    jax.clear_caches()
    gc.collect()
    assert [x() for x in freed] == [None] * 3


def test_programs_kept_for_functions_made_anew_are_bounded() -> None:
    many = [jitted_with_weight() for _ in range(500)]  # of 160 kB each
    for f, _ in many:
        f.trace(1.0)
    weights = [freed[1] for _, freed in many]
    del f, many
    gc.collect()
    assert 300 < sum(weight() is not None for weight in weights) < 450
    assert weights[0]() is None


def test_objects_of_methods_are_freed() -> None:
    scale = Scale(2.0)
    jax.jit(scale.scaled)(1.0)
    freed = weakref.ref(scale)
    del scale
    gc.collect()
    assert freed() is None


def test_clear_caches(counter: Counter) -> None:
    f, g = jax.jit(counter.function()), jax.jit(Unhashable(counter))
    f(1.0), g(1.0)
    program = weakref.ref(f.trace(1.0).jaxpr)
    jax.clear_caches()
    gc.collect()
    assert program() is None
    f(1.0), g(1.0)
    assert counter.count == 4
    f.clear_cache()
    f(1.0)
    assert counter.count == 5


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, counter: Counter) -> None:
        self.counter = counter

    def __call__(self, x: Any) -> Any:
        self.counter.count += 1
        return x


def test_functions_that_cannot_be_hashed(counter: Counter) -> None:
    f = jax.jit(Unhashable(counter))
    assert f(1.0) == f(2.0) - 1
    assert counter.count == 1


# Threads.


def run_in_threads(work: Callable[[int], None], count: int = 8) -> None:
    """Run `work(0)`, `work(1)`, … at once; the first error is raised here."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def body(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_that_call_the_same_function() -> None:
    f = jax.jit(lambda x: jax.jit(lambda y: lax.sin(y) * 2)(x) + 1)
    g = jax.jit(jax.grad(lambda x: f(x) * f(x)))

    def work(number: int) -> None:
        for i in range(40):
            x = np.full(i % 5 + 1, number, np.float32)
            np.testing.assert_allclose(f(x), 2 * np.sin(x) + 1, rtol=1e-5)
            y = 2 * np.sin(number) + 1
            np.testing.assert_allclose(g(float(number)), 4 * y * np.cos(number), rtol=1e-4)

    run_in_threads(work)
    assert f._cache_size() == 6


def test_threads_that_wrap_and_clear() -> None:
    def shared(x: Any) -> Any:
        return x + 1

    def work(number: int) -> None:
        def own(x: Any) -> Any:
            return shared(x) * number

        for i in range(10):
            assert jax.jit(shared)(float(i)) == i + 1
            assert jax.jit(own)(float(i)) == (i + 1) * number
            assert jax.jit(Scale(number).scaled)(float(i)) == i * number
            if i % 4 == number % 4:
                jax.clear_caches()

    run_in_threads(work)


def test_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compilations = []
    original = Executable.compile

    def counted(*args: Any) -> Any:
        compilations.append(args)
        return original(*args)

    monkeypatch.setattr(Executable, "compile", counted)
    # XLA's compilations are counted.
    f = jax.jit(lambda x: x * 3, compiler_options={"jax_cpu_engine": "xla"})
    f.trace(1.0)
    run_in_threads(lambda number: np.testing.assert_array_equal(f(float(number)), 3 * number))
    assert len(compilations) == 1


def test_configuration_of_one_thread() -> None:
    f = jax.jit(lambda x: x)

    def work(number: int) -> None:
        with jax.enable_x64(number % 2 == 0):
            for _ in range(50):
                assert f(1.0).dtype == (np.float64 if number % 2 == 0 else np.float32)

    run_in_threads(work)
