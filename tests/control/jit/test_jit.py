"""`jit`: values, static and donated arguments, inlining, closures, kinds of arguments."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.array import Array
from morphax.core import Jaxpr
from morphax.runtime.devices import default_device

# Results are written into donated memory by XLA; our own engine gives it back to the pool.
BY_XLA = {"jax_cpu_engine": "xla"}


def ones(*shape: int) -> Array:
    """An array that a program has computed."""
    increment = jax.jit(lambda x: x + np.float32(1), compiler_options=BY_XLA)
    result: Array = increment(np.zeros(shape, np.float32))
    return result


def primitives(jaxpr: Jaxpr) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def scale(x: Any, factor: Any = 2, *, power: Any = 1) -> Any:
    """A function that needs Python numbers in both places."""
    assert isinstance(factor, int)
    assert isinstance(power, int)
    return x * float(factor**power)


# Forms of `jit`.


def test_decorator_with_and_without_arguments() -> None:
    @jax.jit
    def plain(x: Any) -> Any:
        """Double."""
        return x * 2

    @jax.jit(static_argnums=1)
    def with_options(x: Any, n: int) -> Any:
        return x * n

    @partial(jax.jit, static_argnames="n")
    def by_partial(x: Any, n: int) -> Any:
        return x * n

    assert (plain(3), with_options(3, 4), by_partial(3, n=5)) == (6, 12, 15)
    assert (plain.__name__, plain.__doc__) == ("plain", "Double.")
    assert plain.__wrapped__(3) == 6


def test_methods() -> None:
    class Model:
        def __init__(self, weight: float) -> None:
            self.weight = weight

        @partial(jax.jit, static_argnums=0)
        def method(self, x: Any) -> Any:
            return self.weight * x

        @staticmethod
        @jax.jit
        def static(x: Any) -> Any:
            return x + 1

        @classmethod
        @partial(jax.jit, static_argnums=0)
        def of_class(cls, x: Any) -> Any:
            return x + len(cls.__name__)

        def plain(self, x: Any) -> Any:
            return self.weight * x

    model, other = Model(2.0), Model(3.0)
    assert (model.method(4.0), other.method(4.0)) == (8.0, 12.0)
    assert (model.static(1), Model.of_class(1)) == (2, 6)
    assert jax.jit(model.plain)(4.0) == 8.0


def test_callables_and_partials() -> None:
    class Adder:
        def __call__(self, x: Any, y: Any) -> Any:
            return x + y

    assert jax.jit(Adder())(1, 2) == 3
    assert jax.jit(partial(Adder(), 1))(2) == 3
    assert jax.jit(partial(scale, factor=5))(2.0) == 10.0
    assert jax.jit(jax.jit(lambda x: x + 1))(1) == 2


def test_recursion() -> None:
    @partial(jax.jit, static_argnums=1)
    def power(x: Any, n: int) -> Any:
        return x * power(x, n - 1) if n else x * 0 + 1

    assert power(3.0, 4) == 81.0


def test_copy_and_pickle() -> None:
    assert copy.deepcopy(jax.jit(scale, static_argnames="factor"))(1.0, factor=7) == 7.0
    jitted = jax.jit(np.positive)
    assert pickle.loads(pickle.dumps(jitted))._fun is np.positive


def test_disable_jit_runs_the_function_itself() -> None:
    def branch(x: Any) -> Any:
        return x if x > 0 else -x

    with jax.disable_jit():
        assert jax.jit(branch)(-2.0) == 2.0
        assert jax.jit(branch)(np.float32(-2.0)) == 2.0


def test_repr_names_the_function() -> None:
    assert repr(jax.jit(scale)).startswith("<jit of scale at ")


# Arguments and results.


def test_trees_of_arguments_and_results() -> None:
    def function(pair: Any, *, named: Any) -> Any:
        return {"sum": pair[0] + pair[1], "none": None, "named": [named["k"]]}

    result = jax.jit(function)((1.0, np.float32(2.0)), named={"k": ones(2)})
    assert result["sum"] == 3.0
    assert result["none"] is None
    assert result["named"][0].tolist() == [1.0, 1.0]


def test_arguments_with_and_without_names_are_told_apart() -> None:
    def function(a: Any, b: Any = None) -> Any:
        return a if b is None else (a, b)

    jitted = jax.jit(function)
    assert jitted((1, {"b": 2})) == (1, {"b": 2})
    assert jitted((1,), b=2) == ((1,), 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "Array(True, dtype=bool)"),
        (1, "Array(1, dtype=int32, weak_type=True)"),
        (1.5, "Array(1.5, dtype=float32, weak_type=True)"),
        (2j, "Array(0.+2.j, dtype=complex64, weak_type=True)"),
        (np.float32(1), "Array(1., dtype=float32)"),
        (np.float64(1), "Array(1., dtype=float32)"),
        (np.int64(2**40), "Array(0, dtype=int32)"),
        (np.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
        (np.array([1, 2], np.int8), "Array([1, 2], dtype=int8)"),
        (None, "None"),
    ],
)
def test_values_pass_through(value: Any, text: str) -> None:
    assert repr(jax.jit(lambda x: x)(value)) == text
    assert repr(jax.jit(lambda x: (x, x + 1) if x is not None else (x, 0))(value)[0]) == text


def test_results_that_are_python_numbers_and_numpy_arrays() -> None:
    results = jax.jit(lambda: (1, 2.0, True, 1j, np.ones(2), None))()
    assert [type(r) for r in results] == [Array] * 5 + [type(None)]
    assert [r.weak_type for r in results[:5]] == [True, True, False, True, False]


def test_no_arguments_and_no_results() -> None:
    assert jax.jit(lambda: ())() == ()
    assert jax.jit(lambda: None)() is None
    assert jax.jit(lambda x: {})(1.0) == {}


def test_numpy_arguments_are_copied() -> None:
    given = np.arange(64, dtype=np.float32)
    same, more = jax.jit(lambda x: (x, x + 1))(given)
    given[:] = -1
    assert same.tolist() == list(range(64))
    assert more.tolist() == list(range(1, 65))


def test_results_do_not_change_when_arguments_are_deleted() -> None:
    x = ones(3)
    y = jax.jit(lambda x: x)(x)
    assert y is not x
    x.delete()
    assert y.tolist() == [1, 1, 1]


def test_float0_and_key_arguments() -> None:
    nothing = np.zeros(3, jax.dtypes.float0)
    assert jax.jit(lambda x: x)(nothing).dtype == jax.dtypes.float0
    key = jax.random.key(0)
    assert jax.jit(lambda k: k)(key).dtype == key.dtype


def test_tracers_of_outer_traces_as_arguments() -> None:
    double = jax.jit(lambda x: 2 * x)
    assert jax.grad(lambda x: double(x) * x)(3.0) == 12.0
    assert jax.vmap(double)(np.arange(3.0)).tolist() == [0, 2, 4]
    assert jax.jit(lambda x: double(double(x)))(1.0) == 4.0


# Static arguments.


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ({"static_argnums": 1}, lambda f: f(1.0, 5)),
        ({"static_argnums": 1}, lambda f: f(1.0, factor=5)),
        ({"static_argnums": (-1,)}, lambda f: f(1.0, 5)),
        ({"static_argnums": -1}, lambda f: f(1.0, factor=5)),
        ({"static_argnums": np.int64(1)}, lambda f: f(1.0, 5)),
        ({"static_argnames": "factor"}, lambda f: f(1.0, 5)),
        ({"static_argnames": ["factor"]}, lambda f: f(x=1.0, factor=5)),
        ({"static_argnums": 1, "static_argnames": "power"}, lambda f: f(1.0, 5, power=1)),
        ({"static_argnames": ("factor", "power")}, lambda f: f(1.0, power=1, factor=5)),
    ],
)
def test_static_arguments(options: dict[str, Any], call: Callable[..., Any]) -> None:
    assert call(jax.jit(scale, **options)) == 5.0


def test_static_defaults() -> None:
    assert jax.jit(scale, static_argnames=("factor", "power"))(1.0) == 2.0
    assert jax.jit(scale)(1.0) == 2.0


def test_static_arguments_of_any_number() -> None:
    jitted = jax.jit(lambda *args: args[0] * args[-1], static_argnums=-1)
    assert jitted(2.0, 3) == 6.0
    assert jitted(2.0, 1.0, 4) == 8.0
    assert jax.jit(lambda *args: args[0], static_argnums=7)(2.0, 3.0) == 2.0
    assert jax.jit(lambda x, **kw: x * len(kw["s"]), static_argnames="s")(2.0, s="abc") == 6.0


def test_all_arguments_static() -> None:
    assert jax.jit(lambda n: np.zeros(n), static_argnums=0)(3).shape == (3,)


# Donated arguments.


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ({"donate_argnums": 0}, lambda f, x: f(x, 1.0)),
        ({"donate_argnums": 0}, lambda f, x: f(a=x, b=1.0)),
        ({"donate_argnums": -2}, lambda f, x: f(x, 1.0)),
        ({"donate_argnames": "a"}, lambda f, x: f(x, 1.0)),
        ({"donate_argnames": "b"}, lambda f, x: f(1.0, b=x)),
        ({"donate_argnums": (1,), "static_argnums": 0}, lambda f, x: f(1.0, x)),
    ],
)
def test_donated_memory_is_taken_over(options: dict[str, Any], call: Callable[..., Any]) -> None:
    x = ones(256)
    address = x.unsafe_buffer_pointer()
    result = call(jax.jit(lambda a, b: a + b, compiler_options=BY_XLA, **options), x)
    assert result.unsafe_buffer_pointer() == address
    assert result.tolist() == [2.0] * 256
    assert x.is_deleted()


def test_donated_tree() -> None:
    state = {"w": ones(4), "b": [ones(4), ones(3)]}
    step = jax.jit(lambda s, x: jax.tree.map(lambda leaf: leaf + x, s), donate_argnums=0)
    after = step(state, 1.0)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(state))
    assert step(after, 1.0)["b"][0].tolist() == [3.0] * 4


def test_donated_array_in_host_memory() -> None:
    host = np.ones(64, np.float32)
    x = Array.from_host(host)
    view = np.asarray(x)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    assert view.tolist() == [1.0] * 64
    assert y.tolist() == [2.0] * 64


def test_donated_array_with_a_numpy_view_stays() -> None:
    x = ones(64)
    view = np.asarray(x)
    y = jax.jit(lambda x: x + 1, donate_argnums=0, compiler_options=BY_XLA)(x)
    assert not x.is_deleted()
    assert view.tolist() == x.tolist() == [1.0] * 64
    assert y.tolist() == [2.0] * 64


def test_donated_operand_that_is_a_result() -> None:
    x = ones(3)
    same, more = jax.jit(lambda x: (x, x + 1), donate_argnums=0)(x)
    assert x.is_deleted()
    assert (same.tolist(), more.tolist()) == ([1, 1, 1], [2, 2, 2])
    x = ones(3)
    first, second = jax.jit(lambda x: (x, x), donate_argnums=0)(x)
    taken = jax.jit(lambda x: x + 1, donate_argnums=0)(first)
    assert (first.is_deleted(), second.tolist(), taken.tolist()) == (True, [1, 1, 1], [2, 2, 2])


def test_passed_on_memory_is_donated_again_without_a_copy() -> None:
    state = (ones(256), ones(256))
    address = state[0].unsafe_buffer_pointer()
    step = jax.jit(lambda s: (s[0], s[1] + 1), donate_argnums=0, compiler_options=BY_XLA)
    for _ in range(3):
        state = step(state)
    assert state[0].unsafe_buffer_pointer() == address
    last = jax.jit(lambda x: x * 2, donate_argnums=0, compiler_options=BY_XLA)(state[0])
    assert last.unsafe_buffer_pointer() == address


def test_memory_that_arrays_share_is_not_taken() -> None:
    x = ones(3)
    y = jax.jit(lambda x: x)(x)
    increment = jax.jit(lambda x: x + 1, donate_argnums=0)
    assert increment(y).tolist() == [2, 2, 2]
    assert (y.is_deleted(), x.tolist()) == (True, [1, 1, 1])
    constant = jax.jit(lambda: np.ones(3, np.float32))
    assert increment(constant()).tolist() == [2, 2, 2]
    assert constant().tolist() == [1, 1, 1]


def test_unused_donated_argument_stays() -> None:
    x = ones(3)
    jax.jit(lambda x: np.ones(3), donate_argnums=0)(x)
    assert not x.is_deleted()


def test_donation_in_transformed_calls() -> None:
    increment = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = ones(3)
    jax.vmap(increment)(x)
    assert x.is_deleted()
    x = ones(3)
    jax.jit(lambda x: increment(x))(x)
    assert not x.is_deleted()


def test_donation_of_another_dtype_of_the_same_size() -> None:
    x = ones(64)
    y = jax.jit(lambda x: lax.convert_element_type(x, np.int32), donate_argnums=0)(x)
    assert (x.is_deleted(), y.tolist()) == (True, [1] * 64)


# Other options.


def test_inline() -> None:
    inner = jax.jit(lambda x: lax.sin(x) * 2, inline=True)
    assert primitives(jax.make_jaxpr(lambda x: inner(x))(1.0)) == ["sin", "mul"]
    assert primitives(jax.make_jaxpr(jax.vmap(inner))(np.ones(3))) == ["sin", "mul"]
    assert "jit" not in primitives(jax.make_jaxpr(jax.grad(inner))(1.0))
    kept = jax.jit(lambda x: lax.sin(x) * 2)
    assert primitives(jax.make_jaxpr(lambda x: kept(x))(1.0)) == ["jit"]
    assert inner(0.0) == 0.0
    assert jax.grad(inner)(0.0) == 2.0


def test_keep_unused() -> None:
    function = lambda x, y: x + 1  # noqa: E731
    dropped = jax.jit(function).lower(1.0, 2.0).compile()
    kept = jax.jit(function, keep_unused=True).lower(1.0, 2.0).compile()
    assert len(dropped.runtime_executable().get_parameter_layouts()) == 1
    assert len(kept.runtime_executable().get_parameter_layouts()) == 2
    assert dropped(1.0, 2.0) == kept(1.0, 2.0) == 2.0


def test_device_and_backend() -> None:
    with pytest.warns(DeprecationWarning, match="device and backend"):
        on_device = jax.jit(lambda x: x + 1, device=default_device())
    with pytest.warns(DeprecationWarning, match="device and backend"):
        on_backend = jax.jit(lambda x: x + 1, backend="cpu")
    for jitted in (on_device, on_backend):
        result = jitted(1.0)
        assert (result, result.device, result.committed) == (2.0, default_device(), True)


def test_compiler_options() -> None:
    options = {"xla_embed_ir_in_executable": True, "xla_cpu_enable_fast_math": False}
    assert jax.jit(lambda x: x + 1, compiler_options=options)(1.0) == 2.0
    assert jax.grad(jax.jit(lambda x: x * x, compiler_options=options))(1.0) == 2.0


# Closures.


def test_closing_over_tracers() -> None:
    def function(x: Any) -> Any:
        return jax.jit(lambda y: y * x)(2.0)

    assert jax.grad(function)(3.0) == 2.0
    assert jax.jit(jax.grad(function))(3.0) == 2.0
    assert jax.vmap(function)(np.arange(3.0)).tolist() == [0, 2, 4]
    assert jax.jit(function)(3.0) == 6.0
    jaxpr = jax.make_jaxpr(function)(3.0)
    assert [len(eqn.params["jaxpr"].invars) for eqn in jaxpr.eqns] == [2]


def test_grad_inside_jit_over_captured_values() -> None:
    @jax.jit
    def outer(x: Any) -> Any:
        return jax.grad(lambda y: jax.jit(lambda z: z * y * x)(y))(x)

    assert outer(3.0) == 18.0


@pytest.mark.parametrize("size", [3, 40_000])
@pytest.mark.parametrize("as_array", [False, True])
def test_closing_over_arrays(size: int, as_array: bool) -> None:
    numbers = np.arange(size, dtype=np.float32)
    constant = Array.from_host(numbers) if as_array else numbers
    jitted = jax.jit(lambda x: x + constant)
    nested = jax.jit(lambda x: jitted(x) + jitted(x))
    looped = jax.jit(lambda x: lax.fori_loop(0, 3, lambda _, c: c + constant, x))
    chosen = jax.jit(lambda p, x: lax.cond(p, lambda x: x - constant, lambda x: jitted(x), x))
    x = np.ones(size, np.float32)
    np.testing.assert_array_equal(jitted(x), 1 + numbers)
    np.testing.assert_array_equal(nested(x), 2 + 2 * numbers)
    np.testing.assert_array_equal(looped(x), 1 + 3 * numbers)
    np.testing.assert_array_equal(chosen(True, x), 1 - numbers)
    np.testing.assert_array_equal(chosen(False, x), 1 + numbers)


@pytest.mark.parametrize("size", [3, 40_000])
def test_constants_are_as_they_were_when_traced(size: int) -> None:
    constant = np.ones(size, np.float32)
    jitted = jax.jit(lambda x: x * constant)
    assert jitted(np.float32(2.0))[-1] == 2.0
    constant[:] = 5.0
    assert jitted(np.float32(2.0))[-1] == 2.0
    assert jax.vmap(jitted)(np.ones(2, np.float32))[1, -1] == 1.0


@pytest.mark.parametrize("size", [3, 40_000])
def test_constants_outlive_the_arrays_they_were(size: int) -> None:
    constant = ones(size)
    jitted = jax.jit(lambda x: (x + constant, constant))
    jitted(1.0)
    jax.jit(lambda x: x + 1, donate_argnums=0)(constant)
    constant.delete()
    total, same = jitted(1.0)
    assert (total[-1], same[-1]) == (2.0, 1.0)


# State after errors.


def test_an_exception_leaves_clean_state() -> None:
    calls = []

    def fails_at_first(x: Any) -> Any:
        calls.append(x)
        return x + 1 // (len(calls) - 1)

    jitted = jax.jit(fails_at_first)
    with pytest.raises(ZeroDivisionError):
        jax.jit(lambda x: jitted(x))(1.0)
    assert jitted(1.0) == 2.0
    with pytest.raises(ZeroDivisionError):
        jax.grad(lambda x: jax.jit(lambda y: y * (1 // 0))(x))(1.0)
    assert lax.add(1.0, 2.0) == 3.0
    assert jax.grad(jitted)(1.0) == 1.0
