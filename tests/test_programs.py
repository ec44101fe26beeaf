"""The programs by which composable transformations are explained, with only the import changed."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

Params = list[tuple[Any, Any]]
RNG = np.random.default_rng(0)


def close(x: Any, y: Any, rtol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol, 1e-6)


def predict(params: Params, inputs: Any) -> Any:
    for w, b in params:
        outputs = jnp.dot(inputs, w) + b
        inputs = jnp.tanh(outputs)
    return outputs


def loss(params: Params, inputs: Any, targets: Any) -> Any:
    return jnp.sum((predict(params, inputs) - targets) ** 2)


@pytest.fixture
def network() -> tuple[Params, Any, Any]:
    params = [(RNG.normal(size=(3, 4)), np.zeros(4)), (RNG.normal(size=(4, 2)), np.ones(2))]
    inputs, targets = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), (params, inputs, targets))


def gradient_by_hand(params: Params, inputs: Any, targets: Any) -> Params:
    """Backpropagation through the two layers, in NumPy."""
    (w1, b1), (w2, b2) = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    x, y = np.atleast_2d(inputs), np.atleast_2d(targets)
    hidden = np.tanh(x @ w1 + b1)
    above = 2 * (hidden @ w2 + b2 - y)
    below = (above @ w2.T) * (1 - hidden**2)
    return [(x.T @ below, below.sum(0)), (hidden.T @ above, above.sum(0))]


class TestMultiLayerPerceptron:
    def test_gradient(self, network: Any) -> None:
        for gradient in (jax.grad(loss), jax.jit(jax.grad(loss)), jax.grad(jax.jit(loss))):
            jax.tree.map(close, gradient(*network), gradient_by_hand(*network))

    def test_gradient_of_each_example(self, network: Any) -> None:
        params, inputs, targets = network
        per_example = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
        result = per_example(params, inputs, targets)
        for i in range(5):
            by_hand = gradient_by_hand(params, inputs[i], targets[i])
            jax.tree.map(lambda a, b, i=i: close(a[i], b, 1e-4), result, by_hand)

    def test_training_lowers_the_loss(self, network: Any) -> None:
        params, inputs, targets = network

        @jax.jit
        def step(params: Params) -> Params:
            gradient = jax.grad(loss)(params, inputs, targets)
            return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradient)

        before = loss(params, inputs, targets)
        for _ in range(100):
            params = step(params)
        assert loss(params, inputs, targets) < 0.5 * before


def log2(x: Any) -> Any:
    return jnp.log(x) / jnp.log(2.0)


def test_the_jaxpr_of_log2() -> None:
    printed = """\
        { lambda ; a:f32[]. let
            b:f32[] = log a
            c:f32[] = log 2.0:f32[]
            d:f32[] = div b c
          in (d,) }"""
    assert str(jax.make_jaxpr(log2)(3.0)) == textwrap.dedent(printed)


def test_side_effects_leave_no_trace_in_the_jaxpr() -> None:
    seen: list[Any] = []

    def log2_with_memory(x: Any) -> Any:
        seen.append(x)
        return log2(x)

    assert str(jax.make_jaxpr(log2_with_memory)(3.0)) == str(jax.make_jaxpr(log2)(3.0))
    assert len(seen) == 1


def test_one_branch_is_traced() -> None:
    def f(x: Any) -> Any:
        return x if x.ndim == 0 else jnp.log(x)

    assert str(jax.make_jaxpr(f)(jnp.float32(3))) == "{ lambda ; a:f32[]. let  in (a,) }"
    assert "log a" in str(jax.make_jaxpr(f)(jnp.ones(3)))


def convolve(x: Any, w: Any) -> Any:
    return jnp.array([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)])


class TestConvolution:
    x, w = jnp.arange(5.0), jnp.array([2.0, 3.0, 4.0])
    expected = np.array([11.0, 20.0, 29.0])

    def test_single(self) -> None:
        close(convolve(self.x, self.w), self.expected)

    def test_batches(self) -> None:
        xs, ws = jnp.stack([self.x, 2 * self.x]), jnp.stack([self.w, self.w])
        expected = np.stack([self.expected, 2 * self.expected])
        close(jax.vmap(convolve)(xs, ws), expected)
        close(jax.vmap(convolve, in_axes=1, out_axes=1)(xs.T, ws.T), expected.T)
        close(jax.vmap(convolve, in_axes=(0, None))(xs, self.w), expected)
        close(jax.jit(jax.vmap(convolve))(xs, ws), expected)


class TestConcreteValues:
    def test_a_loop_over_a_traced_value_is_refused(self) -> None:
        def power(x: Any, n: Any) -> Any:
            out = 1.0
            while n > 0:
                out, n = out * x, n - 1
            return out

        with pytest.raises(jax.errors.TracerBoolConversionError, match="depends on n"):
            jax.jit(power)(2.0, 3)
        assert jax.jit(power, static_argnames="n")(2.0, n=3) == 8
        assert jax.jit(power, static_argnums=1)(2.0, 3) == 8
        assert jax.grad(power)(2.0, 3) == 12

    def test_a_branch_on_a_traced_value_is_refused(self) -> None:
        def f(x: Any) -> Any:
            return 3.0 * x**2 if x < 3 else -4.0 * x

        with pytest.raises(jax.errors.ConcretizationTypeError):
            jax.jit(f)(2.0)
        assert jax.grad(f)(2.0) == 12
        assert jax.grad(f)(4.0) == -4

    def test_numpy_functions_are_refused(self) -> None:
        with pytest.raises(jax.errors.TracerArrayConversionError):
            jax.jit(np.sin)(1.0)

    def test_a_leaked_tracer_is_recognised(self) -> None:
        leaked: list[Any] = []

        @jax.jit
        def f(x: Any) -> Any:
            leaked.append(x + 1)
            return x

        f(1.0)
        with pytest.raises(jax.errors.UnexpectedTracerError, match="used after its trace ended"):
            leaked[0] + 1


def test_key_paths() -> None:
    tree = {"layer": [jnp.ones(2), (jnp.zeros(3),)], "scale": 2.0}
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    assert paths == ["['layer'][0]", "['layer'][1][0]", "['scale']"]
    doubled = jax.tree.map(lambda x: 2 * x, tree)
    assert doubled["scale"] == 4.0


class TestCounters:
    def test_state_in_an_object_is_computed_once(self) -> None:
        class Counter:
            def __init__(self) -> None:
                self.n = 0

            def count(self) -> int:
                self.n += 1
                return self.n

        counter = Counter()
        count = jax.jit(counter.count)
        assert [int(count()) for _ in range(3)] == [1, 1, 1]
        assert counter.n == 1

    def test_state_as_argument_and_result(self) -> None:
        @jax.jit
        def count(n: Any) -> tuple[Any, Any]:
            return n + 1, n + 1

        state, values = 0, []
        for _ in range(3):
            value, state = count(state)
            values.append(int(value))
        assert values == [1, 2, 3]


class TestUpdates:
    x = jnp.arange(4.0)

    def test_arrays_do_not_change(self) -> None:
        with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
            self.x[0] = 1.0
        close(self.x.at[1].set(10.0), [0, 10, 2, 3])
        close(self.x.at[1:3].add(1.0), [0, 2, 3, 3])
        close(self.x.at[jnp.array([0, 0])].add(1.0), [2, 1, 2, 3])
        close(self.x, [0, 1, 2, 3])

    def test_out_of_bounds(self) -> None:
        for run in (lambda f: f, jax.jit):
            close(run(lambda x, i: x[i])(self.x, 9), 3)
            close(run(lambda x, i: x.at[i].set(7.0))(self.x, 9), self.x)
            close(run(lambda x, i: x.at[i].get(mode="fill", fill_value=-1))(self.x, 9), -1)
            close(run(lambda x, i: x.at[i].set(7.0, mode="clip"))(self.x, 9), [0, 1, 2, 7])


class TestControlFlow:
    def test_cond(self) -> None:
        operand = jnp.array([0.0])
        close(lax.cond(True, lambda x: x + 1, lambda x: x - 1, operand), [1])
        close(lax.cond(False, lambda x: x + 1, lambda x: x - 1, operand), [-1])
        close(lax.switch(2, [lambda x: x, lambda x: 2 * x, lambda x: 3 * x], operand + 1), [3])

    def test_while_loop(self) -> None:
        assert lax.while_loop(lambda x: x < 10, lambda x: x + 1, 0) == 10

    def test_fori_loop(self) -> None:
        assert lax.fori_loop(0, 10, lambda i, x: x + i, 5) == 50

    def test_scan(self) -> None:
        total, partial = lax.scan(lambda c, x: (c + x, c + x), 0.0, jnp.arange(4.0))
        close(total, 6)
        close(partial, [0, 1, 3, 6])

    def test_newton(self) -> None:
        def root(a: Any) -> Any:
            def improve(x: Any) -> Any:
                return 0.5 * (x + a / x)

            return lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-5, improve, 1.0)

        close(root(2.0), np.sqrt(2.0))
        close(jax.jit(root)(3.0), np.sqrt(3.0))
        close(jax.vmap(root)(jnp.array([2.0, 3.0])), np.sqrt([2.0, 3.0]))
        close(jax.jvp(root, (2.0,), (1.0,))[1], 0.5 / np.sqrt(2.0), 1e-3)


def test_print_from_compiled_code(capfd: Any) -> None:
    @jax.jit
    def f(x: Any) -> Any:
        jax.debug.print("x = {x}, y = {}", 2 * x, x=x)
        return x

    f(jnp.float32(3)).block_until_ready()
    assert capfd.readouterr().out == "x = 3.0, y = 6.0\n"


def selu(x: Any, alpha: float = 1.67, lmbda: float = 1.05) -> Any:
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def test_selu() -> None:
    x = jnp.linspace(-2.0, 2.0, 9)
    expected = 1.05 * np.where(np.asarray(x) > 0, x, 1.67 * np.exp(x) - 1.67)
    for f in (selu, jax.jit(selu), jax.vmap(selu)):
        close(f(x), expected)


class TestDerivatives:
    w, inputs = jnp.array([0.5, -0.3, 0.2]), jnp.asarray(RNG.normal(size=(4, 3)), jnp.float32)

    def probability(self, w: Any) -> Any:
        return jax.nn.sigmoid(jnp.dot(self.inputs, w))

    def test_jacobians(self) -> None:
        p = np.asarray(self.probability(self.w))
        expected = (p * (1 - p))[:, None] * np.asarray(self.inputs)
        close(jax.jacfwd(self.probability)(self.w), expected)
        close(jax.jacrev(self.probability)(self.w), expected)

    def test_jacobian_by_vmap_of_the_pullback(self) -> None:
        _, pullback = jax.vjp(self.probability, self.w)
        (rows,) = jax.vmap(pullback)(jnp.eye(4))
        close(rows, jax.jacfwd(self.probability)(self.w))

    def test_hessian_vector_product(self) -> None:
        def f(x: Any) -> Any:
            return jnp.sum(x**3) + x[0] * x[1]

        def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
            return jax.jvp(jax.grad(f), primals, tangents)[1]

        x, v = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 0.0, -1.0])
        hessian = np.diag([6.0, 12.0, 18.0])
        hessian[0, 1] = hessian[1, 0] = 1.0
        close(hvp(f, (x,), (v,)), hessian @ np.asarray(v))
        close(jax.hessian(f)(x), hessian)
        close(jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x), hessian @ np.asarray(v))

    def test_derivatives_of_any_order(self) -> None:
        f, x = jnp.tanh, 0.5
        t = np.tanh(0.5)
        derivatives = [1 - t**2, -2 * t * (1 - t**2), (1 - t**2) * (6 * t**2 - 2)]
        for expected in derivatives:
            f = jax.grad(f)
            close(f(x), expected, 1e-4)


class TestOwnDerivatives:
    def test_log1pexp(self) -> None:
        def naive(x: Any) -> Any:
            return jnp.log(1.0 + jnp.exp(x))

        stable = jax.custom_jvp(naive)

        @stable.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            (x,), (t,) = primals, tangents
            return stable(x), (1 - 1 / (1 + jnp.exp(x))) * t

        assert np.isnan(jax.grad(naive)(100.0))
        for gradient in (jax.grad(stable), jax.jit(jax.grad(stable)), jax.jacfwd(stable)):
            assert gradient(100.0) == 1
        close(jax.vmap(jax.grad(stable))(jnp.arange(3.0)), 1 / (1 + np.exp(-np.arange(3.0))))

    def test_clip_gradient(self) -> None:
        @functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
        def clip_gradient(low: float, high: float, x: Any) -> Any:
            return x

        def forward(low: float, high: float, x: Any) -> tuple[Any, None]:
            return x, None

        def backward(low: float, high: float, _: None, ct: Any) -> tuple[Any]:
            return (jnp.clip(ct, low, high),)

        clip_gradient.defvjp(forward, backward)
        t = jnp.linspace(0.0, 2 * np.pi, 7)
        clipped = jax.vmap(jax.grad(lambda x: jnp.sin(clip_gradient(-0.75, 0.75, x))))
        close(clipped(t), np.clip(np.cos(t), -0.75, 0.75))

    def test_straight_through(self) -> None:
        def f(x: Any) -> Any:
            return jnp.round(x) + (x - lax.stop_gradient(x))

        assert jax.value_and_grad(f)(1.3) == (1.0, 1.0)


def test_linear_regression() -> None:
    x = RNG.normal(size=(100, 3)).astype(np.float32)
    true = np.array([1.5, -2.0, 0.5], np.float32)
    y = x @ true + 0.7

    def cost(params: Any) -> Any:
        return jnp.mean((jnp.dot(x, params["w"]) + params["b"] - y) ** 2)

    def step(params: Any, _: None) -> tuple[Any, Any]:
        value, gradient = jax.value_and_grad(cost)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    start = {"w": jnp.zeros(3), "b": jnp.float32(0)}
    params, costs = jax.jit(lambda p: lax.scan(step, p, None, length=200))(start)
    close(params["w"], true, 1e-3)
    close(params["b"], 0.7, 1e-3)
    assert costs[-1] < 1e-6 < costs[0]


def test_recurrent_network() -> None:
    w, u = (RNG.normal(size=(2, 2)).astype(np.float32) for _ in range(2))
    xs = RNG.normal(size=(6, 2)).astype(np.float32)

    def run(w: Any, u: Any, xs: Any) -> Any:
        def cell(h: Any, x: Any) -> tuple[Any, Any]:
            h = jnp.tanh(w @ h + u @ x)
            return h, h

        return lax.scan(cell, jnp.zeros(2), xs)[1]

    states, h = [], np.zeros(2, np.float32)
    for x in xs:
        h = np.tanh(w @ h + u @ x)
        states.append(h)
    close(run(w, u, xs), np.stack(states))
    close(jax.jit(run)(w, u, xs), np.stack(states))

    def total(w: Any) -> Any:
        return jnp.sum(run(w, u, xs) ** 2)

    step = np.zeros((2, 2), np.float32)
    step[0, 1] = 1e-2
    slope = (total(w + step) - total(w - step)) / 2e-2
    close(jax.grad(total)(w)[0, 1], slope, 1e-2)


class TestRandomKeys:
    def test_the_same_key_gives_the_same_numbers(self) -> None:
        key = jax.random.key(0)
        close(jax.random.normal(key, (3,)), jax.random.normal(key, (3,)))
        key, subkey = jax.random.split(key)
        assert jax.random.uniform(key) != jax.random.uniform(subkey)

    def test_keys_are_mapped(self) -> None:
        keys = jax.random.split(jax.random.key(1), 4)
        batch = jax.vmap(lambda key: jax.random.uniform(key, (2,)))(keys)
        close(batch, np.stack([jax.random.uniform(key, (2,)) for key in keys]))

    def test_published_numbers(self) -> None:
        close(jax.random.normal(jax.random.key(42)), -0.02830462, 1e-5)
