"""The warm call of a jitted function: what it computes, and that it leaves Python out of it."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.util.compiled import part

from ..tracing import calls_of, python_calls, work_of

compiled_only = pytest.mark.skipif(part("calls") is None, reason="measures the compiled core")
x = jnp.arange(3.0)


CALLS = {
    "array": (lambda a: a + 1.0, (x,), {}),
    "tree": (lambda t: jax.tree.map(lambda v: v * 2, t), ({"b": x, "a": [x, (x, None)]},), {}),
    "keyword": (lambda a, *, b: a - b, (x,), {"b": x}),
    "constants": (lambda a: a + jnp.arange(30_000.0)[:3], (x,), {}),
    "unused": (lambda a, b: b * 2, (x, x), {}),
    "nothing": (lambda: jnp.ones(2), (), {}),
}


@compiled_only
@pytest.mark.parametrize("name", CALLS)
def test_a_warm_call_runs_no_python(name: str) -> None:
    function, args, kwargs = CALLS[name]
    f = jax.jit(function)
    for _ in range(2):
        f(*args, **kwargs)
    assert python_calls(lambda: f(*args, **kwargs)) == 0


@compiled_only
def test_static_arguments_run_no_python() -> None:
    f = jax.jit(
        lambda a, n, *, flag: a * n if flag else a, static_argnums=1, static_argnames="flag"
    )
    for _ in range(2):
        f(x, 3, flag=True)
    assert python_calls(lambda: f(x, 3, flag=True)) == 0


@compiled_only
def test_the_work_of_a_call_does_not_grow_with_its_leaves() -> None:
    f = jax.jit(lambda leaves: [leaf + 1.0 for leaf in leaves])
    works = []
    for count in (1, 50):
        leaves = [x] * count
        f(leaves)
        f(leaves)
        works.append(work_of(partial(f, leaves)))
    assert works[0] == works[1]


@pytest.mark.parametrize("name", CALLS)
def test_warm_calls_compute_the_same(name: str) -> None:
    function, args, kwargs = CALLS[name]
    f = jax.jit(function)
    expected = function(*args, **kwargs)
    for _ in range(3):
        result = f(*args, **kwargs)
        assert jax.tree.structure(result) == jax.tree.structure(expected)
        for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.aval == b.aval


def test_one_program_for_each_signature() -> None:
    traced = []

    def function(a: Any, n: Any = None) -> Any:
        traced.append(n)
        return a

    f = jax.jit(function, static_argnames="n")
    operands = [x, x.astype(int), jnp.ones((3, 1)), 1.0, 1, True, 1j, np.ones(3, np.float32), [x]]
    for _ in range(3):
        for operand in operands:
            f(operand)
    # A NumPy array is an argument like an array of its shape and dtype.
    assert len(traced) == len(operands) - 1
    for value in (1, 1.0, True, "1", (1,), (1.0,)):
        for _ in range(3):
            f(x, n=value)
    assert len(traced) == len(operands) - 1 + 6  # (1,) and (1.0,) are equal, but not the same


def test_settings_make_other_programs() -> None:
    f = jax.jit(lambda a: a + 1)
    assert f(1).dtype == f(1).dtype == np.int32
    with jax.enable_x64(True):
        assert f(1).dtype == f(1).dtype == np.int64
    assert f(1).dtype == np.int32
    with jax.disable_jit():
        assert f("a" and x).shape == (3,)


def test_a_call_in_another_trace_is_part_of_it() -> None:
    f = jax.jit(lambda a: a * 3.0)
    f(x)
    f(x)
    assert "jit" in str(jax.make_jaxpr(lambda a: f(a) + f(a))(x))
    np.testing.assert_array_equal(jax.grad(lambda a: f(a).sum())(x), np.full(3, 3.0))
    np.testing.assert_array_equal(jax.vmap(f)(jnp.ones((2, 3))), np.full((2, 3), 3.0))
    assert jax.vmap(f, axis_name="i")(jnp.ones((2, 3))).shape == (2, 3)


def test_results_are_committed_as_the_operands(two_devices: list[Any]) -> None:
    f = jax.jit(lambda a, b: a + b)
    there = jax.device_put(x, two_devices[1])
    for _ in range(3):
        assert not f(x, x).committed
        assert f(x, there).committed
        assert f(x, there).device == two_devices[1]
        assert f(jax.device_put(x, two_devices[0]), x).device == two_devices[0]
        with pytest.raises(ValueError, match="committed to one device"):
            f(jax.device_put(x, two_devices[0]), there)


def test_deleted_operands() -> None:
    f = jax.jit(lambda a: a + 1)
    gone = jnp.ones(3)
    f(gone)
    f(gone)
    gone.delete()
    with pytest.raises(RuntimeError, match=r"delete\(\) was called"):
        f(gone)


def test_donated_operands() -> None:
    f = jax.jit(lambda a, b: a + b, donate_argnums=0)
    for _ in range(4):
        given, kept = f(jnp.ones(3), x), jnp.ones(3)
        f(given, kept)
        assert given.is_deleted()
        assert not kept.is_deleted()
        with pytest.raises(RuntimeError, match="it was donated to"):
            given + 1
    with pytest.raises(ValueError, match="donated arrays that are passed once"):
        f(kept, kept)
    other = kept.clone()
    f(kept, x)
    assert kept.is_deleted()
    np.testing.assert_array_equal(other, np.ones(3))


def test_what_cannot_be_an_argument() -> None:
    f = jax.jit(lambda a: a)
    for _ in range(2):
        f(x)
        with pytest.raises(TypeError, match="argument a"):
            f("text")
        with pytest.raises(TypeError):
            f()
    g = jax.jit(lambda a, n: a, static_argnums=1)
    g(x, 1)
    with pytest.raises(ValueError, match="static argument n"):
        g(x, [1])


def test_programs_are_forgotten() -> None:
    count = 0

    def function(a: Any) -> Any:
        nonlocal count
        count += 1
        return a + 1

    f = jax.jit(function)
    for expected in (1, 2, 3):
        f(x)
        f(x)
        assert count == expected
        f.clear_cache() if expected == 1 else jax.clear_caches()


def test_a_function_and_its_programs_are_collected() -> None:
    class Weight:
        pass

    weight = Weight()

    def function(a: Any) -> Any:
        return a + 1

    function.weight = weight  # type: ignore[attr-defined]
    f = jax.jit(function)
    function.f = f  # type: ignore[attr-defined]
    f(x)
    f(x)
    reference = weakref.ref(weight)
    del weight, f, function
    gc.collect()
    assert reference() is None


def test_references_of_operands_and_results() -> None:
    f = jax.jit(lambda a, b: (a + b, b))
    a, b = jnp.ones(3), jnp.ones(3)
    counts = []
    for _ in range(4):
        for _ in range(10):
            f(a, b)
            f(a, 2.0)
        counts.append([sys.getrefcount(value) for value in (a, b, a.aval, a.place, x)])
    assert counts[1] == counts[2] == counts[3]


def test_a_call_in_the_course_of_a_call() -> None:
    """A class whose flattening calls the function again, and clears its programs."""

    class Nested:
        inner: Any = None

    def flatten(node: Nested) -> Any:
        if node.inner is not None:
            f(node.inner)
            f.clear_cache()
        return (x,), None

    jax.tree_util.register_pytree_node(Nested, flatten, lambda _, children: Nested())
    f = jax.jit(lambda node: jax.tree.leaves(node)[0] * 2)
    outer = Nested()
    outer.inner = Nested()
    for _ in range(5):
        np.testing.assert_array_equal(f(outer), [0, 2, 4])


def test_threads_call_and_clear() -> None:
    f = jax.jit(lambda a, n: a * n, static_argnums=1)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(60):
                assert f(x, i % 3)[1] == i % 3
                if number == 0 and i % 20 == 0:
                    f.clear_cache()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_bound_method() -> None:
    class Model:
        scale = 2.0

        @jax.jit
        def __call__(self: Any, a: Any) -> Any:
            return a * 2.0

    jax.tree_util.register_static(Model)
    model = Model()
    for _ in range(3):
        np.testing.assert_array_equal(model(x), [0, 2, 4])


@compiled_only
def test_the_twin_sees_new_signatures_only() -> None:
    f = jax.jit(lambda a: a + 1)
    find = type(f)._signature_of.__code__
    assert calls_of(find, lambda: f(x)) == 1
    assert calls_of(find, lambda: f(x)) == 0


NUMBERS = [0.0, -0.0, 1.5, float("inf"), 0, 1, -7, True, False, 2**31 - 1]


@compiled_only
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_passed_again_runs_no_python(number: Any) -> None:
    f = jax.jit(lambda a, n: a * n)
    for _ in range(2):
        f(x, number)
    # What tells the aval of the number.
    assert python_calls(lambda: f(x, number)) <= 3


def test_numbers_keep_their_sign_type_and_width() -> None:
    """Each twice: those passed before come from a table."""
    f = jax.jit(lambda n: (n, jnp.signbit(jnp.float32(n))))
    for number in NUMBERS * 2:
        result, sign = f(number)
        assert result.dtype == jnp.asarray(number).dtype
        assert result.item() == number
        assert bool(sign) == bool(np.signbit(np.float32(number)))
    assert np.isnan(f(float("nan"))[0])
    with pytest.raises(OverflowError):
        f(2**40)
    with jax.enable_x64(True):
        assert f(1.5)[0].dtype == np.float64
        assert f(2**40)[0].item() == 2**40
    assert f(1.5)[0].dtype == np.float32


def test_a_number_may_be_given_away_and_deleted() -> None:
    same, doubled = jax.jit(lambda n: n), jax.jit(lambda n: n * 2.0, donate_argnums=0)
    for _ in range(3):
        result = same(2.5)
        assert result.item() == 2.5
        result.delete()
        assert doubled(2.5).item() == 5.0
        jax.clear_caches()


def test_numbers_are_guarded_each_time() -> None:
    f = jax.jit(lambda n: n * 2.0)
    f(3.5)
    for _ in range(2):
        with jax.transfer_guard("disallow"), pytest.raises(RuntimeError, match="host-to-device"):
            f(3.5)
    assert f(3.5).item() == 7.0


@compiled_only
@pytest.mark.parametrize("name", CALLS)
def test_a_warm_call_of_a_stage_runs_no_python(name: str) -> None:
    function, args, kwargs = CALLS[name]
    stage = jax.jit(function).lower(*args, **kwargs).compile()
    expected = jax.tree.map(np.asarray, stage(*args, **kwargs))
    jax.tree.map(np.testing.assert_array_equal, stage(*args, **kwargs), expected)
    assert python_calls(lambda: stage(*args, **kwargs)) == 0


def test_a_stage_takes_arguments_of_its_signature_only() -> None:
    stage = jax.jit(lambda d, n: d["a"] * n).lower({"a": x}, 1.0).compile()
    for _ in range(2):
        assert stage({"a": x}, 2.0).tolist() == stage({"a": np.asarray(x)}, jnp.float32(2)).tolist()
        assert stage.call({"a": x}, 2.0).tolist() == [0.0, 2.0, 4.0]
        with pytest.raises(TypeError, match="structure"):
            stage([x], 2.0)
        with pytest.raises(TypeError, match="float32"):
            stage({"a": x}, 2)
        with pytest.raises(TypeError, match="cannot be transformed"):
            jax.jit(lambda y: stage({"a": y}, 2.0))(x)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        stage({"a": x}, float("nan"))


def test_a_stage_and_its_program_are_collected() -> None:
    def alive() -> int:
        gc.collect()
        return sum(type(thing) is jax.stages.Compiled for thing in gc.get_objects())

    before = alive()
    stage = jax.jit(lambda a: a + 2.0).lower(x).compile()
    for _ in range(3):
        stage(x)
    assert alive() == before + 1
    del stage
    assert alive() == before
