"""`linear_call`, `custom_linear_solve` and `custom_root`: derivatives by the rules of the user."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.custom_derivatives import linear_call
from morphax.test_util import check_grads

WRAPPERS = [pytest.param(lambda f: f, id="eager"), pytest.param(jax.jit, id="jit")]

A = np.array([[3.0, 1.0], [0.5, 2.0]], np.float32)
B = np.array([1.0, 2.0], np.float32)


def scaled(r: Any, x: Any) -> Any:
    """x / r, with a hundredfold transpose, so that one sees which was used."""
    return linear_call(lambda r, x: x / r, lambda r, ct: 100 * ct / r, r, x)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_linear_call(wrap: Any) -> None:
    assert wrap(scaled)(2.0, 3.0) == 1.5
    assert wrap(jax.grad(scaled, 1))(2.0, 3.0) == 50.0
    assert jax.jvp(wrap(lambda x: scaled(2.0, x)), (3.0,), (1.0,)) == (1.5, 0.5)
    # The transpose of the transpose is the function.
    transposed = jax.linear_transpose(wrap(lambda x: scaled(2.0, x)), 3.0)
    assert transposed(1.0) == (50.0,)
    assert jax.linear_transpose(lambda ct: transposed(ct)[0], 1.0)(1.0) == (0.5,)
    xs = jnp.arange(3.0)
    np.testing.assert_array_equal(wrap(jax.vmap(scaled, (None, 0)))(2.0, xs), xs / 2)
    np.testing.assert_array_equal(wrap(jax.vmap(jax.grad(scaled, 1)))(xs + 1, xs), 100 / (xs + 1))
    shared = jax.grad(lambda x: wrap(jax.vmap(scaled, (0, None)))(xs + 1, x).sum())
    assert np.allclose(shared(1.0), 100 * (1 + 1 / 2 + 1 / 3))
    # By its residuals it is differentiated like any function.
    assert np.allclose(wrap(jax.grad(scaled))(2.0, 3.0), -3 / 4)
    assert np.allclose(jax.jvp(scaled, (2.0, 3.0), (1.0, 0.0))[1], -3 / 4)


def test_linear_call_of_trees_and_captured_values() -> None:
    def f(x: Any, k: Any) -> Any:
        return linear_call(
            lambda r, x: {"out": k * x["w"]}, lambda r, ct: {"w": k * ct["out"]}, (), {"w": x}
        )["out"]

    assert jax.grad(f)(2.0, 3.0) == 3.0
    assert jax.jit(jax.grad(f))(2.0, 3.0) == 3.0


def solve_directly(matrix: Any, b: Any) -> Any:
    """The solution for a matrix of two rows."""
    (p, q), (r, s) = matrix
    return jnp.stack([s * b[0] - q * b[1], p * b[1] - r * b[0]]) / (p * s - q * r)


def solution(matrix: Any, b: Any, **options: Any) -> Any:
    return lax.custom_linear_solve(
        lambda x: matrix @ x,
        b,
        lambda matvec, b: solve_directly(matrix, b),
        lambda vecmat, b: solve_directly(matrix.T, b),
        **options,
    )


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_custom_linear_solve(wrap: Any) -> None:
    np.testing.assert_allclose(wrap(solution)(A, B), np.linalg.solve(A, B), atol=1e-6)
    want = jax.jacrev(solve_directly, (0, 1))(A, B)
    for derivative in (jax.jacrev, jax.jacfwd):
        given = wrap(derivative(solution, (0, 1)))(A, B)
        for a, b in zip(given, want, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
    check_grads(wrap(solution), (A, B), 2)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)])
def test_batches_of_systems(in_axes: Any) -> None:
    stacks = jnp.stack([A, 2 * A, A.T]), jnp.stack([B, -B, B[::-1]])
    args = [x if d == 0 else x[0] for x, d in zip(stacks, in_axes, strict=True)]
    for g in (solution, jax.grad(lambda *x: solution(*x).sum(), (0, 1))):
        given = jax.tree.leaves(jax.vmap(g, in_axes)(*args))
        rows = [
            jax.tree.leaves(g(*[x[i] if d == 0 else x for x, d in zip(args, in_axes, strict=True)]))
            for i in range(3)
        ]
        for stacked, members in zip(given, zip(*rows, strict=True), strict=True):
            np.testing.assert_allclose(stacked, np.stack(members), atol=1e-5)
    through = jax.grad(lambda x: jax.vmap(solution, in_axes)(x, args[1]).sum())(args[0])
    direct = jax.grad(lambda x: jax.vmap(solve_directly, in_axes)(x, args[1]).sum())(args[0])
    np.testing.assert_allclose(through, direct, atol=1e-5)


def test_iterative_solver_of_a_symmetric_system() -> None:
    matrix = A + A.T

    def richardson(matvec: Any, b: Any) -> Any:
        return lax.while_loop(
            lambda x: jnp.abs(b - matvec(x)).max() > 1e-5,
            lambda x: x + 0.2 * (b - matvec(x)),
            jnp.zeros_like(b),
        )

    def f(matrix: Any, b: Any) -> Any:
        return lax.custom_linear_solve(lambda x: matrix @ x, b, richardson, symmetric=True)

    np.testing.assert_allclose(f(matrix, B), np.linalg.solve(matrix, B), atol=1e-4)
    slope = jax.grad(lambda b: f(matrix, b).sum())(B)
    np.testing.assert_allclose(slope, np.linalg.solve(matrix, np.ones(2)), atol=1e-4)


def test_auxiliary_data_of_solvers() -> None:
    def f(b: Any) -> Any:
        return lax.custom_linear_solve(
            lambda x: {"x": 2 * x["x"]},
            {"x": b},
            lambda _, b: ({"x": b["x"] / 2}, {"steps": 3, "rest": b["x"]}),
            lambda _, b: ({"x": b["x"] / 2}, 1.0),
            has_aux=True,
        )

    (x, aux), (x_dot, aux_dot) = jax.jvp(f, (2.0,), (1.0,))
    assert (x, aux) == ({"x": 1.0}, {"steps": 3, "rest": 2.0})
    assert (x_dot["x"], aux_dot["rest"], aux_dot["steps"].dtype) == (0.5, 0.0, jax.float0)
    assert jax.grad(lambda b: f(b)[0]["x"])(2.0) == 0.5


def newton(f: Any, x: Any) -> Any:
    return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-5, lambda x: x - f(x) / jax.grad(f)(x), x)


def cube_root(a: Any, guess: Any = 1.0) -> Any:
    return lax.custom_root(lambda x: x**3 - a, guess, newton, lambda g, y: y / g(1.0))


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_custom_root(wrap: Any) -> None:
    assert np.allclose(wrap(cube_root)(8.0), 2.0)
    assert np.allclose(wrap(jax.grad(cube_root))(8.0), 1 / 12)
    assert np.allclose(jax.grad(jax.grad(wrap(cube_root)))(8.0), -1 / 144)
    np.testing.assert_allclose(jax.jvp(wrap(cube_root), (8.0,), (3.0,)), (2.0, 0.25), rtol=1e-5)
    mapped = wrap(jax.vmap(jax.grad(cube_root)))(jnp.array([1.0, 8.0, 27.0]))
    np.testing.assert_allclose(mapped, [1 / 3, 1 / 12, 1 / 27], rtol=1e-5)
    assert wrap(jax.grad(cube_root, 1))(8.0, 1.5) == 0.0


def test_roots_of_vector_functions() -> None:
    def f(matrix: Any, b: Any) -> Any:
        return lax.custom_root(
            lambda x: matrix @ x - b,
            jnp.zeros(2),
            lambda f, x: solve_directly(jax.jacfwd(f)(x), -f(x)),
            lambda g, y: solve_directly(jax.jacfwd(g)(y), y),
        )

    for given, want in zip(
        jax.jacrev(f, (0, 1))(A, B), jax.jacrev(solve_directly, (0, 1))(A, B), strict=True
    ):
        np.testing.assert_allclose(given, want, atol=1e-5)


def test_auxiliary_data_of_roots() -> None:
    def f(a: Any) -> Any:
        return lax.custom_root(
            lambda x: x - a,
            1.0,
            lambda f, x: (x - f(x), {"steps": 1}),
            lambda g, y: y / g(1.0),
            has_aux=True,
        )

    assert f(3.0) == (3.0, {"steps": 1})
    assert jax.grad(f, has_aux=True)(3.0) == (1.0, {"steps": 1})
    assert jax.jit(jax.grad(f, has_aux=True))(3.0) == (1.0, {"steps": 1})


ERRORS = [
    pytest.param(
        lambda: linear_call(lambda r, x: x, lambda r, ct: (ct, ct), (), 1.0),
        TypeError,
        "fun_transpose",
        id="linear_call structure",
    ),
    pytest.param(
        lambda: linear_call(lambda r, x: {"a": x}, lambda r, ct: [jnp.ones(2)], (), [1.0]),
        ValueError,
        r"fun_transpose\[0\]",
        id="linear_call shape",
    ),
    pytest.param(
        lambda: jax.grad(lambda b: lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, b: b / 2))(
            1.0
        ),
        TypeError,
        "transpose_solve",
        id="no transposed solver",
    ),
    pytest.param(
        lambda: lax.custom_linear_solve(A, B, lambda _, b: b),
        TypeError,
        "a callable",
        id="matrix",
    ),
    pytest.param(
        lambda: lax.custom_linear_solve(lambda x: (x,), B, lambda _, b: b),
        TypeError,
        "result of matvec",
        id="matvec",
    ),
    pytest.param(
        lambda: lax.custom_linear_solve(lambda x: x, {"b": B}, lambda _, b: {"b": b["b"][:1]}),
        ValueError,
        r"result of solve\['b'\]",
        id="solve",
    ),
    pytest.param(
        lambda: lax.custom_root(lambda x: (x, x), 1.0, newton, newton),
        TypeError,
        "result of f",
        id="root",
    ),
    pytest.param(
        lambda: lax.custom_root(lambda x: x, 1.0, lambda f, x: jnp.ones(2), newton),
        ValueError,
        "result of solve",
        id="root solver",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
