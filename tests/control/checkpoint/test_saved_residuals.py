"""The list of residuals that users read."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.ad_checkpoint import checkpoint_name, print_saved_residuals

TABLE = jnp.ones((3, 3))


def mlp(params: Any, x: Any) -> Any:
    h = checkpoint_name(jnp.exp(jnp.dot(x, params["w"])), "hidden")
    return jax.jit(lambda h: jnp.sin(h) * 2.0)(h).sum()


def loop(x: Any) -> Any:
    return lax.scan(lambda c, _: (jnp.sin(jnp.dot(TABLE, c)), None), x, None, length=5)[0]


PARAMS, X = {"w": np.ones((3, 2), np.float32)}, np.ones((4, 3), np.float32)
HERE = r"from .*test_saved_residuals\.py:\d+ \("


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (
            mlp,
            (PARAMS, X),
            [
                r"f32\[3,2\] from the argument params\['w'\]",
                r"f32\[4,3\] from the argument x",
                rf"f32\[4,2\] named 'hidden' {HERE}mlp\)",
                r"f32\[4,2\] output of jitted function '<lambda>' from .*",
            ],
        ),
        (jax.checkpoint(mlp), (PARAMS, X), [
            r"f32\[3,2\] from the argument params\['w'\]",
            r"f32\[4,3\] from the argument x",
        ]),
        (loop, (X[0],), [
            r"f32\[3,3\] from a constant", rf"f32\[5,3\] output of scan {HERE}loop\)"
        ]),
        (lambda x: 3.0 * x, (1.0,), []),
        (lambda i, x: x[i], (0, X), [r"i32\[1\] output of .*"]),
    ],
    ids=["mlp", "checkpointed", "loop", "linear", "integer"],
)  # fmt: skip
def test_lines(
    function: Any, arguments: Any, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_saved_residuals(function, *arguments)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(expected), lines
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line), line


def test_keyword_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    print_saved_residuals(lambda x, y: x * y, 2.0, y=3.0)
    assert capsys.readouterr().out == "f32[] from the argument x\nf32[] from the argument y\n"


def test_computed_residuals_of_a_checkpoint_name_their_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def layer(x: Any) -> Any:
        return jnp.sin(checkpoint_name(jnp.sin(x), "inner"))

    policy = jax.checkpoint_policies.save_only_these_names("inner")
    print_saved_residuals(jax.checkpoint(layer, policy=policy), 1.0)
    _, named = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"f32\[\] named 'inner' {HERE}.*layer\)", named)


def test_inside_a_transformation(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print_saved_residuals(lambda y: jnp.sin(x * y), 1.0)
        return x

    jax.jit(f)(2.0)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "f32[] from a constant"
    assert second.startswith("f32[] output of cos")


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="it should be a callable"):
        print_saved_residuals(3, 1.0)
    with pytest.raises(TypeError, match="argument x"):
        print_saved_residuals(lambda x: x, "text")
