"""`grad`, `jacfwd`, `jacrev` and `hessian`: arguments, complex conventions, misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

Z = np.complex64(3 + 1j)


def g(x: Any, y: Any) -> Any:
    return x * y**2


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
@pytest.mark.parametrize(
    ("argnums", "want"),
    [
        (0, 9.0),
        (-1, 12.0),
        (np.int64(1), 12.0),
        ((-1, 0), (12.0, 9.0)),
        ([1, 0], (12.0, 9.0)),
        ((1,), (12.0,)),
    ],
)
def test_argnums(wrap: Any, argnums: Any, want: Any) -> None:
    for derivative in (jax.grad, jax.jacrev, jax.jacfwd):
        assert wrap(derivative(g, argnums))(2.0, 3.0) == want
        assert wrap(derivative(lambda x, y: (g(x, y), y), argnums, has_aux=True))(2.0, 3.0) == (
            want,
            3.0,
        )


def test_hessian_of_trees_and_tuples() -> None:
    np.testing.assert_allclose(jax.hessian(g, (0, 1))(2.0, 3.0), [[0.0, 6.0], [6.0, 4.0]])
    tree = jax.hessian(lambda d: {"z": (d["x"] ** 3).sum()})({"x": jnp.array([1.0, 2.0])})
    np.testing.assert_allclose(tree["z"]["x"]["x"], np.diag([6.0, 12.0]))
    matrix, aux = jax.hessian(lambda x: (x**3, {"x": x}), has_aux=True)(2.0)
    assert (matrix, aux) == (12.0, {"x": 2.0})


def test_other_arguments_may_be_anything() -> None:
    assert jax.grad(lambda name, x: len(name) * x, 1)("abc", 2.0) == 3.0
    assert jax.jacfwd(lambda x, name: len(name) * x)(2.0, name="abc") == 3.0
    assert jax.grad(lambda d: d["a"])({"a": 1.0, "b": None}) == {"a": 1.0, "b": None}


def test_complex_conventions() -> None:
    assert np.allclose(jax.grad(lambda z: jnp.abs(z) ** 2)(Z), 2 * np.conj(Z))
    holomorphic = {"holomorphic": True}
    for derivative in (jax.grad, jax.jacrev, jax.jacfwd):
        assert np.allclose(derivative(lambda z: z**2, **holomorphic)(Z), 2 * Z)
    assert np.allclose(jax.hessian(lambda z: z**3, **holomorphic)(Z), 6 * Z)
    assert np.allclose(jax.jacfwd(lambda x: x * 1j)(3.0), 1j)
    # A real argument of a complex program: its cotangent is real.
    assert np.allclose(jax.grad(lambda x: jnp.real((x * 1j) ** 2))(3.0), -6.0)
    assert np.allclose(jax.vjp(lambda z: z * (1 + 2j), Z)[1](np.complex64(1j))[0], 1j * (1 + 2j))


def test_integers_with_allow_int() -> None:
    assert jax.grad(lambda n: n * 1.0, allow_int=True)(3).dtype == jax.float0
    rows = jax.jacrev(lambda n, x: n * x, (0, 1), allow_int=True)(jnp.arange(2), jnp.ones(2))
    assert (rows[0].dtype, rows[0].shape) == (jax.float0, (2, 2))
    np.testing.assert_array_equal(rows[1], np.diag([0.0, 1.0]))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_integers_do_not_move(wrap: Any) -> None:
    columns_of = jax.jacfwd(lambda x: (x * 2, jnp.argmax(x), jnp.int32(x)))
    moved, place, whole = wrap(columns_of)(jnp.arange(3.0))
    np.testing.assert_array_equal(moved, 2 * np.eye(3))
    assert (place.dtype, place.shape, whole.shape) == (np.int32, (3,), (3, 3))
    assert not place.any()
    assert not whole.any()
    columns = jax.jacfwd(lambda x: x > 0)(jnp.arange(3.0))
    assert (columns.dtype, columns.shape) == (jax.float0, (3, 3))


ERRORS = [
    pytest.param(lambda: jax.grad(g, 2)(1.0, 2.0), TypeError, "argnums=2", id="argnums"),
    pytest.param(lambda: jax.grad(g)(x=1.0, y=2.0), TypeError, "positionally", id="keywords"),
    pytest.param(lambda: jax.grad(g, (0, 0))(1.0, 2.0), ValueError, "each once", id="twice"),
    pytest.param(lambda: jax.jacfwd(g, (1, -1))(1.0, 2.0), ValueError, "once", id="twice by sign"),
    pytest.param(
        lambda: jax.grad(lambda x: x * 1j)(3.0), TypeError, "holomorphic=True", id="complex result"
    ),
    pytest.param(lambda: jax.grad(jnp.int32)(3.0), TypeError, "use vjp", id="integer result"),
    pytest.param(
        lambda: jax.grad(jnp.real, holomorphic=True)(Z), TypeError, "complex", id="real result"
    ),
    pytest.param(lambda: jax.grad(g)(1, 2.0), TypeError, "allow_int=True", id="integer"),
    pytest.param(
        lambda: jax.grad(g, holomorphic=True, allow_int=True)(1, 2.0), TypeError, "complex", id="h"
    ),
    pytest.param(
        lambda: jax.jacrev(lambda z: {"a": z * z})(Z), TypeError, r"result\['a'\]", id="jacrev"
    ),
    pytest.param(lambda: jax.jacrev(jnp.int32)(3.0), TypeError, "use vjp", id="jacrev integer"),
    pytest.param(
        lambda: jax.jacrev(jnp.real, holomorphic=True)(Z), TypeError, "complex", id="jacrev real"
    ),
    pytest.param(lambda: jax.jacfwd(lambda z: z)(Z), TypeError, "a floating", id="jacfwd complex"),
    pytest.param(lambda: jax.jacfwd(g)(1, 2.0), TypeError, "argument x", id="jacfwd integer"),
    pytest.param(
        lambda: jax.jacfwd(jnp.real, holomorphic=True)(Z), TypeError, "complex", id="jacfwd real"
    ),
    pytest.param(
        lambda: jax.grad(g, reduce_axes=("i",)), NotImplementedError, "psum", id="reduce_axes"
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
