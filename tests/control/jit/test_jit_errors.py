"""What `jit` says when it is used wrongly: where, given, expected, and how to mend it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import errors, lax
from morphax.array import Array
from morphax.runtime.devices import default_device


def ones(*shape: int) -> Array:
    result: Array = jax.jit(lambda x: x + np.float32(1))(np.zeros(shape, np.float32))
    return result


def label(function: Callable[..., Any]) -> str:
    """Name and place of a function, as error text shows it."""
    code = function.__code__
    return f"{function.__name__} at {code.co_filename}:{code.co_firstlineno}"


def failing(kind: type[Exception], call: Callable[[], Any]) -> str:
    """The text of the error that `call` raises, which points at this file."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.type is kind
    text = str(caught.value)
    assert re.search(rf"\(at {re.escape(__file__)}:\d+ \(.*\n +given: .*\n +expected: ", text)
    return text


def params_and_scale(params: Any, scale: Any = 1.0) -> Any:
    return params, scale


# Arguments.


@pytest.mark.parametrize(
    ("args", "kwargs", "name", "given"),
    [
        (("text",), {}, "params", "'text' of type str"),
        (({"w": [1.0, "text"]},), {}, "params['w'][1]", "'text' of type str"),
        ((1.0, object), {}, "scale", "<class 'object'> of type type"),
        ((1.0,), {"scale": range(3)}, "scale", "range(0, 3) of type range"),
        ((np.array([None]),), {}, "params", "of type ndarray and dtype object"),
        ((np.array(["text"]),), {}, "params", "dtype <U4"),
        ((np.ones(2, ">f4"),), {}, "params", "dtype >f4"),
        (((1.0, {3}),), {}, "params[1]", "{3} of type set"),
    ],
)
def test_argument_that_is_no_array(args: Any, kwargs: Any, name: str, given: str) -> None:
    text = failing(TypeError, lambda: jax.jit(params_and_scale)(*args, **kwargs))
    assert text.startswith(f"jit of {label(params_and_scale)}, argument {name} (at ")
    assert given in text
    assert "static_argnums" in text


def test_argument_that_is_no_array_beside_static_ones() -> None:
    jitted = jax.jit(params_and_scale, static_argnums=0)
    text = failing(TypeError, lambda: jitted("static", "text"))
    assert ", argument scale (at " in text


def test_names_of_arguments_of_any_number() -> None:
    text = failing(TypeError, lambda: jax.jit(lambda *xs, **named: xs)(1.0, {"k": "text"}))
    assert ", argument xs[1]['k'] (at " in text


def test_python_int_that_does_not_fit() -> None:
    with pytest.raises(OverflowError, match="the Python int 1099511627776") as caught:
        jax.jit(params_and_scale)(1.0, 2**40)
    assert caught.value.__notes__ == [f"in jit of {label(params_and_scale)}, argument scale"]


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(1, 2, 3),
        lambda f: f(),
        lambda f: f(1, other=2),
        lambda f: f(1, params=2),
    ],
)
def test_wrong_number_of_arguments_is_python_s_error(call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError) as expected:
        call(params_and_scale)
    for options in ({}, {"static_argnums": 1}, {"donate_argnums": 0}):
        with pytest.raises(TypeError) as caught:
            call(jax.jit(params_and_scale, **options))
        assert str(caught.value) == str(expected.value)


# Results.


@pytest.mark.parametrize(
    ("result", "path"),
    [("text", ""), ({"a": (1.0, "text")}, "['a'][1]"), ([1.0, "text"], "[1]")],
)
def test_result_that_is_no_array(result: Any, path: str) -> None:
    def function(x: Any) -> Any:
        return result

    text = failing(TypeError, lambda: jax.jit(function)(1.0))
    assert text.startswith(f"jit, result{path} of {label(function)} (at ")
    assert "'text' of type str" in text


# Static arguments.


