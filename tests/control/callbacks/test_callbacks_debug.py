"""debug.callback, debug.print and debug.log: under every transformation, in order, checked."""

from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.core import check_jaxpr


def shout(x: Any) -> Any:
    jax.debug.print("x = {}", x)
    return x * 2.0


def shouting(rest: Any) -> Any:
    """A function that shouts first."""

    def function(x: Any) -> Any:
        jax.debug.print("x = {}", x)
        return rest(x)

    return function


def stops_at(x: Any) -> Any:
    return jax.lax.while_loop(lambda c: c < x, shouting(lambda c: c + 1.0), 0.0)


TWO = np.arange(2.0, dtype=np.float32)

PRINTED = {
    "eager": (lambda: shout(1.0), ["1.0"]),
    "jit": (lambda: jax.jit(shout)(1.0), ["1.0"]),
    "jit in jit": (lambda: jax.jit(lambda x: jax.jit(shout)(x))(1.0), ["1.0"]),
    "grad": (lambda: jax.grad(shout)(1.0), ["1.0"]),
    "grad of jit": (lambda: jax.grad(jax.jit(shout))(1.0), ["1.0"]),
    "jit of grad": (lambda: jax.jit(jax.grad(shout))(1.0), ["1.0"]),
    "grad of grad": (lambda: jax.grad(jax.grad(lambda x: shout(x) * x))(1.0), ["1.0"]),
    "jvp": (lambda: jax.jvp(shout, (1.0,), (1.0,)), ["1.0"]),
    "linear_transpose": (lambda: jax.linear_transpose(shout, 1.0)(1.0), []),
    "vmap": (lambda: jax.vmap(shout)(TWO), ["0.0", "1.0"]),
    "vmap over something else": (lambda: jax.vmap(lambda y: shout(1.0) * y)(TWO), ["1.0"]),
    "vmap of grad": (lambda: jax.vmap(jax.grad(shout))(TWO), ["0.0", "1.0"]),
    "jit of vmap": (lambda: jax.jit(jax.vmap(shout))(TWO), ["0.0", "1.0"]),
    "vmap of jit": (lambda: jax.vmap(jax.jit(shout))(TWO), ["0.0", "1.0"]),
    "vmap of nobody": (lambda: jax.vmap(shout)(TWO[:0]), []),
    "scan": (lambda: jax.lax.scan(lambda c, x: (c, shout(x)), 0, TWO), ["0.0", "1.0"]),
    "grad of scan": (
        lambda: jax.grad(lambda y: jax.lax.scan(lambda c, x: (shout(c), x), y, TWO)[0])(1.0),
        ["1.0", "2.0"],
    ),
    "vmap of scan": (
        lambda: jax.vmap(lambda y: jax.lax.scan(lambda c, x: (shout(c), x), y, TWO)[0])(TWO),
        ["0.0", "1.0", "0.0", "2.0"],
    ),
    "while": (lambda: stops_at(2.0), ["0.0", "1.0"]),
    "jit of while": (lambda: jax.jit(stops_at)(2.0), ["0.0", "1.0"]),
    "jvp of while": (
        lambda: jax.jvp(lambda x: jax.lax.while_loop(lambda c: c < 3.0, shout, x), (1.0,), (1.0,)),
        ["1.0", "2.0"],
    ),
    "condition of while": (
        lambda: jax.lax.while_loop(shouting(lambda c: c < 1.0), lambda c: c + 1.0, 0.0),
        ["0.0", "1.0"],
    ),
    # Members that have stopped stay, and are shown again.
    "vmap of while": (lambda: jax.vmap(stops_at)(TWO + 1.0), ["0.0", "0.0", "1.0", "1.0"]),
    "fori": (lambda: jax.lax.fori_loop(0, 2, lambda i, c: shout(c), 1.0), ["1.0", "2.0"]),
    "cond": (lambda: jax.lax.cond(True, shout, lambda x: x, 1.0), ["1.0"]),
    "jit of cond": (
        lambda: jax.jit(lambda x: jax.lax.cond(x > 0, shout, lambda x: x, x))(1.0),
        ["1.0"],
    ),
    "branch not taken": (
        lambda: jax.jit(lambda x: jax.lax.cond(x > 2, shout, lambda x: x, x))(1.0),
        [],
    ),
    "grad of cond": (
        lambda: jax.grad(lambda x: jax.lax.cond(x > 0, shout, lambda x: x, x))(1.0),
        ["1.0"],
    ),
    # Both branches run for all members.
    "vmap of cond": (
        lambda: jax.vmap(lambda x: jax.lax.cond(x > 0, shout, lambda x: x, x))(TWO),
        ["0.0", "1.0"],
    ),
    "custom_jvp": (lambda: jax.jit(with_rule)(1.0), ["1.0"]),
    "derivative of custom_jvp": (lambda: jax.grad(with_rule)(1.0), ["1.0"]),
    "two devices' worth": (
        lambda: jax.jit(lambda x: jax.debug.print("x = {}", x, partitioned=True))(1.0),
        ["1.0"],
    ),
}


