"""debug.print and debug.callback: under every transformation, in order, with checked formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


def shout(x: Any) -> Any:
    jax.debug.print("x = {}", x)
    return x * 2.0


PRINTED = [
    pytest.param(lambda: shout(1.0), ["x = 1.0"], id="eager"),
    pytest.param(lambda: jax.jit(shout)(1.0), ["x = 1.0"], id="jit"),
    pytest.param(lambda: jax.grad(shout)(1.0), ["x = 1.0"], id="grad"),
    pytest.param(lambda: jax.jit(jax.grad(shout))(1.0), ["x = 1.0"], id="jit of grad"),
    pytest.param(lambda: jax.vmap(shout)(jnp.arange(2.0)), ["x = 0.0", "x = 1.0"], id="vmap"),
    pytest.param(
        lambda: jax.lax.scan(lambda c, x: (c, shout(x)), 0, jnp.arange(2.0)),
        ["x = 0.0", "x = 1.0"],
        id="scan",
    ),
    pytest.param(
        lambda: jax.jit(lambda x: jax.lax.cond(x > 0, shout, lambda x: x, x))(1.0),
        ["x = 1.0"],
        id="cond",
    ),
]


@pytest.mark.parametrize(("call", "lines"), PRINTED)
def test_print(call: Any, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    call()
    assert sorted(capsys.readouterr().out.splitlines()) == lines


def test_ordered_prints_keep_the_order_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    @jax.jit
    def f(x: Any) -> Any:
        for i in range(5):
            jax.debug.print("{}", x + i, ordered=True)
        return x

    f(0)
    assert capsys.readouterr().out.split() == ["0", "1", "2", "3", "4"]


def test_callback_gets_trees_and_static_values() -> None:
    seen = []

    @jax.jit
    def f(x: Any) -> Any:
        jax.debug.callback(lambda tree, name: seen.append((tree, name)), {"x": x}, name="here")
        return x

    f(np.float32(3.0))
    ((tree, name),) = seen
    assert tree["x"] == 3.0
    assert isinstance(tree["x"], np.ndarray)
    assert name == "here"


@pytest.mark.parametrize(
    ("fmt", "args", "kwargs"),
    [("{} {}", (1,), {}), ("{}", (1, 2), {}), ("{a}", (), {"b": 1}), ("{", (1,), {})],
)
def test_formats_are_checked(fmt: str, args: Any, kwargs: Any) -> None:
    with pytest.raises(ValueError, match=r"jax\.debug\.print(.|\n)*fix:"):
        jax.debug.print(fmt, *args, **kwargs)


def test_wrong_kinds() -> None:
    with pytest.raises(TypeError, match="a format string"):
        jax.debug.print(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a callable"):
        jax.debug.callback(3)  # type: ignore[arg-type]
