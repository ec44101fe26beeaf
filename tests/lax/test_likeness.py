"""Shapes and dtypes taken over from values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 1), (2, 3)])
def test_broadcast_like(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int8).reshape(shape)
    given = jax.jit(lax.broadcast_like)(x, np.zeros((2, 3)))
    np.testing.assert_array_equal(given, np.broadcast_to(x, (2, 3)))
    assert given.dtype == np.int8


@pytest.mark.parametrize("shape", [(2,), (4, 3), (1, 2, 3)])
def test_broadcast_like_refuses(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"lax\.broadcast_like"):
        lax.broadcast_like(np.zeros(shape), np.zeros((2, 3)))


def test_dtype() -> None:
    for x, expected in [(1, "i4"), (True, "?"), (1j, "c8"), ("float32", "f4"), (np.int8, "i1")]:
        assert lax.dtype(x) == expected
    assert lax.dtype(ml_dtypes.bfloat16) == ml_dtypes.bfloat16
    assert jax.jit(lambda x: lax.full((), 1, lax.dtype(x)))(np.int16(3)).dtype == np.int16
    for x, error in [(None, ValueError), ([1.0], TypeError)]:
        with pytest.raises(error, match=r"lax\.dtype"):
            lax.dtype(x)


def test_shape_as_value() -> None:
    for shape in ((2, 3), [], (np.int64(4), -1)):
        out = lax.shape_as_value(shape)
        assert (out.dtype, out.tolist()) == (np.int32, list(shape))
    assert jax.jit(lambda n: lax.shape_as_value((n, 3)))(2).tolist() == [2, 3]
    assert jax.jit(lambda x: lax.shape_as_value(x.shape))(np.ones((2, 5))).tolist() == [2, 5]
    for wrong in ((2.0,), ("a",), 3):
        with pytest.raises(TypeError):
            lax.shape_as_value(wrong)


def test_stage() -> None:
    assert lax.stage(1.5).aval == jnp.asarray(1.5).aval
    assert isinstance(lax.stage(np.arange(3)), jax.Array)
    seen = []

    def f(x: float) -> Any:
        seen.extend([isinstance(lax.stage(v), jax.core.Tracer) for v in (x, 2.0, np.arange(3))])
        return lax.stage(np.float32(3)) + lax.stage(x)

    assert jax.jit(f)(1.0) == 4
    assert seen == [True, True, True]
    assert jax.grad(lax.stage)(2.0) == 1
    for wrong in ("a", None, (1.0, 2.0)):
        with pytest.raises(TypeError, match=r"(?s)lax.stage.*expected:.*fix:"):
            lax.stage(wrong)


def test_the_primitive_of_stage_is_no_equation() -> None:
    assert not jax.make_jaxpr(lax.stage_p.bind)(1.0).eqns
    assert isinstance(lax.stage_p.bind(1.0), jax.Array)
    assert jax.grad(lax.stage_p.bind)(1.0) == 1.0
