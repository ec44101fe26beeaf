"""Functions chosen element by element: traced once while they stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax.core import Tracer, stage_with_operands

X = np.linspace(-2, 2, 9, dtype=np.float32)


def _noted(v: Any) -> Any:
    return v * 2


def _called(scale: float, x: Any = X) -> Any:
    conditions = [x < -1, x > 1]
    return jnp.piecewise(x, conditions, [_noted, lambda v: v * scale, lambda v, w=3.0: v + w])


def _expected(scale: float) -> Any:
    return np.piecewise(X, [X < -1, X > 1], [_noted, lambda v: v * scale, lambda v: v + 3])


def test_same_functions_are_traced_once(monkeypatch: Any) -> None:
    staged: list[Any] = []

    def counting(*given: Any) -> Any:
        staged.append(given)
        return stage_with_operands(*given)

    monkeypatch.setattr("morphax.numpy.application.stage_with_operands", counting)
    for _ in range(40):  # from some number of calls on the program is one of kernels
        np.testing.assert_allclose(_called(4.0), _expected(4.0))
    assert len(staged) == 1
    np.testing.assert_allclose(_called(5.0), _expected(5.0))
    assert len(staged) == 2
    jax.config.update("jax_structural_identity", False)
    try:
        _called(5.0)
    finally:
        jax.config.update("jax_structural_identity", True)
    assert len(staged) == 3


def test_functions_that_do_more_than_compute_are_called_each_time() -> None:
    met: list[Any] = []

    def noting(v: Any) -> Any:
        met.append(type(v))
        return v + len(met)

    first, second = (jnp.piecewise(X, [X < 0], [noting, 0.0]) for _ in range(2))
    np.testing.assert_allclose(first[0], -1)
    np.testing.assert_allclose(second[0], 0)
    assert all(issubclass(kind, Tracer) for kind in met)


def test_traced_values_in_closures() -> None:
    def total(scale: Any) -> Any:
        return jnp.sum(_called(scale))

    slope = X[X > 1].sum()
    for scale in (2.0, 3.0, 3.0):
        np.testing.assert_allclose(jax.grad(total)(scale), slope)
        np.testing.assert_allclose(jax.jit(jax.grad(total))(scale), slope)
    scales = np.arange(3, dtype=np.float32)
    expected = [_expected(float(scale)).sum() for scale in scales]
    np.testing.assert_allclose(jax.vmap(total)(scales), expected, rtol=1e-6)
    np.testing.assert_allclose(total(jnp.asarray(3.0)), expected[2] + slope, rtol=1e-6)


def test_derivatives_leave_out_what_is_not_chosen() -> None:
    def total(x: Any) -> Any:
        return jnp.sum(jnp.piecewise(x, [x > 0], [jnp.sqrt, lambda v: -v]))

    for _ in range(2):
        slopes = jax.grad(total)(jnp.array([-1.0, 0.0, 4.0]))
        np.testing.assert_allclose(slopes, [-1, -1, 0.25])
