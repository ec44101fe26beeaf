"""Tracebacks without the package's frames, wherever functions of the user are called from."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core.hidden_frames import DEPTH, NOTE

X = np.arange(3.0, dtype=np.float32)


def mistaken(*_: Any) -> Any:
    raise LookupError("a mistake of the user's")


@jax.custom_jvp
def ruled(x: Any) -> Any:
    return x


ruled.defjvp(mistaken)


@jax.custom_batching.custom_vmap
def own_batching(x: Any) -> Any:
    return x


own_batching.def_vmap(mistaken)

CALLS: dict[str, Callable[[], Any]] = {
    "jit": lambda: jax.jit(mistaken)(X),
    "nested jit": lambda: jax.jit(jax.jit(mistaken))(X),
    "grad": lambda: jax.grad(mistaken)(1.0),
    "value_and_grad": lambda: jax.value_and_grad(mistaken)(1.0),
    "jacfwd": lambda: jax.jacfwd(mistaken)(X),
    "hessian": lambda: jax.hessian(mistaken)(X),
    "jvp": lambda: jax.jvp(mistaken, (X,), (X,)),
    "vjp": lambda: jax.vjp(mistaken, X),
    "linearize": lambda: jax.linearize(mistaken, X),
    "linear_transpose": lambda: jax.linear_transpose(mistaken, X),
    "vmap": lambda: jax.vmap(mistaken)(X),
    "make_jaxpr": lambda: jax.make_jaxpr(mistaken)(X),
    "eval_shape": lambda: jax.eval_shape(mistaken, X),
    "checkpoint": lambda: jax.checkpoint(mistaken)(X),
    "scan": lambda: lax.scan(mistaken, 0.0, X),
    "while_loop": lambda: lax.while_loop(mistaken, mistaken, 0.0),
    "fori_loop": lambda: lax.fori_loop(0, 3, mistaken, 0.0),
    "map": lambda: lax.map(mistaken, X),
    "cond": lambda: lax.cond(True, mistaken, mistaken, X),
    "switch": lambda: lax.switch(1, [mistaken, mistaken], X),
    "associative_scan": lambda: lax.associative_scan(mistaken, X),
    "rule": lambda: jax.grad(ruled)(1.0),
    "batching rule": lambda: jax.vmap(own_batching)(X),
    "deep": lambda: jax.jit(jax.grad(lambda x: lax.scan(mistaken, x, X)[0]))(1.0),
    "disable_jit": lambda: _without_jit(lambda: jax.jit(mistaken)(X)),
}


def _without_jit(call: Callable[[], Any]) -> Any:
    with jax.disable_jit():
        return call()


@contextmanager
def filtering(mode: str) -> Iterator[None]:
    """Context in which tracebacks are shown in one of the ways."""
    jax.config.update("jax_traceback_filtering", mode)
    try:
        yield
    finally:
        jax.config.update("jax_traceback_filtering", "off")


def _frames(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("name", CALLS)
def test_only_frames_of_the_user_are_left(name: str) -> None:
    with filtering("auto"), pytest.raises(LookupError) as caught:
        CALLS[name]()
    assert set(_frames(caught.value)) == {__file__}
    assert caught.value.__notes__ == [NOTE]
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "mistaken"


@pytest.mark.parametrize("mode", ["off", "tracebackhide", "quiet_remove_frames"])
def test_other_ways(mode: str) -> None:
    with filtering(mode), pytest.raises(LookupError) as caught:
        CALLS["deep"]()
    assert not hasattr(caught.value, "__notes__")
    removed = mode == "quiet_remove_frames"
    assert (set(_frames(caught.value)) == {__file__}) == removed


def test_operators_raise_at_the_line_of_the_user() -> None:
    with filtering("auto"):
        with pytest.raises(ValueError, match=r"jnp\.add") as caught:
            jnp.ones(3) + jnp.ones(4)
        with pytest.raises(ValueError, match=r"jnp\.add") as called:
            jnp.add(jnp.ones(3), jnp.ones(4))
    assert _frames(caught.value) == _frames(called.value) == [__file__]


def within_another(levels: int) -> Callable[[Any], Any]:
    f: Callable[[Any], Any] = jnp.sin
    for _ in range(levels):
        f = _one_more(f)
    return f


def _one_more(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return jax.jit(lambda x: lax.cond(x > -1, f, jnp.cos, x) + 0.5)


@pytest.mark.parametrize("mode", ["auto", "off"])
def test_too_deep_is_explained_once(mode: str) -> None:
    with filtering(mode), pytest.raises(RecursionError) as caught:
        within_another(sys.getrecursionlimit() // 4)(1.0)
    (note,) = [n for n in caught.value.__notes__ if n.startswith(DEPTH)]
    assert f"limit of {sys.getrecursionlimit()}" in note
    assert "Call sys.setrecursionlimit" in note


def test_deep_programs_need_no_more_than_a_higher_limit(deep: None) -> None:
    f = within_another(40)
    assert float(f(1.0)) == pytest.approx(np.sin(1.0) + 20.0, rel=1e-5)
    assert float(jax.grad(f)(1.0)) == pytest.approx(np.cos(1.0), rel=1e-5)
    assert jax.vmap(f)(jnp.ones(2)).shape == (2,)


@pytest.fixture
def deep() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * limit)
    yield
    sys.setrecursionlimit(limit)
