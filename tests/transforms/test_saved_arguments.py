"""What a pullback keeps of the arguments: `args_res`, `opaque_residuals` and `saveable_args`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.ad import NotNeeded, NotSaveable

W = jnp.arange(6, dtype=np.float32).reshape(2, 3) / 8
X = jnp.arange(4, dtype=np.float32).reshape(2, 2) / 4


def layer(w: Any, x: Any) -> Any:
    return jnp.tanh(x @ w)


def pullback(**options: Any) -> Any:
    return jax.vjp(layer, W, X, **options)[1]


CT = jnp.ones((2, 3))
WANT = pullback()(CT)


def check(given: Any) -> None:
    for own, wanted in zip(given, WANT, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-6)


def test_arguments_are_residuals_apart() -> None:
    whole = pullback()
    assert whole.args_res == [W, X]
    assert [x.shape for x in whole.opaque_residuals] == [(2, 3)]
    assert len(jax.tree.leaves(whole)) == 3
    _, of_one = jax.vjp(lambda x, y: x + jnp.sin(y), W, 3.0)
    assert of_one.args_res == [NotNeeded(), NotNeeded()]
    assert len(of_one.opaque_residuals) == 1
    assert repr(NotNeeded()) == "NotNeeded()"
    staged = jax.jit(lambda w, x: jax.vjp(layer, w, x)[1])(W, X)
    assert [x.shape for x in staged.args_res] == [W.shape, X.shape]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_what_is_not_saveable_is_given_again(wrap: Any) -> None:
    light = wrap(lambda w, x: jax.vjp(layer, w, x, saveable_args=(False, True))[1])(W, X)
    assert isinstance(light.args_res[0], NotSaveable)
    assert repr(light.args_res[0]) == "NotSaveable()"
    assert len(jax.tree.leaves(light)) == 2
    with pytest.raises(ValueError, match=r"(?s)given: +w as NotSaveable.*fix:.*args_res"):
        light(CT)
    check(wrap(lambda g, w: g.replace(args_res=[w, g.args_res[1]])(CT))(light, W))

    def restored(g: Any, w: Any) -> Any:
        g.args_res[0] = w
        return g(CT)

    check(wrap(restored)(light, W))


def test_values_are_replaced_on_the_way_through_a_tree() -> None:
    whole = pullback(saveable_args=False)
    assert len(jax.tree.leaves(whole)) == 1
    whole.args_res = [W, X]
    assert len(jax.tree.leaves(whole)) == 3
    check(jax.tree.map(lambda x: x, whole)(CT))


def test_trees_and_repeated_arguments() -> None:
    d = {"hi": jnp.ones((4, 5)), "bye": jnp.ones((3, 4))}
    _, g = jax.vjp(lambda d: d["bye"] @ d["hi"], d, saveable_args=((True, False),))
    assert isinstance(g.args_res[0]["hi"], NotSaveable)
    assert g.args_res[0]["bye"] is d["bye"]
    g.args_res = [d]
    assert jax.tree.map(jnp.shape, g(jnp.ones((3, 5)))[0]) == {"hi": (4, 5), "bye": (3, 4)}
    _, twice = jax.vjp(lambda x, y: x * y, W, W, saveable_args=(False, True))
    assert twice.args_res == [NotNeeded(), W]
    np.testing.assert_array_equal(twice(jnp.ones(W.shape))[0], W)


def test_wrong_calls() -> None:
    for wrong in ((True,), (True, [True]), 1, (True, None)):
        with pytest.raises(ValueError, match=r"(?s)saveable_args.*fix:"):
            pullback(saveable_args=wrong)
    light = pullback(saveable_args=(False, True))
    light.args_res[0] = W.T
    with pytest.raises(ValueError, match=r"(?s)args_res of w.*float32\[3,2\].*float32\[2,3\]"):
        light(CT)
    light.args_res = [W]
    with pytest.raises(ValueError, match=r"(?s)args_res.*structure of the arguments"):
        light(CT)
