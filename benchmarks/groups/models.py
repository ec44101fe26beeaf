"""Whole programs: one step of each model, traced and lowered, compiled, and run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..timing import Figures, Scale, best


class Model(NamedTuple):
    """A step and what it is called with."""

    name: str
    step: Callable[..., Any]
    operands: tuple[Any, ...]


def steps(jax: Any, scale: Scale) -> Figures:
    """Each model, on the way from Python to numbers."""
    jax.jit(lambda x: x + 1.0)(1.0)  # a package may load its compiler on first use
    figures = {}
    for make in MODELS:
        model = make(jax, scale)
        figures |= {f"{model.name}: {k}": v for k, v in _stages(jax, model, scale).items()}
    return figures


def _stages(jax: Any, model: Model, scale: Scale) -> Figures:
    start = time.perf_counter()
    lowered = jax.jit(model.step).lower(*model.operands)
    traced = time.perf_counter()
    compiled = lowered.compile()
    end = time.perf_counter()
    run = best(lambda: jax.block_until_ready(compiled(*model.operands)), scale)
    return {"trace + lower": traced - start, "compile": end - traced, "step": run}


def _arrays(jax: Any) -> Callable[..., Any]:
    """(*shape) → normal numbers, the same in each package."""
    rng = np.random.default_rng(0)
    return lambda *shape: jax.numpy.asarray(rng.normal(size=shape).astype(np.float32) * 0.1)


def _descent(jax: Any, loss: Callable[..., Any]) -> Callable[..., Any]:
    """A step of gradient descent."""

    def step(params: Any, *data: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, *data)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    return step


def _dense(jax: Any, params: Any, x: Any) -> Any:
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    return x @ params[-1][0] + params[-1][1]


def _cross_entropy(jax: Any, logits: Any, labels: Any) -> Any:
    jnp = jax.numpy
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))


def mlp(jax: Any, scale: Scale) -> Model:
    normal = _arrays(jax)
    params = [(normal(n, m), normal(m)) for n, m in ((64, 128), (128, 64), (64, 10))]
    labels = jax.numpy.arange(128) % 10

    def loss(params: Any, x: Any) -> Any:
        return _cross_entropy(jax, _dense(jax, params, x), labels)

    return Model("MLP", _descent(jax, loss), (params, normal(128, 64)))


def cnn(jax: Any, scale: Scale) -> Model:
    normal = _arrays(jax)
    kernels = [(normal(3, 3, n, m), normal(m)) for n, m in ((1, 16), (16, 32))]
    params = (kernels, [(normal(128, 10), normal(10))])
    labels = jax.numpy.arange(128) % 10

    def loss(params: Any, x: Any) -> Any:
        for w, b in params[0]:
            x = jax.lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            n, height, width, channels = x.shape
            x = jax.nn.relu(x + b).reshape(n, height // 2, 2, width // 2, 2, channels)
            x = x.max(axis=(2, 4))
        return _cross_entropy(jax, _dense(jax, params[1], x.reshape(len(x), -1)), labels)

    return Model("CNN", _descent(jax, loss), (params, normal(128, 8, 8, 1)))


def transformer(jax: Any, scale: Scale) -> Model:
    """Blocks of attention and two dense layers, each written out."""
    jnp, normal = jax.numpy, _arrays(jax)
    width, heads, length = 64, 4, 32
    shapes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
    params = [[normal(*shape) for shape in shapes] for _ in range(scale.layers)]

    def norm(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)

    def block(x: Any, mix: Any, out: Any, up: Any, down: Any) -> Any:
        q, k, v = jnp.split(norm(x) @ mix, 3, -1)
        q, k, v = (t.reshape(*t.shape[:-1], heads, -1).swapaxes(-2, -3) for t in (q, k, v))
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(width // heads)
        past = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(past, scores, -1e9))
        x = x + (weights @ v).swapaxes(-2, -3).reshape(x.shape) @ out
        return x + jax.nn.gelu(norm(x) @ up) @ down

    def loss(params: Any, x: Any) -> Any:
        target = x
        for weights in params:
            x = block(x, *weights)
        return jnp.mean((norm(x) - target) ** 2)

    name = f"transformer of {scale.layers} layers"
    return Model(name, _descent(jax, loss), (params, normal(4, length, width)))


def lstm(jax: Any, scale: Scale) -> Model:
    jnp, normal = jax.numpy, _arrays(jax)
    width = 32
    params = (normal(2 * width, 4 * width), normal(4 * width))

    def loss(params: Any, xs: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            h, c = state
            gates = jnp.concatenate([x, h], -1) @ params[0] + params[1]
            i, f, g, o = jnp.split(gates, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros(xs.shape[1:])
        return jnp.mean(jax.lax.scan(cell, (start, start), xs)[1] ** 2)

    return Model("LSTM by scan", _descent(jax, loss), (params, normal(50, 16, width)))


def ode(jax: Any, scale: Scale) -> Model:
    """Runge and Kutta's method of order 4 for a small neural field."""
    normal = _arrays(jax)
    params = [(normal(4, 32), normal(32)), (normal(32, 4), normal(4))]

    def loss(params: Any, y: Any) -> Any:
        def field(y: Any) -> Any:
            return _dense(jax, params, y)

        def step(y: Any, _: Any) -> Any:
            h = 0.01
            k1 = field(y)
            k2 = field(y + h / 2 * k1)
            k3 = field(y + h / 2 * k2)
            k4 = field(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        return (jax.lax.scan(step, y, None, length=100)[0] ** 2).mean()

    return Model("ODE by scan", _descent(jax, loss), (params, normal(16, 4)))


def per_example(jax: Any, scale: Scale) -> Model:
    model = mlp(jax, scale)
    params, x = model.operands
    labels = jax.numpy.arange(128) % 10

    def loss(params: Any, x: Any, label: Any) -> Any:
        return _cross_entropy(jax, _dense(jax, params, x[None]), label[None])

    step = jax.vmap(jax.grad(loss), (None, 0, 0))
    return Model("per-example gradients", step, (params, x, labels))


def hessian(jax: Any, scale: Scale) -> Model:
    normal = _arrays(jax)
    w, v = normal(16, 16), normal(16)
    step = jax.hessian(lambda x: jax.numpy.tanh(jax.numpy.tanh(x @ w) @ w) @ v)
    return Model("Hessian", step, (v,))


MODELS = (mlp, cnn, transformer, lstm, ode, per_example, hessian)
