"""What `jnp.array` makes of numbers: known, or constants of the program that is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import errors, lax

MAKERS: dict[str, Callable[[], Any]] = {
    "asarray(False)": lambda: jnp.asarray(False),
    "array(2.5)": lambda: jnp.array(2.5),
    "float32(1)": lambda: jnp.float32(1),
    "array([1, 2])": lambda: jnp.array([1, 2]),
    "asarray(numpy)": lambda: jnp.asarray(np.ones(3)),
    "array(dtype)": lambda: jnp.array(1, "bfloat16"),
    "array([])": lambda: jnp.array([]),
}
# Whether user code sees numbers in a context, as it does in JAX.
CONTEXTS: dict[str, tuple[bool, Callable[[Any], Any]]] = {
    "eager": (True, lambda f: f(1.5)),
    "grad": (True, lambda f: jax.grad(f)(1.5)),
    "vjp": (True, lambda f: jax.vjp(f, 1.5)[1](1.0)),
    "linearize": (True, lambda f: jax.linearize(f, 1.5)[1](1.0)),
    "jvp": (True, lambda f: jax.jvp(f, (1.5,), (1.0,))),
    "vmap": (True, lambda f: jax.vmap(f)(jnp.ones(2))),
    "vmap of grad": (True, lambda f: jax.vmap(jax.grad(f))(jnp.ones(2))),
    "hessian": (True, lambda f: jax.hessian(f)(1.5)),
    "jit": (False, lambda f: jax.jit(f)(1.5)),
    "jit of grad": (False, lambda f: jax.jit(jax.grad(f))(1.5)),
    "jit of vmap": (False, lambda f: jax.jit(jax.vmap(f))(jnp.ones(2))),
    "grad of jit": (False, lambda f: jax.grad(jax.jit(f))(1.5)),
    "scan": (False, lambda f: lax.scan(lambda c, _: (f(c), None), 1.5, None, length=2)),
    "while": (False, lambda f: lax.while_loop(lambda c: c < 3, f, 1.5)),
    "cond": (False, lambda f: lax.cond(True, f, lambda x: x, 1.5)),
    "checkpoint": (False, lambda f: jax.checkpoint(f)(1.5)),
    "make_jaxpr": (False, lambda f: jax.make_jaxpr(f)(1.5)),
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", MAKERS)
def test_numbers_are_known_where_nothing_is_written(name: str, context: str) -> None:
    made: list[bool] = []
    is_known, apply = CONTEXTS[context]

    def f(x: Any) -> Any:
        constant = MAKERS[name]()
        made.append(not isinstance(constant, jax.core.Tracer))
        assert constant.dtype == MAKERS[name]().dtype
        return x * 2 + constant.astype("float32").sum()

    apply(f)
    assert made
    assert set(made) == {is_known}
    np.testing.assert_array_equal(jax.jit(f)(1.5), f(1.5))


def test_scalars_are_literals_and_keep_their_weakness() -> None:
    jaxpr = jax.make_jaxpr(lambda x: (x + jnp.asarray(1.5), jnp.array(2), jnp.array([1, 2])))(1.0)
    assert str(jaxpr) == (
        "{ lambda a:i32[2]; b:f32[]. let c:f32[] = add b 1.5:f32[] in (c, 2:i32[], a) }"
    )
    assert jaxpr.out_avals[0].weak_type


def test_a_literal_is_one_in_the_programs_within() -> None:
    def f(x: Any) -> Any:
        one = jnp.asarray(1.0)
        return lax.scan(lambda c, _: (jax.jit(lambda y: y + one)(c), None), x, None, length=2)[0]

    (eqn,) = jax.make_jaxpr(f)(2.0).eqns
    assert eqn.params["num_consts"] == 0
    assert f(2.0) == jax.jit(f)(2.0) == 4.0


def test_a_mask_in_an_index_is_known() -> None:
    found = jax.jit(lambda x: (x[:, [True, False, True]], x.at[:, [False, True, False]].set(0)))(
        np.ones((2, 3))
    )
    assert found[0].shape == (2, 2)
    assert found[1].sum() == 4


def test_a_library_finds_out_that_it_is_traced() -> None:
    def is_traced() -> bool:
        try:
            return bool(jnp.asarray(False))
        except errors.TracerBoolConversionError:
            return True

    assert not is_traced()
    seen = []
    jax.jit(lambda x: seen.append(is_traced()) or x)(1.0)
    assert seen == [True]
    with jax.ensure_compile_time_eval():
        assert not is_traced()
