"""The checks of derivatives find errors, and only errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.test_util import check_close, check_grads, check_jvp, check_vjp


def wrong_sine(factor: Any) -> Any:
    function = jax.custom_jvp(jnp.sin)
    function.defjvps(lambda t, out, x: factor * t * jnp.cos(x))
    return function


def test_trees_and_integers() -> None:
    args = ({"x": jnp.ones(3), "y": 2.0}, 3)
    check_grads(lambda d, n: jnp.sin(d["x"]) * d["y"] * n, args, order=1)


def test_orders_and_complex_numbers() -> None:
    with jax.enable_x64(True):
        check_grads(jnp.tanh, (0.3,), order=3)
        check_grads(lambda z: jnp.sin(z) * z, (np.ones(3) + 1j,), order=2)


@pytest.mark.parametrize("modes", [("fwd",), ["rev"], "fwd", "rev"])
def test_a_wrong_rule_is_found(modes: Any) -> None:
    for factor in (0.0, 0.98, 1.02, -1.0):
        with pytest.raises(AssertionError):
            check_grads(wrong_sine(factor), (1.0,), order=1, modes=modes)
    check_grads(wrong_sine(1.02), (1.0,), order=1, modes=modes, rtol=0.03)
    check_grads(wrong_sine(1.0), (1.0,), order=2, modes=modes)


def test_single_checks() -> None:
    check_jvp(jnp.sin, functools.partial(jax.jvp, jnp.sin), (1.0,))
    check_vjp(jnp.sin, functools.partial(jax.vjp, jnp.sin), (1.0,))
    with pytest.raises(AssertionError):
        check_jvp(jnp.sin, functools.partial(jax.jvp, jnp.cos), (1.0,))
    with pytest.raises(AssertionError):
        check_vjp(jnp.sin, functools.partial(jax.vjp, jnp.cos), (1.0,))


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="argument modes"):
        check_grads(jnp.sin, (1.0,), order=1, modes=("back",))


def test_tolerances_by_dtype() -> None:
    def wrong(x: object) -> object:
        return jnp.sin(x)

    rule = lambda primals, tangents: (wrong(*primals), 1.01 * jnp.cos(*primals) * tangents[0])  # noqa: E731
    for tolerance in ({np.float32: 0.1}, {"float32": 0.1}, {jnp.float32: 0.1, "float64": 0.0}):
        check_jvp(wrong, rule, (0.5,), tolerance, tolerance)
    for tolerance in ({}, {"float64": 0.1}):
        with pytest.raises(AssertionError):
            check_jvp(wrong, rule, (0.5,), tolerance, tolerance)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_trees_that_are_close(dtype: Any) -> None:
    x = jnp.array([0.3, 1e4], dtype)
    close, apart = (
        [{"a": (x * (1 + n * float(jnp.finfo(dtype).eps))).astype(dtype)}, 3] for n in (2, 40)
    )
    given = [{"a": x}, 3]
    check_close(close, given)
    check_close(apart, given, rtol=0.5)
    check_close(apart, given, rtol={np.dtype(x.dtype): 0.5})
    refused = [apart, [{"a": x}, 4], [{"a": x[:1]}, 3], [{"a": x * jnp.nan}, 3]]
    for tree in refused:
        with pytest.raises(AssertionError, match="of two"):
            check_close(tree, given, err_msg="of two")


def test_whole_numbers_are_compared_exactly() -> None:
    check_close(10000, np.int32(10000))
    with pytest.raises(AssertionError):
        check_close(10001, 10000)
    with pytest.raises(AssertionError):
        check_close(jnp.ones((3, 1)), jnp.ones(3))
