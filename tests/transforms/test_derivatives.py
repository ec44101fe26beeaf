"""jvp, vjp, linearize, grad, jacobians: trees, auxiliary data, complex numbers, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


def test_grad_of_trees_and_argnums() -> None:
    def f(params: Any, x: Any) -> Any:
        return params["a"] * x + params["b"][0] ** 2

    params = {"a": 2.0, "b": [3.0]}
    assert jax.grad(f)(params, 5.0) == {"a": 5.0, "b": [6.0]}
    assert jax.grad(f, argnums=1)(params, 5.0) == 2.0
    assert jax.grad(f, argnums=(1, 0))(params, 5.0) == (2.0, {"a": 5.0, "b": [6.0]})
    assert jax.grad(f, argnums=-1)(params, 5.0) == 2.0


def test_auxiliary_data() -> None:
    def f(x: Any) -> Any:
        return x**2, {"seen": x}

    assert jax.grad(f, has_aux=True)(3.0) == (6.0, {"seen": 3.0})
    assert jax.value_and_grad(f, has_aux=True)(3.0) == ((9.0, {"seen": 3.0}), 6.0)
    assert jax.jvp(f, (3.0,), (1.0,), has_aux=True)[2] == {"seen": 3.0}
    out, pull, aux = jax.vjp(f, 3.0, has_aux=True)
    assert (out, pull(1.0), aux) == (9.0, (6.0,), {"seen": 3.0})
    out, push, aux = jax.linearize(f, 3.0, has_aux=True)
    assert (out, push(1.0), aux) == (9.0, 6.0, {"seen": 3.0})
    assert jax.jacrev(f, has_aux=True)(3.0) == (6.0, {"seen": 3.0})
    assert jax.jacfwd(f, has_aux=True)(3.0) == (6.0, {"seen": 3.0})


def test_python_control_flow_on_concrete_values() -> None:
    def f(x: Any) -> Any:
        return x**2 if x > 0 else -x

    assert jax.grad(f)(3.0) == 6.0
    assert jax.grad(f)(-3.0) == -1.0
    assert jax.grad(jax.grad(f))(3.0) == 2.0


READINGS = {
    "float": float,
    "complex": complex,
    "asarray": np.asarray,
    "numpy": np.sin,
    "tolist": lambda x: x.tolist(),
}
TRANSFORMED = {
    "grad": lambda f: jax.grad(f)(2.0),
    "jvp": lambda f: jax.jvp(f, (2.0,), (1.0,)),
    "second": lambda f: jax.grad(jax.grad(f))(2.0),
    "vmap": lambda f: jax.grad(lambda x: jax.vmap(lambda y: y * f(x))(jnp.ones(2)).sum())(2.0),
}


@pytest.mark.parametrize("way", TRANSFORMED.values(), ids=list(TRANSFORMED))
@pytest.mark.parametrize("read", READINGS.values(), ids=list(READINGS))
def test_numbers_that_would_lose_the_derivative_are_refused(read: Any, way: Any) -> None:
    with pytest.raises(TypeError, match=r"(?s)derivative would be lost.*fix: .*stop_gradient"):
        way(lambda x: x * jnp.asarray(read(x)))
    assert way(lambda x: x * jnp.real(jnp.asarray(read(jax.lax.stop_gradient(x))))) is not None


def test_what_has_no_derivative_may_be_read() -> None:
    def f(x: Any) -> Any:
        assert (bool(x), int(x), float(x > 0), np.asarray(jnp.sign(x))) == (True, 2, 1.0, 1.0)
        return x * [1.0, 2.0, 3.0][x.astype(int)]

    assert jax.grad(f)(jnp.float32(2.5)) == 3.0


def test_what_is_got_from_the_device_keeps_its_derivative() -> None:
    def f(x: Any) -> Any:
        got = jax.device_get({"x": x, "n": 2.0})
        return got["x"] ** 2 * got["n"]

    assert jax.grad(f)(3.0) == 12.0
    assert jax.jvp(f, (3.0,), (1.0,)) == (18.0, 12.0)
    assert jax.vmap(f)(jnp.ones(2)).tolist() == [2.0, 2.0]
    assert jax.jit(jax.grad(f))(3.0) == 12.0


def test_unused_and_constant_results() -> None:
    assert jax.grad(lambda x: 3.0)(1.0) == 0.0
    assert jax.grad(lambda x, y: x)(1.0, 2.0) == 1.0
    np.testing.assert_array_equal(jax.grad(lambda x: 1.0)(jnp.ones(3)), np.zeros(3))
    out, tangent = jax.jvp(lambda x: 3.0, (1.0,), (1.0,))
    assert (out, tangent) == (3.0, 0.0)


def test_integers_have_float0_tangents() -> None:
    gradient = jax.grad(lambda n, x: n * x, (0, 1), allow_int=True)(3, 2.0)
    assert gradient[0].dtype == jax.dtypes.float0
    assert gradient[1] == 3.0
    zero = np.zeros((), jax.dtypes.float0)
    out, tangent = jax.jvp(lambda n, x: (n, x * n), (3, 2.0), (zero, 1.0))
    assert tangent[0].dtype == jax.dtypes.float0
    assert (out[1], tangent[1]) == (6.0, 3.0)


def test_pullbacks_and_linear_maps_can_be_used_many_times() -> None:
    x = jnp.arange(3.0)
    _, pull = jax.vjp(jnp.sin, x)
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(pull(scale * jnp.ones(3))[0], scale * np.cos(x), rtol=1e-6)
    _, push = jax.linearize(jnp.sin, x)
    np.testing.assert_allclose(jax.vmap(push)(jnp.eye(3)), np.diag(np.cos(x)), rtol=1e-6)


def test_a_value_used_twice_and_returned_twice() -> None:
    _, pull = jax.vjp(lambda x: (x, x, x * x), 3.0)
    assert pull((1.0, 10.0, 100.0)) == (611.0,)


def test_users_arrays_may_change_after_a_vjp() -> None:
    x = np.ones(3, np.float32)
    _, pull = jax.vjp(lambda x: x * x, x)
    x[:] = 7.0
    np.testing.assert_array_equal(pull(jnp.ones(3))[0], 2 * np.ones(3))


def test_complex_conventions() -> None:
    z = 1.0 + 2.0j
    assert jax.grad(lambda z: jnp.abs(z) ** 2)(z) == pytest.approx(2 - 4j)
    assert jax.grad(lambda z: z * z, holomorphic=True)(z) == 2 * z


def test_linear_transpose() -> None:
    f = jax.linear_transpose(lambda x: 3.0 * x[::-1], jax.ShapeDtypeStruct((3,), jnp.float32))
    np.testing.assert_array_equal(f(jnp.arange(3.0))[0], [6.0, 3.0, 0.0])
    with pytest.raises(TypeError, match=r"the transposed function(.|\n)*fix:"):
        f(jnp.ones(4))


def test_jacobians_of_trees() -> None:
    def f(p: Any) -> Any:
        return {"s": p["a"] ** 2, "v": p["a"] * p["b"]}

    point = {"a": 2.0, "b": jnp.array([3.0, 5.0])}
    for jacobian in (jax.jacfwd(f)(point), jax.jacrev(f)(point)):
        assert jacobian["s"]["a"] == 4.0
        np.testing.assert_array_equal(jacobian["s"]["b"], [0.0, 0.0])
        np.testing.assert_array_equal(jacobian["v"]["a"], [3.0, 5.0])
        np.testing.assert_array_equal(jacobian["v"]["b"], 2 * np.eye(2))


NOT_LINEAR = {
    "square": lambda x: x * x,
    "quotient": lambda x: 1 / x,
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda _, c: c * c, x),
    "condition": lambda x: jax.lax.cond(x > 0, lambda x: x, lambda x: -x, x),
    "index": lambda x: jnp.ones(3)[x.astype(int)],
}

ERRORS = [
    pytest.param(lambda: jax.grad(3), TypeError, "a callable", id="not callable"),  # type: ignore[arg-type]
    pytest.param(
        lambda: jax.grad(lambda p: p["w"])({"w": 3}), TypeError, r"argument p\['w'\]", id="int"
    ),
    pytest.param(lambda: jax.grad(jnp.sin)(jnp.ones(3)), TypeError, "a scalar", id="vector"),
    pytest.param(lambda: jax.grad(lambda x: (x, x))(1.0), TypeError, "a scalar", id="tuple"),
    pytest.param(lambda: jax.grad(jnp.sin, argnums=1)(1.0), TypeError, "argnums", id="argnums"),
    pytest.param(lambda: jax.grad(jnp.sin, argnums="x"), TypeError, "argnums", id="argnums kind"),
    pytest.param(lambda: jax.grad(lambda x: x)("a"), TypeError, "argument x", id="string"),
    pytest.param(
        lambda: jax.grad(lambda x: x, has_aux=True)(1.0), TypeError, "a pair", id="no aux"
    ),
    pytest.param(lambda: jax.grad(lambda x: "a")(1.0), TypeError, "result", id="bad result"),
    pytest.param(
        lambda: jax.jvp(jnp.sin, (1.0,), (jnp.ones(2),)), ValueError, "tangent of", id="jvp shape"
    ),
    pytest.param(lambda: jax.jvp(jnp.sin, 1.0, 1.0), TypeError, "a tuple or list", id="jvp tuple"),
    pytest.param(lambda: jax.jvp(jnp.sin, (1.0,), (1,)), TypeError, "tangent of x", id="jvp dtype"),
    pytest.param(
        lambda: jax.jvp(lambda x: x, ({"a": 1.0},), ({"b": 1.0},)),
        TypeError,
        "structure of primals",
        id="jvp structure",
    ),
    pytest.param(
        lambda: jax.vjp(jnp.sin, jnp.ones(2))[1](jnp.ones(3)), ValueError, "result", id="vjp shape"
    ),
    pytest.param(
        lambda: jax.vjp(jnp.sin, 1.0)[1]((1.0, 2.0)), ValueError, "structure", id="vjp structure"
    ),
    pytest.param(
        lambda: jax.grad(lambda x: x * x, holomorphic=True)(1.0), TypeError, "complex", id="real"
    ),
    *[
        pytest.param(
            lambda f=f: jax.linear_transpose(f, 1.0)(1.0),
            TypeError,
            "transposition of(.|\n)*linear",
            id=f"transpose {name}",
        )
        for name, f in NOT_LINEAR.items()
    ],
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
    assert __file__ in str(caught.value)