@pytest.mark.parametrize(
    ("options", "args", "kwargs", "name"),
    [
        ({"static_argnums": 1}, (1.0, [2]), {}, "scale"),
        ({"static_argnums": 1}, (1.0,), {"scale": [2]}, "scale"),
        ({"static_argnames": "scale"}, (1.0, np.ones(2)), {}, "scale"),
        ({"static_argnums": (0, 1)}, ({}, 1), {}, "params"),
        ({"static_argnums": 1}, (1.0, (1, [2])), {}, "scale"),
    ],
)
def test_static_argument_that_cannot_be_hashed(
    options: Any, args: Any, kwargs: Any, name: str
) -> None:
    jitted = jax.jit(params_and_scale, **options)
    text = failing(ValueError, lambda: jitted(*args, **kwargs))
    assert text.startswith(f"jit of {label(params_and_scale)}, static argument {name} (at ")
    assert "cannot be hashed" in text


def test_array_as_static_argument() -> None:
    jitted = jax.jit(params_and_scale, static_argnums=1)
    assert "static argument scale" in failing(ValueError, lambda: jitted(1.0, ones(2)))


@pytest.mark.parametrize("what", ["static", "donate"])
@pytest.mark.parametrize(
    ("kind", "options", "given"),
    [
        (ValueError, {"argnums": 2}, "number 2"),
        (ValueError, {"argnums": (0, -3)}, "number -3"),
        (ValueError, {"argnames": "size"}, "the name 'size'"),
        (ValueError, {"argnames": ("params", "size")}, "the name 'size'"),
        (TypeError, {"argnums": "params"}, "'params' of type str"),
        (TypeError, {"argnums": 1.5}, "1.5 of type float"),
        (TypeError, {"argnames": 1}, "1 of type int"),
        (TypeError, {"argnames": ("params", 1)}, "('params', 1) of type tuple"),
    ],
)
def test_choice_of_arguments(what: str, kind: Any, options: Any, given: str) -> None:
    named = {f"{what}_{key}": value for key, value in options.items()}
    text = failing(kind, lambda: jax.jit(params_and_scale, **named))
    assert given in text
    assert f"argument {what}_{next(iter(options))} (at " in text


def test_positional_only_argument_by_name() -> None:
    text = failing(ValueError, lambda: jax.jit(lambda x, /, y: x, static_argnames="x"))
    assert "expected: names of arguments that can be passed by name: y" in text


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 0, "donate_argnums": 0},
        {"static_argnums": 0, "donate_argnames": "params"},
        {"static_argnames": "params", "donate_argnums": (-2,)},
    ],
)
def test_static_and_donated(options: dict[str, Any]) -> None:
    text = failing(ValueError, lambda: jax.jit(params_and_scale, **options))
    assert "as static and as donated" in text


# Other options.


def generator(x: Any) -> Any:
    yield x


async def coroutine(x: Any) -> Any:
    return x


@pytest.mark.parametrize("fun", [3, "f", generator, coroutine])
def test_what_is_no_function(fun: Any) -> None:
    assert failing(TypeError, lambda: jax.jit(fun)).startswith("jit, argument fun (at ")


def test_device_and_backend_together() -> None:
    call = lambda: jax.jit(generator.__class__, device=default_device(), backend="cpu")  # noqa: E731
    assert "device=" in failing(ValueError, call)


@pytest.mark.filterwarnings("ignore:.*device and backend:DeprecationWarning")
def test_unknown_backend() -> None:
    text = failing(RuntimeError, lambda: jax.jit(params_and_scale, backend="abacus"))
    assert "Unknown backend: 'abacus'" in text


def test_compiler_options_of_an_inner_function() -> None:
    inner = jax.jit(params_and_scale, compiler_options={"xla_cpu_enable_fast_math": True})
    for outer in (jax.jit(lambda x: inner(x)), jax.jit(jax.vmap(inner)), jax.make_jaxpr(inner)):
        text = failing(ValueError, lambda outer=outer: outer(np.ones(3)))
        assert text.startswith(f"jit of {label(params_and_scale)}, argument compiler_options")