@jax.custom_jvp
def with_rule(x: Any) -> Any:
    return shout(x)


with_rule.defjvps(lambda t, out, x: 2.0 * t)


@pytest.mark.parametrize("name", PRINTED)
def test_print(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    call, values = PRINTED[name]
    call()
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(f"x = {v}" for v in values)


@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("fmt", "args", "kwargs", "line"),
    [
        ("hello", (), {}, "hello"),
        ("{{}}", (), {}, "{{}}"),
        ("{{}} {}", (1,), {}, "{} 1"),
        ("{:.3f}", (np.float32(0.5),), {}, "0.500"),
        ("{:03d} {:b}", (5, 5), {}, "005 101"),
        ("{:.2f}", (jnp.bfloat16(1.5),), {}, "1.50"),
        ("{:{width}}|", (1,), {"width": 3}, "  1|"),
        ("{1} {0}", (1, 2), {}, "2 1"),
        ("{x.shape} {0[1]}", (TWO,), {"x": TWO}, "(2,) 1.0"),
        ("{!r}", (TWO,), {}, "Array([0., 1.], dtype=float32)"),
        ("{} {b}", ({"a": 1, "b": (None,)},), {"b": "text"}, None),
        ("{} {}", (True, len), {}, "True <built-in function len>"),
        ("{}", (2**70,), {}, str(2**70)),
        ("{}", (np.array(["a"]),), {}, "['a']"),
    ],
)
def test_formats(
    engine: Any, fmt: str, args: Any, kwargs: Any, line: str | None, capfd: Any
) -> None:
    engine(lambda: jax.debug.print(fmt, *args, **kwargs))()
    text = "{'a': Array(1, dtype=int32), 'b': (None,)} text" if line is None else line
    assert capfd.readouterr().out.replace(", weak_type=True", "") == text + "\n"


def test_specification_that_arrays_do_not_know() -> None:
    with pytest.raises(TypeError, match=r"\.3f"):
        jax.jit(lambda x: jax.debug.print("{:.3f}", x))(TWO)


def test_options_of_numpy_are_those_of_the_trace(capfd: pytest.CaptureFixture[str]) -> None:
    with np.printoptions(precision=2):
        traced = jax.jit(lambda x: jax.debug.print("{}", x / 3)).lower(TWO).compile()
    traced(TWO)
    assert capfd.readouterr().out == "[0.   0.33]\n"


