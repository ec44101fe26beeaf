"""`device_put` of traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

DEVICE = jax.devices("cpu")[0]


def moved_square(x: Any) -> Any:
    return jax.device_put({"x": x, "n": 3}, DEVICE)["x"] ** 2


def test_one_equation_for_all_leaves() -> None:
    jaxpr = jax.make_jaxpr(lambda x, y: jax.device_put([x, y], DEVICE))(1.0, jnp.ones(3))
    (eqn,) = jaxpr.eqns
    assert eqn.primitive.name == "device_put"
    assert eqn.params["devices"] == (DEVICE, DEVICE)
    assert str(eqn.params["copy_semantics"][0]) == "ArrayCopySemantics.REUSE_INPUT"


def test_transformations() -> None:
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.jit(moved_square)(x), x**2)
    np.testing.assert_array_equal(jax.vmap(moved_square)(x), x**2)
    for gradient in (jax.grad(moved_square), jax.jit(jax.grad(moved_square))):
        assert gradient(3.0) == 6
    assert jax.jvp(moved_square, (3.0,), (2.0,))[1] == 12
    assert jax.grad(jax.grad(moved_square))(3.0) == 2
    np.testing.assert_array_equal(jax.vmap(jax.grad(moved_square))(x), 2 * x)


def test_integers_have_no_tangent() -> None:
    zero = np.zeros((), jax.dtypes.float0)
    outs, tangents = jax.jvp(lambda *xs: jax.device_put(xs, DEVICE), (1.0, 2), (5.0, zero))
    assert outs == (1.0, 2)
    assert tangents[0] == 5
    assert tangents[1].dtype == jax.dtypes.float0


def test_wrong_place() -> None:
    with pytest.raises(ValueError, match="argument device"):
        jax.jit(lambda x: jax.device_put(x, "nowhere"))(1.0)


def test_a_program_that_can_run_on_one_device_only(two_devices: list[Any]) -> None:
    there = two_devices[1]
    f = jax.jit(lambda x: jax.device_put(2 * x, there))
    x = jax.device_put(np.ones(3), there)
    for _ in range(3):
        assert f(x).devices() == {there}
    with pytest.raises(ValueError, match="argument device"):
        f(np.ones(3))
