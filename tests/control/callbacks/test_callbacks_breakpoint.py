"""debug.breakpoint: the prompt, its frames and variables, under transformations."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

X = jnp.arange(3, dtype=np.float32)
PROMPT = "(jdb) "


def session(commands: str, engine: Any = jax.jit, x: Any = X, **options: Any) -> list[str]:
    """What the prompt answers to these commands, in a function with the variables x and y."""
    out = io.StringIO()

    def user_function(x: Any) -> Any:
        y = {"name": "me", "twice": 2.0 * x}
        jax.debug.breakpoint(stdin=io.StringIO(commands), stdout=out, **options)
        return y["twice"]

    np.testing.assert_array_equal(engine(user_function)(x), 2.0 * x)
    first, *answers = out.getvalue().split(PROMPT)
    assert first == "Entering jdb:\n"
    return [answer.rstrip("\n") for answer in answers[:-1]]


@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("p x", "Array([0., 1., 2.], dtype=float32)"),
        ("x + 1", "Array([1., 2., 3.], dtype=float32)"),
        ("p y", "{'name': 'me', 'twice': Array([0., 2., 4.], dtype=float32)}"),
        ("pp y", "{'name': 'me', 'twice': Array([0., 2., 4.], dtype=float32)}"),
        ("[float(v) for v in x if x.sum() > 0]", "[0.0, 1.0, 2.0]"),
        ("jnp.sum(x) if jnp else None", "Array(3., dtype=float32)"),
        ("nothing", "*** NameError: name 'nothing' is not defined"),
        ("p 1 +", "*** SyntaxError: invalid syntax (<string>, line 1)"),
        ("1 / 0", "*** ZeroDivisionError: division by zero"),
        ("", ""),
        ("help p", "p expression: print its value."),
    ],
)
def test_commands(engine: Any, command: str, answer: str) -> None:
    assert session(f"{command}\nc\n", engine)[0] == answer


@pytest.mark.parametrize("leave", ["c", "cont", "continue"])
def test_continue(leave: str) -> None:
    assert session(f"p 1\n{leave}\n") == ["1"]


@pytest.mark.parametrize("leave", ["q\n", "quit\n", "exit\n", ""])
@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_quit(engine: Any, leave: str) -> None:
    with pytest.raises(SystemExit):
        session(leave, engine)


def test_frames() -> None:
    listed, where, up, name, down, bottom = session("l\nw\nu\np commands\nd\nd\nc\n")
    lines = listed.splitlines()
    assert lines[0].startswith("> ")
    assert "test_callbacks_breakpoint.py(" in lines[0]
    assert [line for line in lines if line.startswith("->  ")] == [
        "->          jax.debug.breakpoint(stdin=io.StringIO(commands), stdout=out, **options)"
    ]
    assert any("def user_function" in line for line in lines)
    assert where.startswith("Traceback:\n")
    assert "/morphax/control" not in where
    assert where.endswith(
        "in user_function\n    "
        "jax.debug.breakpoint(stdin=io.StringIO(commands), stdout=out, **options)"
    )
    assert "->      np.testing.assert_array_equal(engine(user_function)" in up
    assert name == r"'l\nw\nu\np commands\nd\nd\nc\n'"
    assert down == listed
    assert bottom == "At bottommost frame.\n" + listed


def test_number_of_frames() -> None:
    up, where = session("u\nw\nc\n", num_frames=1)
    assert up.startswith("At topmost frame.")
    assert where.count("File ") == 1


def test_frames_of_the_package() -> None:
    (where,) = session("w\nc\n", filter_frames=False, num_frames=2)
    assert "morphax" in where
    assert "in user_function" in where


def test_terminal_may_be_replaced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("p x\nc\n"))

    def f(x: Any) -> Any:
        jax.debug.breakpoint()
        return x

    jax.jit(f)(X)
    assert capsys.readouterr().out == (
        "Entering jdb:\n(jdb) Array([0., 1., 2.], dtype=float32)\n(jdb) "
    )


def stopping(commands: list[str], out: io.StringIO) -> Any:
    """A function that stops at prompts, with one set of commands after the other."""
    stdin = io.StringIO("\n".join(commands) + "\n")

    def f(x: Any) -> Any:
        jax.debug.breakpoint(stdin=stdin, stdout=out, backend="cli", ordered=True)
        return x * x

    return f


@pytest.mark.parametrize(
    ("transform", "x", "values"),
    [
        (jax.grad, 2.0, [2.0]),
        (lambda f: jax.jit(jax.grad(f)), 2.0, [2.0]),
        (jax.vmap, X, [0.0, 1.0, 2.0]),
        (lambda f: jax.jit(jax.vmap(jax.grad(f))), X, [0.0, 1.0, 2.0]),
        (lambda f: lambda x: jax.lax.cond(x > 0, f, lambda x: x, x), 2.0, [2.0]),
        (lambda f: lambda x: jax.lax.map(f, x), X, [0.0, 1.0, 2.0]),
        (lambda f: lambda x: jax.lax.fori_loop(0, 2, lambda i, c: f(c), x), 2.0, [2.0, 4.0]),
    ],
)
def test_transformations(transform: Any, x: Any, values: list[float]) -> None:
    out = io.StringIO()
    transform(stopping(["float(x)", "c"] * len(values), out))(x)
    assert [float(word) for word in out.getvalue().split() if word[0].isdigit()] == values


def test_variables_of_outer_functions() -> None:
    out = io.StringIO()
    stdin = io.StringIO("float(c)\nu\nfloat(a)\nc\n" * 2)

    @jax.jit
    def outer(a: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            jax.debug.breakpoint(stdin=stdin, stdout=out, num_frames=2)
            return c + x, None

        total, _ = jax.lax.scan(body, a, jnp.ones(2))
        return total

    assert outer(5.0) == 7.0
    assert [line for line in out.getvalue().splitlines() if line.endswith(".0")] == [
        f"(jdb) {value}" for value in (5.0, 5.0, 6.0, 5.0)
    ]


def test_dead_tracers_are_left_alone() -> None:
    leaked = []
    jax.jit(lambda x: leaked.append(x))(1.0)
    out = io.StringIO()

    def f(x: Any) -> Any:
        old = leaked[0]
        jax.debug.breakpoint(stdin=io.StringIO("old\nc\n"), stdout=out, num_frames=1)
        return x, type(old)

    jax.jit(lambda x: f(x)[0])(1.0)
    assert "JitTracer(~float32[])" in out.getvalue()


def test_no_tracer_is_kept() -> None:
    with jax.checking_leaks():
        assert session("c\n") == []


def test_token_is_handed_back() -> None:
    token = {"a": 1}
    out = io.StringIO()
    assert jax.debug.breakpoint(stdin=io.StringIO("c\n"), stdout=out, token=token) is token
    assert jax.debug.breakpoint(stdin=io.StringIO("c\n"), stdout=out) is None


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"backend": "web"}, ValueError, "'web'"),
        ({"depth": 3}, TypeError, "depth"),
    ],
)
def test_options_are_checked(options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=rf"jax\.debug\.breakpoint(.|\n)*{text}(.|\n)*fix:"):
        jax.debug.breakpoint(**options)