def test_unknown_compiler_option() -> None:
    with pytest.raises(errors.JaxRuntimeError, match="No such compile option: 'xla_no_such'"):
        jax.jit(lambda x: x + 1, compiler_options={"xla_no_such": True})(1.0)


# Donation.


def step(state: Any, x: Any) -> Any:
    return state + x


def test_use_after_donation() -> None:
    x = ones(3)
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    jax.jit(step, donate_argnums=0)(x, 1.0)
    uses: list[Callable[[], Any]] = [
        lambda: x.tolist(),
        lambda: x + 1,
        lambda: jax.jit(step)(x, 1.0),
        lambda: jax.jit(step, donate_argnums=0)(x, 1.0),
        lambda: jax.grad(lambda y: lax.reduce_sum(y * x, axes=(0,)))(ones(3)),
    ]
    for use in uses:
        text = failing(RuntimeError, use)
        assert f"deleted because it was donated to {label(step)}, at {__file__}:{line}" in text


def test_donating_an_array_that_is_passed_twice() -> None:
    x = ones(3)
    for donated in (0, 1, (0, 1)):
        jitted = jax.jit(lambda a, b: (a + b, a - b), donate_argnums=donated)
        text = failing(ValueError, lambda jitted=jitted: jitted(x, x))
        assert "one array as the arguments a and b" in text
    assert x.tolist() == [1, 1, 1]


def test_donated_memory_that_no_result_can_use() -> None:
    x = ones(3)
    with pytest.warns(UserWarning, match=r"donated arguments f32\[3\]"):
        jax.jit(lambda x: lax.reduce_sum(x, axes=(0,)), donate_argnums=0)(x)
    assert not x.is_deleted()


# Traced values.


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        (errors.TracerBoolConversionError, bool),
        (errors.TracerIntegerConversionError, range),
        (errors.TracerIntegerConversionError, lambda x: [1, 2][x]),
        (errors.ConcretizationTypeError, int),
        (errors.ConcretizationTypeError, float),
        (errors.TracerArrayConversionError, np.sin),
    ],
)
def test_python_asks_for_a_traced_value(kind: type[Exception], use: Callable[..., Any]) -> None:
    def function(params: Any) -> Any:
        return use(params["n"][0])

    def of_result(params: Any, other: Any) -> Any:
        return use(params["n"][0] + 1)

    text = failing(kind, lambda: jax.jit(function)({"n": (1,)}))
    assert f"the argument params['n'][0] of the function {label(function)} traced by jit" in text
    text = failing(kind, lambda: jax.jit(of_result)({"n": (1,)}, 2.0))
    assert f"a result of add at {__file__}:" in text
    assert f"in the function {label(of_result)} traced by jit" in text
    assert "which depends on params['n'][0]," in text


def test_leaked_tracers() -> None:
    kept: list[Any] = []

    def leak(x: Any) -> Any:
        kept.append(x)
        return x

    jax.jit(leak)(1.0)
    uses: list[Callable[[Any], Any]] = [
        lambda x: x + 1,
        jax.jit(step, static_argnums=1),
        jax.jit(lambda y: y + kept[0]),
        jax.grad(lambda y: y * kept[0]),
    ]
    for use in uses:
        args = (kept[0], 1) if use is uses[1] else (kept[0],) if use is uses[0] else (1.0,)
        text = failing(errors.UnexpectedTracerError, lambda use=use, args=args: use(*args))
        assert f"the argument x of the function {label(leak)} traced by jit" in text


def test_the_signature_is_that_of_the_function() -> None:
    def f(x: int, y: int = 2, *, z: int = 3) -> int:
        return x + y + z

    for follows in (True, False):
        assert inspect.signature(jax.jit(f), follow_wrapped=follows) == inspect.signature(f)
