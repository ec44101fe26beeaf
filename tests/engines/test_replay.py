"""Eager calls that replay kernels: as the functions themselves, in value, type and errors."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.groups import function_calls
from morphax import lax
from morphax.config import override
from morphax.core import apply_jaxpr, aval_of, stage, stage_closed
from morphax.engines.reference import fusion
from morphax.engines.reference.kernel_program import kernel_program
from morphax.engines.reference.replay import replayed
from morphax.engines.reference.views import copied, view_of
from tests.descriptions import described
from tests.tracing import calls_of, work_of

X = jnp.arange(-3.0, 3.0)
SPECIAL = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1, -1, 0.5, 2, 1e-40, 3e38, -2.5], np.float32)
N = jnp.arange(-3, 4)
CALLS: dict[str, Callable[[], Any]] = {
    "sum": lambda: jnp.sum(X),
    "sum of axes": lambda: jnp.sum(X.reshape(2, 3), (0, 1), keepdims=True),
    "sum of bool": lambda: jnp.sum(X > 0),
    "sum of bfloat16": lambda: jnp.sum(X.astype(jnp.bfloat16)),
    "mean": lambda: jnp.mean(N),
    "max": lambda: jnp.max(X, axis=-1),
    "var": lambda: jnp.var(X, ddof=1),
    "where": lambda: jnp.where(X > 0, X, 0.0),
    "where of scalars": lambda: jnp.where(N > 0, 1, 0),
    "softmax": lambda: jax.nn.softmax(X),
    "floor_divide": lambda: N // 2,
    "floor_divide by zero": lambda: N // 0,
    "remainder": lambda: 7 % N,
    "dot": lambda: jnp.dot(X, X),
    "matmul": lambda: X.reshape(2, 3) @ X.reshape(3, 2),
    "add": lambda: X + 1.0,
    "add of bool": lambda: (N > 0) + (N > 1),
    "narrow and large": lambda: N.astype(jnp.int8) + 100,
    "promotion": lambda: N[:6].astype(jnp.int8) * X,
    "less": lambda: N < 2,
    "int4": lambda: jnp.sum(N.astype(jnp.int4)),
    "argmax": lambda: jnp.argmax(X),
    "argsort": lambda: jnp.argsort(X * X, descending=True),
    "sort with NaN": lambda: jnp.sort(jnp.array([2.0, jnp.nan, -0.0, 0.0, -1.0])),
    "cumsum": lambda: jnp.cumsum(N),
    "outer": lambda: jnp.outer(X, N),
    "take": lambda: jnp.take(X, jnp.array([0, -1, 9])),
    "clip by name": lambda: jnp.clip(X, min=-1.0, max=N[:6]),
    "tril": lambda: jnp.tril(jnp.ones((3, 4)), 1),
    "linspace": lambda: jnp.linspace(0.0, 1.0, 7),
    "roll": lambda: jnp.roll(X, 2),
    "isclose": lambda: jnp.isclose(X, X + 1e-7, atol=1e-3),
    "norm": lambda: jnp.linalg.norm(X),
    "round": lambda: jnp.round(X / 3, 1),
    "softplus": lambda: jax.nn.softplus(X),
    "a derivative of its own": lambda: jax.scipy.special.ndtri(X / 7 + 0.5),
    "gelu": lambda: jax.nn.gelu(X, approximate=False),
    "leaky_relu": lambda: jax.nn.leaky_relu(X, 0.3),
    "one_hot": lambda: jax.nn.one_hot(N, 4),
    "bits": lambda: jax.random.bits(jax.random.key(1), (5,)),
    "normal": lambda: jax.random.normal(jax.random.key(1), (5,)),
    "uniform": lambda: jax.random.uniform(jax.random.key(1), (5,), minval=-2.0),
    "split": lambda: jax.random.key_data(jax.random.split(jax.random.key(1), 3)),
    "random of a raw key": lambda: jax.random.normal(jax.random.PRNGKey(1), (5,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_replayed_calls_agree_with_single_operations(name: str) -> None:
    call = CALLS[name]
    first, second = call(), call()
    # The debugging of NaNs watches each operation, so functions themselves run.
    with override(debug_infs=True):
        alone = call()
    for result in (first, second):
        assert result.aval is alone.aval
        np.testing.assert_array_equal(np.asarray(result), np.asarray(alone))


@pytest.mark.parametrize("part", range(4))
def test_first_calls_have_the_bits_of_later_ones(part: int) -> None:
    """Of each public function: first one operation after the other, then staged, then replayed."""
    names = function_calls.namespace(jax, 54, 7)
    for name, x in function_calls.operands(54, 7).items():
        special = np.resize(SPECIAL, x.shape) if name in ("x", "y") else x
        names[name] = jnp.asarray(np.roll(special, len(name)))
    names["y"] = jnp.roll(names["y"], 5)
    for text in function_calls.calls()[part::4]:
        if "rng_uniform" in text:
            continue  # It gives other numbers each time.
        call = eval(f"lambda: {text}", names)
        with override(replay_first_calls=False):
            first, *others = [described(call()) for _ in range(3)]
        assert others == [first, first], text


def test_a_program_is_made_at_the_second_call_of_few_numbers() -> None:
    staged: list[Any] = []

    @replayed(1)
    def shifted(x: Any, by: Any = 1.0, shape: Any = ()) -> Any:
        staged.append(isinstance(x, jax.core.Tracer))
        return jnp.broadcast_to(jnp.add(x, by) * 2.0, shape or jnp.shape(x))

    def made(call: Callable[[], Any], calls: int = 3) -> list[bool]:
        staged.clear()
        for _ in range(calls):
            call()
        return list(staged)

    with override(replay_first_calls=False):
        assert made(lambda: shifted(X)) == [False, True]
        assert made(lambda: shifted(X, -1.0)) == [False, True]
        # Many numbers, or what may be their size: what lies between would take memory.
        assert made(lambda: shifted(jnp.ones(5000))) == [True]
        assert made(lambda: shifted(1.0, 1.0, (1000, 1000))) == [True]
        assert made(lambda: shifted(1.0, 1.0, (np.int64(10**6),))) == [True]
        with override(enable_x64=True):
            assert made(lambda: shifted(X)) == [False, True]
    assert made(lambda: shifted(X, 3.0)) == [True]


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint64"])
def test_calls_with_arrays_of_numpy_are_replayed(dtype: str) -> None:
    staged: list[Any] = []

    @replayed(2, ("weights",))
    def summed(x: Any, y: Any, weights: Any = None) -> Any:
        staged.append(x)
        total = jnp.add(x, y) * 2.0
        return total if weights is None else total * jnp.asarray(weights)

    x = np.arange(3).astype(dtype)
    for call in (lambda: summed(x, x), lambda: summed(x, 1.0), lambda: summed(1.0, 2.0, weights=x)):
        staged.clear()
        first, second, third = call(), call(), call()
        assert len(staged) == 1  # traced once, and never run
        assert first.aval == second.aval == third.aval
        np.testing.assert_array_equal(first, third)


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [
        *[(dtype, 200) for dtype in ("bool", "uint8", "float16", "float64", "complex128")],
        *[("int64", n) for n in (200, 2**31 - 1, -(2**31), 2**40 + 3, -(2**63))],
    ],
)
@pytest.mark.parametrize("x64", [True, False])
def test_arrays_of_numpy_are_what_they_are_to_each_function(
    dtype: str, largest: int, x64: bool
) -> None:
    x = np.array([[0, 1, largest], [7, 1, 0]]).astype(dtype)
    functions: list[Callable[..., Any]] = [
        lambda x: jnp.add(x, x),
        lambda x: jnp.where(x > 1, x, 0),
        lambda x: jnp.sum(x, axis=1, where=x != 0),
        lambda x: jnp.reshape(x, (3, 2)),
        lambda x: jnp.dot(x, x[0]),
        lambda x: jnp.sort(x, 1),
    ]
    with override(enable_x64=x64):
        for function in functions:
            alone = function(jnp.asarray(x))
            for _ in range(3):
                found = function(x)
                assert found.aval == alone.aval
                np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("x64", [True, False])
def test_numpys_arrays_without_axes_are_what_they_are_to_each_function(
    dtype: str, x64: bool
) -> None:
    functions = jnp.add, jnp.hypot, jnp.maximum, jnp.power, jnp.floor_divide, jnp.where, jnp.clip
    with override(enable_x64=x64):
        operands = [jnp.asarray(v, t) for v in (2, [1, 3]) for t in ("int8", "float16", "float32")]
        for function, x in itertools.product(functions, operands):
            if dtype == "complex64" and function in (jnp.hypot, jnp.floor_divide, jnp.clip):
                continue
            for number in (2.5, -0.0, 1e30):
                with np.errstate(over="ignore"):
                    y = np.array(min(number, 99) if dtype == "int32" else number).astype(dtype)
                given = (x > 1, x, y) if function is jnp.where else (x, y)
                alone = inspect.unwrap(function)(*given)
                for _ in range(3):
                    found = function(*given)
                    assert found.aval == alone.aval
                    np.testing.assert_array_equal(found, alone)


def test_numbers_of_numpys_arrays_are_rounded_once() -> None:
    """To the dtype that is asked for; and a known exponent is one."""
    third, large = np.array([1.00048828125 + 2.0**-30]), np.array([2**40 + 3])
    for _ in range(3):
        assert jnp.full((1,), third, jnp.float16) == third.astype(np.float16)
        assert jnp.full((1,), large, jnp.float32) == large.astype(np.float32)
        assert jnp.power(jnp.arange(3), np.array(2)).dtype == np.int32
        x = jnp.ones(1, jnp.float16)
        assert jnp.add(x, third).dtype == np.float32


def test_later_changes_of_numpys_arrays_change_no_result() -> None:
    for function in (jnp.ravel, jnp.transpose, jnp.squeeze, jnp.flip, jnp.positive, jnp.real):
        x = np.arange(4, dtype=np.float32)
        results = [function(x) for _ in range(3)]
        x += 1
        for result in results:
            assert sorted(result.tolist()) == [0, 1, 2, 3]


def test_other_arrays_of_numpy_are_given_to_the_function() -> None:
    """Large ones, whose copy would take longer than the function, and subclasses."""
    seen: list[Any] = []

    @replayed(1)
    def first(x: Any) -> Any:
        seen.append(type(x))
        return jnp.asarray(x).ravel()[0]

    class Own(np.ndarray[Any, Any]):
        pass

    for x in (np.ones(5000, np.float32), np.ones(2).view(Own)):
        seen.clear()
        assert [first(x).item() for _ in range(2)] == [1, 1]
        assert seen == [type(x)] * 2


def test_what_a_first_call_calls_is_not_noted() -> None:
    staged: list[Any] = []

    @replayed(1)
    def inner(x: Any) -> Any:
        staged.append(isinstance(x, jax.core.Tracer))
        return x + 1.0

    @replayed(1)
    def outer(x: Any) -> Any:
        return inner(inner(x)) * 2.0

    with override(replay_first_calls=False):
        assert outer(X).tolist() == (2 * (np.asarray(X) + 2)).tolist()
        assert staged == [False, False]
        inner(X)
        assert staged == [False, False, False]
        inner(X)
        assert staged == [False, False, False, True]


def test_a_first_call_that_fails_leaves_nothing_behind() -> None:
    with override(replay_first_calls=False):
        for _ in range(3):
            with pytest.raises(TypeError, match="broadcast together"):
                jnp.hypot(jnp.ones(2), jnp.ones(3))
        assert jnp.hypot(jnp.full(7, 3.0), jnp.full(7, 4.0)).tolist() == [5.0] * 7


def test_a_signature_is_traced_once() -> None:
    calls = 0

    @replayed(1)
    def double(x: Any, factor: float = 2.0) -> Any:
        nonlocal calls
        calls += 1
        return x * factor

    assert double(X).tolist() == double(X).tolist() == (2 * np.asarray(X)).tolist()
    assert calls == 1
    assert float(double(3.0)) == 6.0
    assert calls == 2
    # Static values that are equal, but of different types or signs, are different.
    assert double(N, 1).dtype == jnp.int32
    assert double(N, True).dtype == jnp.int32
    assert double(N, 1.0).dtype == jnp.float32
    assert calls == 5


def test_arguments_that_are_no_keys_are_not_remembered() -> None:
    mask = jnp.array([True, False, True])
    for _ in range(2):
        assert int(jnp.sum(jnp.arange(3), where=mask)) == 2
        assert int(jnp.sum(jnp.ones((2, 2)), axis=[0, 1])) == 4


def test_the_sign_of_a_static_zero_counts() -> None:
    empty, zero = jnp.ones(0), jnp.array([-0.0])
    for sign in (0.0, -0.0):
        for reduce, x in ((jnp.sum, empty), (jnp.max, zero), (jnp.prod, empty + 1.0)):
            alone = np.signbit(jax.jit(lambda x, r=reduce, s=sign: r(x, initial=s))(x))
            assert np.signbit(reduce(x, initial=sign)) == alone


def test_numbers_that_are_no_operands() -> None:
    """They belong to the program, 0.0 and -0.0 to two; NaN, which equals nothing, to none."""

    @replayed(1)
    def filled(x: Any, value: float) -> Any:
        return jnp.full_like(x, value)

    for value in (0.5, 0.0, -0.0, np.inf, np.nan) * 2:
        got = np.asarray(filled(X, value))
        np.testing.assert_array_equal(got, np.full_like(X, value))
        assert np.signbit(got).all() == np.signbit(value)


def test_calls_that_return_several_arrays() -> None:
    for _ in range(2):
        points, step = jnp.linspace(0.0, 1.0, 5, retstep=True)
        assert points.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert float(step) == 0.25


def test_iteration() -> None:
    x = jnp.arange(150.0).reshape(75, 2)
    assert [row.tolist() for row in x] == x.tolist()
    assert [row.tolist() for row in x[:3]] == x[:3].tolist()
    assert list(jnp.ones((0, 3))) == []
    assert next(iter(x)).tolist() == [0.0, 1.0]


def test_what_depends_on_no_operand_is_computed_once() -> None:
    jaxpr = jax.make_jaxpr(lambda x: jnp.where(jnp.tri(3, dtype=bool), x, 0.0))(jnp.ones((3, 3)))
    program = kernel_program(jaxpr.jaxpr)
    assert program is not None
    names = program.function.__code__.co_names
    assert sum(name.startswith("k") for name in names) == 1


def test_integers_that_do_not_fit_are_refused_each_time() -> None:
    x = jnp.zeros(2, jnp.int8)
    for _ in range(2):
        with pytest.raises(OverflowError):
            x + 300


def test_tangents_of_integers_are_moved_each_time() -> None:
    x = np.zeros((3, 4), jax.float0)
    for _ in range(3):
        assert jnp.roll(x, 1).shape == (3, 4)
        assert jnp.repeat(x, 2).shape == (24,)


def test_errors_are_those_of_the_function() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="broadcast together") as info:
            jnp.ones(2) + jnp.ones(3)
        assert info.value.__cause__ is None


def test_errors_of_later_calls_speak_of_what_was_given() -> None:
    refused: list[Callable[[], Any]] = [
        lambda: jnp.i0(jnp.ones(2, jnp.complex64)),
        lambda: jnp.lexsort(1),
        lambda: jnp.ones(2) + jnp.ones(3),
        lambda: jnp.linalg.det(jnp.ones((2, 3))),
    ]
    for call in refused:
        texts = set()
        for _ in range(3):
            with pytest.raises((TypeError, ValueError)) as info:
                call()
            texts.add(str(info.value))
        (text,) = texts
        assert "trace" not in text


def test_transformations_run_the_function() -> None:
    text = str(jax.make_jaxpr(lambda x: jnp.sum(x, axis=0))(X))
    assert "reduce_sum[axes=(0,)" in text
    assert jax.grad(lambda x: jnp.sum(x * x))(X).tolist() == (2 * X).tolist()
    assert jax.vmap(jnp.sum)(X.reshape(2, 3)).tolist() == X.reshape(2, 3).sum(1).tolist()


def test_committed_arrays_stay_where_they_are() -> None:
    x = jax.device_put(X, jax.devices("cpu")[0])
    assert (x + x).committed
    assert jnp.sum(x).committed
    assert not jnp.sum(X).committed


def test_a_program_has_constants_and_literals() -> None:
    table = np.arange(6, dtype=np.float32)
    jaxpr = jax.make_jaxpr(lambda x: (x + jnp.asarray(table)) * 2.0 + 1.0)(X).jaxpr
    program = kernel_program(jaxpr)
    assert program is not None
    assert program([np.asarray(X)]).tolist() == ((np.asarray(X) + table) * 2 + 1).tolist()


def test_large_programs_drop_what_no_later_operation_needs() -> None:
    table = jnp.arange(40_000.0)

    def function(x: Any) -> Any:
        y = x + table
        return (y * y) - y * table + jnp.sum(y)

    jaxpr = jax.make_jaxpr(function)(table).jaxpr
    program = kernel_program(jaxpr)
    assert program is not None
    for _ in range(2):
        np.testing.assert_array_equal(program([np.asarray(table)]), function(table))


def test_results_of_compiled_programs_are_operands() -> None:
    unread = jax.jit(lambda x: x * 2.0)(X)
    assert jnp.std(unread).tolist() == jnp.std(2.0 * X).tolist()
    deleted = jax.jit(lambda x: x * 2.0)(X)
    deleted.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jnp.std(deleted)


def test_programs_of_their_own_kind_are_not_turned_into_kernels() -> None:
    jaxpr, _ = stage(lambda x: [jax.jit(jnp.sin)(x)], [X.aval])
    assert kernel_program(jaxpr) is None


def test_the_work_of_warm_calls() -> None:
    """Calls of functions per eager operation: a promise without a clock."""
    most = {
        "add": 40, "less": 40, "sum": 30, "mean": 35, "where": 85, "softmax": 60, "dot": 35,
    }  # fmt: skip
    for name, limit in most.items():
        CALLS[name]()
        assert work_of(CALLS[name]) <= limit, name
    assert calls_of(stage.__code__, CALLS["softmax"]) == 0


def test_a_function_of_no_operands() -> None:
    """Its program takes nothing and returns nothing, which must still be a program."""
    for _ in range(3):
        assert jnp.atleast_2d() == jnp.atleast_3d() == []


def test_scalars_are_constants_of_a_loop_that_numpy_runs() -> None:
    """What stands in for the loop takes operands only."""
    exponents = jnp.array([1, 2, 5])
    for base in (2, np.int32(2), True, np.uint8(2)):
        for _ in range(3):
            np.testing.assert_array_equal(base**exponents, int(base) ** np.array([1, 2, 5]))
    np.testing.assert_array_equal(jnp.gcd(np.int32(4), jnp.array([6, 8])), [2, 4])


def test_what_depends_on_no_operand_is_kept_if_it_is_small() -> None:
    runs: list[int] = []

    @replayed(0)
    def table(n: int, dtype: Any = int) -> Any:
        runs.append(n)
        return jnp.asarray(np.eye(n), dtype)

    for _ in range(3):
        for kind in (jnp.int32, jnp.float32):
            found = table(4, kind)
            assert found.dtype == kind
            np.testing.assert_array_equal(found, np.eye(4))
        np.testing.assert_array_equal(table(200), np.eye(200))
    # Of 200 it is staged once, for its size, and then made each time.
    assert runs == [4, 4, 200, 200, 200, 200]
    kept = table(4, jnp.float32)
    jax.jit(lambda x: x + 1, donate_argnums=0)(kept)
    kept.delete()
    np.testing.assert_array_equal(table(4, jnp.float32), np.eye(4))


def test_what_follows_from_constants_is_computed_once() -> None:
    weights = jnp.arange(64.0).reshape(8, 8)

    def scaled(x: Any) -> Any:
        normed = weights / weights.sum(0)
        return x @ jnp.exp(normed)

    x = jnp.arange(8.0)
    program = kernel_program(stage_closed(lambda x: [scaled(x)], [x.aval]))
    assert program is not None
    space = program.function.__globals__
    assert len([name for name in space if name.startswith("k")]) == 1  # The product.
    assert len([name for name in space if name.startswith("c")]) <= 2  # What it reads.
    np.testing.assert_array_equal(program([np.asarray(x)]), scaled(x))


@pytest.mark.skipif(fusion.native is None, reason="all slices are copies")
def test_slices_that_only_exact_operations_read_are_no_copies() -> None:
    x = np.linspace(-3, 5, 5000, dtype=np.float32)
    x[[0, 7, 4999]] = np.nan, -0.0, np.inf
    a = x.reshape(50, 100)
    for call, given, copies in (
        (lambda v: [v[1:] - v[:-1]], x, 0),
        (lambda v: [v[2:] * v[2:]], a, 0),
        (lambda v: [v[:, 1:] - v[:, :-1]], a, 2),
        (lambda v: [v[::2] - v[1::2]], x, 2),
        (lambda v: [lax.sin(v[1:])], x, 1),
        (lambda v: [v[1:] - v[:-1], v[1:]], x, 1),
        (lambda v: [lax.convert_element_type(v[1:], np.int32)], x, 1),
    ):
        jaxpr = stage_closed(call, [aval_of(jnp.asarray(given))])
        program = kernel_program(jaxpr, list)
        assert program is not None
        results = [np.asarray(r) for r in program([given])]
        singly = [np.asarray(r) for r in apply_jaxpr(jaxpr, jnp.asarray(given))]
        for result, single in zip(results, singly, strict=True):
            assert result.tobytes() == single.tobytes()
            assert not np.shares_memory(result, given)
        slices = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "slice"]
        to_copy = copied(jaxpr)
        assert sum([view_of(eqn, to_copy) is None for eqn in slices]) == copies


def test_negative_integers_count_by_their_values() -> None:
    x, bits = jnp.arange(5.0), jnp.arange(5, dtype=jnp.uint8)
    calls: dict[str, tuple[Callable[[], Any], Any]] = {
        "sum": (lambda: x + -1, np.arange(5.0) - 1),
        "another sum": (lambda: x + -2, np.arange(5.0) - 2),
        "product": (lambda: -3 * N, np.arange(-3, 4) * -3),
        "narrow": (lambda: N.astype(jnp.int8) * -128, (np.arange(-3, 4) * -128).astype(np.int8)),
        "choice": (lambda: jnp.where(x > 2, x, -128), [-128, -128, -128, 3, 4]),
        "limits": (lambda: jnp.clip(N, -2, 1), [-2, -2, -1, 0, 1, 1, 1]),
        "of many": (lambda: jnp.clip(jnp.arange(-3.0, 3000), -2, 1)[:3], [-2, -2, -1]),
        "members": (lambda: jnp.stack([x[0], -1]), [0, -1]),
    }
    for name, (call, expected) in calls.items():
        for _ in range(3):
            result = call()
            np.testing.assert_array_equal(result, expected, name)
        with override(debug_infs=True):
            assert result.aval is call().aval, name
    for _ in range(3):
        # No array of this dtype holds it.
        with pytest.raises(OverflowError):
            bits + -1
        assert jnp.clip(bits, -1, 3).tolist() == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("options", [{}, {"size": 4}, {"size": 9, "fill_value": 7}, {"axis": 0}])
def test_different_elements_are_found_between_two_programs(options: dict[str, Any]) -> None:
    """How many there are is a number; what comes before and after is replayed."""
    for x in (N[jnp.array([3, 1, 3, 0, 1, 5])], jnp.array([[2.0, jnp.nan], [2.0, 1.0]])):
        calls = [
            lambda x=x: jnp.unique(x, **options),
            lambda x=x: jnp.unique(x, True, True, True, **options),
        ]
        for call in calls:
            with override(debug_infs=True):
                alone = described(call())
            assert [described(call()) for _ in range(3)] == [alone] * 3
