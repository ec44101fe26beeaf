"""Calls of the library's functions that copy the equations that they wrote before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.core.recorded_calls import Calls, call_or_recorded, recording
from morphax.util.memo import MemoTable

X, Y = jnp.arange(3.0), jnp.ones(3)
TABLE = np.arange(3, dtype=np.float32)


class Counted:
    """A function that is recorded, and how often it ran."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls: Calls = MemoTable()
        self.runs = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call_or_recorded(self.calls, self._run, args, kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


def _program(function: Callable[..., Any], *args: Any) -> str:
    return str(jax.make_jaxpr(lambda *xs: function(*xs))(*args))


def _two(x: Any, y: Any, scale: Any = 2.0) -> Any:
    return lax.add(lax.mul(x, scale * TABLE), y), lax.sin(x)


def test_a_call_is_written_again_with_the_line_that_makes_it() -> None:
    f = Counted(_two)
    first = jax.make_jaxpr(lambda x, y: f(x, y))(X, Y)
    second = jax.make_jaxpr(
        lambda x, y: f(x, y),
    )(X, Y)
    assert str(first) == str(second)
    assert f.runs == 1
    lines = [{eqn.source.line for eqn in jaxpr.eqns} for jaxpr in (first, second)]
    assert len(lines[0]) == len(lines[1]) == 1
    assert lines[0] != lines[1]
    core.check_jaxpr(second)
    for got, expected in zip(core.apply_jaxpr(second, X, Y), _two(X, Y), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "other",
    [
        (X, Y, 3.0),
        (X, Y, 2),
        (X, Y, np.float32(2.0)),
        (X.astype(np.int32), Y),
        (jnp.ones((3, 3)), Y),
        (X, 1.0),
    ],
    ids=["value", "integer", "scalar of NumPy", "dtype", "shape", "number"],
)
def test_calls_that_differ_are_told_apart(other: tuple[Any, ...]) -> None:
    def g(x: Any, y: Any, scale: Any = 2.0) -> Any:
        return x * scale + y

    f = Counted(g)
    for args in ((X, Y), other, (X, Y), other):
        arrays = [x for x in args if isinstance(x, jax.Array)]
        rest = args[len(arrays) :]
        assert _program(lambda *xs, rest=rest: f(*xs, *rest), *arrays) == _program(
            lambda *xs, rest=rest: g(*xs, *rest), *arrays
        )
    assert f.runs == 2


def test_zeros_of_both_signs_are_told_apart() -> None:
    f = Counted(lambda x, least: lax.max(x, least))
    programs = [_program(lambda x, least=least: f(x, least), X) for least in (0.0, -0.0)]
    assert programs[0] != programs[1]


def test_settings_and_lists_count() -> None:
    f = Counted(lambda xs: lax.concatenate(xs, 0))
    assert _program(lambda x, y: f([x, y]), X, Y) == _program(lambda x, y: f([x, y]), X, Y)
    assert f.runs == 1
    _program(lambda x, y: f([x, y, x]), X, Y)
    _program(lambda x, y: f((x, y)), X, Y)
    assert f.runs == 3
    with jax.default_matmul_precision("float32"):
        _program(lambda x, y: f([x, y]), X, Y)
    assert f.runs == 4


def test_the_same_operand_twice_is_told_from_two() -> None:
    f = Counted(lambda x, y: lax.sub(x, y))
    for _ in range(2):
        assert "sub a a" in _program(lambda x: f(x, x), X)
        assert "sub a b" in _program(lambda x, y: f(x, y), X, Y)
        assert "sub b a" in _program(lambda x, y: f(y, x), X, Y)
    assert f.runs == 2


def test_calls_without_operands_are_kept() -> None:
    f = Counted(lambda n: lax.iota(np.int32, n))
    for _ in range(2):
        assert "shape=(3,)" in _program(lambda x: lax.add(x, f(3)), X.astype(np.int32))
    assert f.runs == 1


def test_operands_of_other_programs_and_arrays_run_the_function() -> None:
    f = Counted(lambda x, y: lax.sub(x, y))
    for _ in range(2):
        assert "sub" in _program(lambda x: f(x, Y), X)
        assert "sub" in _program(lambda x: jax.lax.map(lambda y: f(x, y), Y), X)
    f(X, Y)
    jax.vmap(f)(X, Y)
    jax.jvp(f, (X, Y), (X, Y))
    assert not f.calls


def test_named_axes_count() -> None:
    f = Counted(lambda x, name: lax.mul(x, lax.axis_size(name)))
    programs = {
        _program(lambda x, n=n: jax.vmap(jax.jit(lambda y: f(y, "i")), axis_name="i")(x), xs)
        for n in (1, 2)
        for xs in [jnp.ones((n, 3))]
        for _ in range(2)
    }
    assert len(programs) == 2
    assert f.runs == 2


def test_what_is_more_than_equations_of_operands_is_not_kept() -> None:
    large = np.zeros(1000, np.float32)

    def scoped(x: Any) -> Any:
        with jax.named_scope("inner"):
            return lax.sin(x)

    for g in (
        scoped,
        lambda x: (lax.sin(x), 3),
        lambda x: lax.reduce_sum(lax.mul(lax.broadcast(x[0], (1000,)), large), (0,)),
    ):
        f = Counted(g)
        for _ in range(2):
            _program(f, X)
        assert f.runs == 2
        assert list(f.calls.values()) == [None]


def test_symbolic_sizes_are_not_kept() -> None:
    f = Counted(lambda x: lax.mul(x, 2.0))
    (n,) = jax.export.symbolic_shape("n")
    for _ in range(2):
        jax.export.export(jax.jit(lambda x: f(x)))(jax.ShapeDtypeStruct((n,), np.float32))
    assert f.runs == 2


def test_parts_of_what_is_recorded_are_not_kept() -> None:
    f = Counted(lax.sin)
    with recording():
        _program(f, X)
    assert not f.calls
    outer = Counted(lambda x: f(lax.cos(x)))
    _program(outer, X)
    assert not f.calls
    assert len(outer.calls) == 1


def test_errors_and_warnings_come_each_time() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="axis"):
            jax.make_jaxpr(lambda x: jnp.mean(x, axis="up"))(X)
    for _ in range(2):
        with pytest.warns(UserWarning, match="64-bit"):
            jax.make_jaxpr(lambda x: jnp.mean(x, dtype=np.float64))(jnp.ones(7))


def test_a_list_that_holds_itself_is_no_constant() -> None:
    f = Counted(lambda x, _: lax.sin(x))
    endless: list[Any] = []
    endless.append(endless)
    for _ in range(2):
        _program(lambda x: f(x, endless), X)
    assert f.runs == 2
