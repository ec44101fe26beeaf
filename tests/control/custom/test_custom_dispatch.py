"""Who carries out a call with custom rules: rules and functions that look at concrete values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax

Function = Callable[[Any], Any]


def _jvp_if() -> Function:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return x * x if x > 0 else -x

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return f(x), (2 * x * t if x > 0 else -t)

    return f


def _jvps_if() -> Function:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return x * x if x > 0 else -x

    f.defjvps(lambda t, _, x: 2 * x * t if x > 0 else -t)
    return f


def _jvp_numbers() -> Function:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return x * x if float(x) > 0 else -x

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return f(x), (2 * x if np.asarray(x) > 0 else -1.0) * t

    return f


def _jvp_symbolic() -> Function:
    @jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * x + 0 * y if x > 0 else -x

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (t, _) = primals, tangents
        return f(x, y), (2 * x * t if x > 0 else -1 * t)

    f.defjvp(rule, symbolic_zeros=True)
    return lambda x: f(x, 1.0)


def _jvp_settings() -> Function:
    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def f(sign: float, x: Any, power: Any = 2) -> Any:
        return x * x if sign * x > 0 and power == 2 else -x

    @f.defjvp
    def _(sign: float, primals: Any, tangents: Any) -> Any:
        (x, power), (t, _) = primals, tangents
        return f(sign, x, power), (2 * x * t if power == 2 and sign * x > 0 else -t)

    return lambda x: f(1.0, x=x)


def _jvp_tree() -> Function:
    @jax.custom_jvp
    def f(d: Any) -> Any:
        return {"y": d["x"] * d["x"] if d["x"] > 0 else -d["x"], "n": d["n"]}

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (d,), (t,) = primals, tangents
        slope = 2 * d["x"] if d["x"] > 0 else -1.0
        return f(d), {"y": slope * t["x"], "n": t["n"]}

    return lambda x: f({"x": x, "n": 3})["y"]


def _vjp_if() -> Function:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x * x if x > 0 else -x

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * x * ct if x > 0 else -ct,))
    return f


def _vjp_settings() -> Function:
    @partial(jax.custom_vjp, nondiff_argnums=(1,))
    def f(x: Any, square: Any) -> Any:
        return square(x) if x > 0 else -x

    f.defvjp(
        lambda x, square: (f(x, square), x),
        lambda square, x, ct: (jax.grad(square)(x) * ct if x > 0 else -ct,),
    )
    return lambda x: f(x, lambda y: y * y)


FUNCTIONS = [_jvp_if, _jvps_if, _jvp_numbers, _jvp_symbolic, _jvp_settings, _jvp_tree]
PULLBACKS = [_vjp_if, _vjp_settings]

# From a function equal to x² at the right of 0 and to −x at its left: what, and its value there.
Case = tuple[Callable[[Function, Any], Any], Callable[[float], Any]]
SLOPE = lambda x: 2 * x if x > 0 else -1.0  # noqa: E731
BOTH: dict[str, Case] = {
    "call": (lambda f, x: f(x), lambda x: x * x if x > 0 else -x),
    "grad": (lambda f, x: jax.grad(f)(x), SLOPE),
    "value_and_grad": (lambda f, x: jax.value_and_grad(f)(x)[1], SLOPE),
    "vjp": (lambda f, x: jax.vjp(f, x)[1](2.0)[0], lambda x: 2 * SLOPE(x)),
    "jacrev": (lambda f, x: jax.jacrev(f)(x), SLOPE),
    "unmapped": (
        lambda f, x: jax.vmap(lambda b: f(x) * b)(jnp.arange(2.0)),
        lambda x: [0, x * x if x > 0 else -x],
    ),
    "grad of an unmapped operand": (
        lambda f, x: jax.grad(lambda y: jax.vmap(lambda b: f(y) * b)(jnp.arange(3.0)).sum())(x),
        lambda x: 3 * SLOPE(x),
    ),
    "grad inside vmap": (
        lambda f, x: jax.vmap(lambda b: jax.grad(lambda y: f(y) * b)(x))(jnp.arange(2.0)),
        lambda x: [0, SLOPE(x)],
    ),
    "vmap of the pullback": (
        lambda f, x: jax.vmap(jax.vjp(f, x)[1])(jnp.arange(2.0))[0],
        lambda x: [0, SLOPE(x)],
    ),
    "closure": (lambda f, x: jax.grad(lambda a: jax.grad(f)(x) * a)(x), SLOPE),
}
FORWARD: dict[str, Case] = {
    "grad of grad": (lambda f, x: jax.grad(jax.grad(f))(x), lambda x: 2.0 * (x > 0)),
    "jvp": (lambda f, x: jax.jvp(f, (x,), (2.0,))[1], lambda x: 2 * SLOPE(x)),
    "linearize": (lambda f, x: jax.linearize(f, x)[1](2.0), lambda x: 2 * SLOPE(x)),
    "jvp of grad": (lambda f, x: jax.jvp(jax.grad(f), (x,), (1.0,))[1], lambda x: 2.0 * (x > 0)),
    "grad of jvp": (
        lambda f, x: jax.grad(lambda y: jax.jvp(f, (y,), (1.0,))[1])(x),
        lambda x: 2.0 * (x > 0),
    ),
    "vmap of linearized": (
        lambda f, x: jax.vmap(jax.linearize(f, x)[1])(jnp.arange(2.0)),
        lambda x: [0, SLOPE(x)],
    ),
}


@pytest.mark.parametrize("make", [*FUNCTIONS, *PULLBACKS])
@pytest.mark.parametrize("case", BOTH)
def test_python_decides_on_concrete_values(make: Callable[[], Function], case: str) -> None:
    what, expected = BOTH[case]
    for x in (1.5, -1.5):
        np.testing.assert_allclose(what(make(), x), expected(x), rtol=1e-6)
        np.testing.assert_allclose(what(make(), jnp.float32(x)), expected(x), rtol=1e-6)


@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("case", FORWARD)
def test_python_decides_in_forward_mode(make: Callable[[], Function], case: str) -> None:
    if make is _jvp_numbers and case in ("grad of grad", "jvp of grad", "grad of jvp"):
        return  # `float` of a value that is differentiated once more; tested below
    what, expected = FORWARD[case]
    for x in (1.5, -1.5):
        np.testing.assert_allclose(what(make(), x), expected(x), rtol=1e-6)


def test_numbers_behind_tracers_of_python_numbers_are_arrays_too() -> None:
    read = jax.lax.stop_gradient
    assert jax.grad(lambda x: x * np.asarray(read(x)))(3.0) == 3.0
    assert jax.grad(lambda x: x * np.asarray(read(x), np.float64))(3.0) == 3.0
    with pytest.raises(TypeError, match="float"):
        jax.grad(lambda x: [x][x])(0.0)


def test_a_mapped_operand_beside_a_concrete_one() -> None:
    @jax.custom_jvp
    def power(x: Any, n: Any) -> Any:
        return x * x if n == 2 else x

    power.defjvp(lambda p, t: (power(*p), 2 * p[0] * t[0] if p[1] == 2 else t[0]))
    xs = jnp.array([1.0, 2.0])
    assert jax.vmap(lambda x: power(x, 2))(xs).tolist() == [1.0, 4.0]
    assert jax.vmap(jax.grad(lambda x: power(x, 2)))(xs).tolist() == [2.0, 4.0]
    total = jax.grad(lambda xs: jax.vmap(lambda x: power(x, 2))(xs).sum())
    assert total(xs).tolist() == [2.0, 4.0]


def _both(kind: str) -> Callable[[Any, Any], Any]:
    """(a, b) → (2a, 2b), by rules."""

    def fun(a: Any, b: Any) -> Any:
        return a * 2, b * 2

    if kind == "jvp":
        f = jax.custom_jvp(fun)
        f.defjvp(lambda p, t: (f(*p), (t[0] * 2, t[1] * 2)))
        return f
    g = jax.custom_vjp(fun)
    g.defvjp(lambda a, b: (g(a, b), None), lambda _, ct: (ct[0] * 2, ct[1] * 2))
    return g


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint, lambda f: jax.jit(f)])
def test_results_that_are_not_mapped(kind: str, wrap: Any) -> None:
    f = wrap(_both(kind))
    a, b = jax.vmap(f, (0, None), (0, None))(jnp.arange(2.0), 5.0)
    assert (a.tolist(), b.tolist()) == ([0.0, 2.0], 10.0)
    a, b = jax.jit(jax.vmap(lambda a: f(a, 5.0), out_axes=(0, None)))(jnp.arange(2.0))
    assert (a.tolist(), b.tolist()) == ([0.0, 2.0], 10.0)
    a, b = jax.vmap(lambda a: jax.tree.map(jnp.sin, f(a, 0.0)), out_axes=(0, None))(jnp.zeros(2))
    assert (a.tolist(), b.tolist()) == ([0.0, 0.0], 0.0)
    with pytest.raises(ValueError, match="out_axes"):
        jax.vmap(f, (0, None), (None, 0))(jnp.arange(2.0), 5.0)
    with pytest.raises(ValueError, match="out_axes"):
        jax.vmap(lambda a: sum(f(a, 5.0)), out_axes=None)(jnp.arange(2.0))


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_gradients_of_results_that_are_not_mapped(kind: str) -> None:
    f = _both(kind)

    def loss(b: Any) -> Any:
        first, second = jax.vmap(f, (0, None), (0, None))(jnp.arange(3.0), b)
        return first.sum() + 7.0 * second

    for program in (loss, jax.jit(loss)):
        assert jax.grad(program)(5.0) == 14.0


def _share_of_member(a: Any, b: Any) -> Any:
    """2b, with the cotangent of b scaled by a: another one for each member of a batch of a."""
    f = jax.custom_vjp(lambda a, b: b * 2)
    f.defvjp(lambda a, b: (b * 2, a), lambda a, ct: (None, ct * a))
    return f(a, b)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_each_member_gives_its_own_cotangent(wrap: Any) -> None:
    """The result does not depend on the mapped operand, but its derivative does."""
    a, weights = jnp.array([1.0, 2.0, 3.0]), jnp.arange(3.0)

    def of_batch(b: Any) -> Any:
        return jax.vmap(lambda w, a: w * _share_of_member(a, b))(weights, a).sum()

    def of_members(b: Any) -> Any:
        return sum(w * _share_of_member(x, b) for w, x in zip(weights, a, strict=True))

    assert jax.grad(wrap(of_batch))(5.0) == jax.grad(of_members)(5.0) == 8.0


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_rules_close_over_members(wrap: Any) -> None:
    def scaled(a: Any) -> Function:
        f = jax.custom_jvp(lambda x: x * a if x.ndim == 0 else x)
        f.defjvp(lambda p, t: (f(*p), 10.0 * a * t[0]))
        return f

    members = jnp.arange(3.0)
    values = jax.vmap(lambda a: scaled(a)(jnp.float32(2.0)))
    slopes = jax.vmap(lambda a: jax.grad(scaled(a))(jnp.float32(2.0)))
    assert wrap(values)(members).tolist() == [0.0, 2.0, 4.0]
    assert wrap(slopes)(members).tolist() == [0.0, 10.0, 20.0]
    total = lambda y: jax.vmap(lambda a: scaled(a)(y))(members).sum()  # noqa: E731
    assert wrap(jax.grad(total))(jnp.float32(2.0)) == 30.0


@jax.custom_vjp
def _pulled(x: Any) -> Any:
    return jnp.sin(x)


_pulled.defvjp(lambda x: (_pulled(x), x), lambda x, ct: (ct * jnp.cos(x),))

BODIES = {
    "dead": lambda c: (_pulled(c), c * 2)[1],
    "dead in jit": lambda c: (jax.jit(_pulled)(c), c * 2)[1],
    "stopped": lambda c: c * 2 + 0 * lax.stop_gradient(_pulled(c)),
    "compared": lambda c: jnp.where(_pulled(c) > 5, c, c * 2),
}
LOOPS = {
    "fori": lambda body: lambda x: lax.fori_loop(0, 2, lambda _, c: body(c), x),
    "scan": lambda body: lambda x: lax.scan(lambda c, _: (body(c), c), x, length=2)[0],
    "while": lambda body: (
        lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, body(s[1])), (0, x))[1]
    ),
    "cond": lambda body: lambda x: lax.cond(x > 0, lambda x: body(body(x)), lambda x: x, x),
    "jit": lambda body: jax.jit(lambda x: body(body(x))),
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("body", BODIES)
def test_a_pullback_that_nobody_needs_is_no_hindrance_to_forward_mode(loop: str, body: str) -> None:
    f = LOOPS[loop](BODIES[body])
    for wrap in (lambda f: f, jax.jit):
        out, tangent = wrap(lambda x: jax.jvp(f, (x,), (1.0,)))(0.5)
        assert (out, tangent) == (2.0, 4.0)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(LOOPS[loop](_pulled), (0.5,), (1.0,))


def test_a_python_number_is_a_cotangent() -> None:
    f = jax.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, None), lambda _, ct: (0, 7))
    for dtype in (jnp.float32, jnp.float16):
        first, second = jax.grad(f, (0, 1))(jnp.ones((), dtype), jnp.ones((), dtype))
        assert (first.dtype, second.dtype) == (dtype, dtype)
        assert (first, second) == (0, 7)
    f.defvjp(lambda x, y: (x * y, None), lambda _, ct: (0, 7.0 * 1j))
    with pytest.raises(TypeError, match="cotangent of y"):
        jax.grad(f, (0, 1))(1.0, 1.0)


def test_a_trace_of_a_new_kind_says_what_it_does() -> None:
    class Choosing(core.Trace):
        def __init__(self, what: str) -> None:
            super().__init__(core.current_trace())
            self.what, self.applied = what, list[str]()

        def process(self, primitive: Any, operands: Any, params: Any) -> Any:
            self.applied.append(primitive.name)
            return self.parent.process(primitive, operands, params)

        def process_custom_call(self, call: Any, operands: Any) -> Any:
            return getattr(call, self.what)(self, operands)

    f = jax.custom_jvp(lambda x: lax.mul(x, x))
    f.defjvps(lambda t, _, x: 2 * x * t)
    for what, applied in (("run", "mul"), ("stage", "custom_jvp_call")):
        trace = Choosing(what)
        with core.new_trace(trace):
            result = f(3.0)
        assert (result, trace.applied[0]) == (9.0, applied)
