"""Which objects are values: arrays and tracers, not those that pass attributes on to one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import aval_of, carries_aval, is_value


class Proxy:
    """Passes everything on to an array, as variables of libraries do."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "value"), name)

    def __jax_array__(self) -> Any:
        return self.value


def test_proxies_are_no_arrays() -> None:
    proxy = Proxy(jnp.ones(3))
    assert proxy.aval.shape == (3,)
    assert carries_aval(proxy.value)
    assert not carries_aval(proxy)
    assert not is_value(proxy)
    with pytest.raises(TypeError, match="array operand"):
        aval_of(proxy)
    with pytest.raises(TypeError, match="array operand"):
        jax.grad(lambda x: lax.sin(Proxy(x)))(1.0)


FUNCTIONS = {
    "sin": lambda p, x: jnp.sin(p(x)).sum(),
    "add": lambda p, x: jnp.add(p(x), 1.0).sum(),
    "multiply": lambda p, x: jnp.multiply(x, p(x)).sum(),
    "operator": lambda p, x: (x * p(x)).sum(),
    "matmul": lambda p, x: x @ p(x),
    "einsum": lambda p, x: jnp.einsum("i,i", p(x), x),
    "where": lambda p, x: jnp.where(True, p(x), 0.0).sum(),
    "reshape": lambda p, x: jnp.reshape(p(x), (3, 1)).sum(),
    "stack": lambda p, x: jnp.stack([p(x), x]).sum(),
    "take": lambda p, x: jnp.take(p(x), 1),
    "set": lambda p, x: jnp.zeros(3).at[:].set(p(x)).sum(),
    "convert": lambda p, x: lax.convert_element_type(p(x), np.float32).sum(),
    "mean": lambda p, x: jnp.mean(p(x)),
    "softmax": lambda p, x: jax.nn.softmax(p(x))[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_see_through_proxies(name: str) -> None:
    function, x = FUNCTIONS[name], jnp.array([0.3, 0.5, 0.7])
    through, plain = (
        [jax.grad(f)(x), jax.jit(f)(x), jax.vmap(f)(x[None])]
        for f in (partial(function, Proxy), partial(function, jnp.asarray))
    )
    for found, expected in zip(through, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
