"""Tokens: operands and results without numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.extend.core import Token

TOKEN = lax.create_token()


def joined(token: Any, x: Any) -> Any:
    return lax.after_all(token, lax.create_token()), x * 2


@pytest.mark.parametrize(
    "token", [TOKEN, lax.create_token(3), lax.after_all(), lax.after_all(TOKEN, TOKEN), Token(1.0)]
)
def test_tokens_have_no_numbers(token: Any) -> None:
    assert isinstance(token, Token)
    assert jax.typeof(token) is core.abstract_token
    assert repr(token) == str(token) == "Token()"
    assert jax.block_until_ready(token) is token
    assert not hasattr(token, "dtype")
    for use in (jnp.sin, jnp.exp, lambda x: x + 1):
        with pytest.raises((TypeError, AttributeError)):
            use(token)


def test_arrays_are_no_tokens() -> None:
    assert not isinstance(jnp.ones(3), Token)
    assert not isinstance(1.0, Token)


@pytest.mark.parametrize("x", [1.0, np.ones(3), jnp.zeros((), bool)])
def test_after_all_refuses_what_is_no_token(x: Any) -> None:
    for bind in (lax.after_all, lax.after_all_p.bind, jax.jit(lax.after_all)):
        with pytest.raises(TypeError, match=r"lax\.after_all"):
            bind(TOKEN, x)


def test_compiled_programs_take_and_give_them() -> None:
    compiled = jax.jit(joined)
    for _ in range(2):
        token, x = compiled(TOKEN, 3.0)
        assert isinstance(token, Token)
        assert x == 6.0
        assert isinstance(compiled(token, 3.0)[0], Token)
    text = compiled.lower(TOKEN, 3.0).as_text()
    assert "stablehlo.create_token" in text
    assert "stablehlo.after_all" in text
    assert "!stablehlo.token" in text


def test_a_program_may_pass_one_on() -> None:
    token, x = jax.jit(lambda t, x: (t, x + 1))(TOKEN, 1.0)
    assert isinstance(token, Token)
    assert x == 2.0
    assert isinstance(jax.jit(lax.create_token)(), Token)


def test_members_of_a_batch_share_them() -> None:
    f = jax.vmap(joined, in_axes=(None, 0), out_axes=(None, 0))
    token, x = jax.jit(f)(TOKEN, np.ones(3, np.float32))
    assert isinstance(token, Token)
    np.testing.assert_array_equal(x, 2 * np.ones(3))
    with pytest.raises(ValueError, match="mapped over axis 0"):
        jax.vmap(joined)(TOKEN, np.ones(3))


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_derivatives_pass_them_by(transform: Any) -> None:
    f = transform(joined)
    assert jax.grad(lambda x: f(TOKEN, x)[1])(3.0) == 2.0
    assert jax.jvp(lambda x: f(TOKEN, x)[1], (3.0,), (1.0,))[1] == 2.0
    (token, x), pushforward = jax.linearize(lambda x: f(TOKEN, x), 3.0)
    assert isinstance(token, Token)
    assert (x, pushforward(1.0)[1]) == (6.0, 2.0)


def test_programs_show_them() -> None:
    text = "{ lambda ; a:Tok. let b:Tok = create_token ; c:Tok = after_all a b in (c,) }"
    program = jax.make_jaxpr(lambda t: lax.after_all(t, lax.create_token()))(TOKEN)
    assert str(program) == text
    core.check_jaxpr(program.jaxpr)