def test_equal_static_arguments_are_told_apart(capfd: pytest.CaptureFixture[str]) -> None:
    from decimal import Decimal

    for text in ("1.0", "1.00"):
        jax.vmap(lambda x, text=text: jax.debug.print("{} {}", x, Decimal(text)))(TWO[:1])
        jax.vmap(lambda x, text=text: jax.debug.callback(print, x, Decimal(text)))(TWO[:1])
    assert capfd.readouterr().out.splitlines() == ["0.0 1.0"] * 2 + ["0.0 1.00"] * 2


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        (("{} {}", 1), {}, IndexError, "a place without argument"),
        (("{a}",), {"b": 1}, KeyError, "no argument 'a'"),
        (("{}", 1, 2), {}, ValueError, r"no place uses: \[1\]"),
        (("{}", 1), {"b": 2}, ValueError, "f-string"),
        (("{", 1), {}, ValueError, "Single '{'"),
        ((3,), {}, TypeError, "a format string"),
        ((None, 3), {}, TypeError, "no fmt, but 1 arguments"),
        ((), {"foo": 3}, TypeError, "foo"),
    ],
)
@pytest.mark.parametrize("name", ["print", "log"])
def test_formats_are_checked(
    name: str, args: Any, kwargs: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=rf"jax\.debug\.{name}(.|\n)*{text}") as caught:
        getattr(jax.debug, name)(*args, **kwargs)
    assert "fix:" in str(caught.value)


def test_the_check_of_formats_can_be_skipped(capfd: pytest.CaptureFixture[str]) -> None:
    jax.debug.print("{}", 1, 2, skip_format_check=True)
    assert capfd.readouterr().out == "1\n"
    traced = jax.jit(lambda: jax.debug.print("{} {}", 1, skip_format_check=True)).lower()
    with pytest.raises(IndexError):
        traced.compile()()


def test_options_apart_from_the_arguments(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []
    jax.debug.print(ordered=True)("{ordered}", ordered=3)
    jax.debug.callback(partitioned=False)(lambda ordered: seen.append(ordered), ordered=3)
    assert capfd.readouterr().out == "3\n"
    assert seen == [3]
    with pytest.raises(TypeError, match="no callback, but 0 arguments"):
        jax.debug.callback(foo=3)


@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_callback_gets_trees_of_arrays_and_static_values(engine: Any) -> None:
    seen = []

    @engine
    def f(x: Any) -> Any:
        jax.debug.callback(
            lambda tree, name: seen.append((tree, name)), {"x": x, "y": 2}, name="me"
        )
        return x

    f(np.float32(3.0))
    ((tree, name),) = seen
    assert tree == {"x": 3.0, "y": 2}
    assert isinstance(tree["x"], jax.Array)
    assert isinstance(tree["y"], jax.Array)
    assert name == "me"


def test_callback_must_be_callable() -> None:
    with pytest.raises(TypeError, match=r"jax.debug.callback, argument callback(.|\n)*fix:"):
        jax.debug.callback(3)


def test_log(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    f = jax.jit(lambda x: jax.debug.log("x = {}", x))
    f(1.0)
    assert not caplog.records
    with caplog.at_level(logging.INFO, "morphax.debug"):
        f(2.0)
    (record,) = caplog.records
    assert (record.getMessage(), record.levelname) == ("x = 2.0", "INFO")
    assert record.filename == "test_callbacks_debug.py"
    assert capfd.readouterr().out == ""


def test_text_of_programs() -> None:
    def f(x: Any) -> None:
        jax.debug.print("{} {b}", x, b="s")
        jax.debug.callback(print, x, ordered=True)

    jaxpr = jax.make_jaxpr(f)(1.0)
    check_jaxpr(jaxpr)
    text = re.sub(
        r"np_printoptions=.*", "np_printoptions=...", jaxpr.pretty_print(print_effects=True)
    )
    assert text.split("\n") == [
        "{ lambda ; a:f32[]. let",
        "    debug_print[",
        "      fmt={} {b}",
        "      has_placeholders=True",
        "      in_tree=PyTreeDef(((*,), {'b': *}))",
        "      logging_record=None",
        "      np_printoptions=...",
        "      ordered=False",
        "      partitioned=False",
        "      static_args=((1, 's'),)",
        "    ] a",
        "    debug_callback[",
        "      callback=_FlatCallback(callback_func=<built-in function print>, "
        "in_tree=PyTreeDef(((*,), {})))",
        "      effect=OrderedDebug",
        "      partitioned=False",
        "    ] a",
        "  in () : { Debug, OrderedDebug } }",
    ]


def test_effects() -> None:
    assert str(jax.debug.DebugEffect()) == "Debug"
    assert str(jax.debug.OrderedDebugEffect()) == "OrderedDebug"
