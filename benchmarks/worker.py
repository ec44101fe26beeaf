"""Measure one package, `morphax` or `jax`, in this process; print seconds as JSON.

    python -m benchmarks.worker PACKAGE GROUP

Only public names that both packages have are used.  Each figure is the best of many repetitions, in
seconds per unit (operation, call, step, process).
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

START = time.perf_counter()

import numpy as np  # noqa: E402 - importing NumPy is part of what is timed

OPERATIONS = 200


def best(function: Callable[[], Any], repetitions: int = 15) -> float:
    """The shortest time of several calls."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def measure_import(jax: Any) -> dict[str, float]:
    """From the start of this process's own work to the first array; imports included."""
    jax.numpy.zeros(3).block_until_ready()
    return {"import + first array": time.perf_counter() - START}


def measure_trace(jax: Any) -> dict[str, float]:
    """Time per operation of the program that is traced."""
    lax, jnp = jax.lax, jax.numpy

    def lax_chain(x: Any) -> Any:
        for _ in range(OPERATIONS // 2):
            x = lax.add(lax.sin(x), x)
        return x

    def jnp_chain(x: Any) -> Any:
        for _ in range(OPERATIONS // 2):
            x = jnp.sin(x) + x
        return x

    x = jnp.ones(3)
    programs = {
        "trace, lax": lax_chain,
        "trace, jnp": jnp_chain,
        "trace under grad, lax": jax.grad(lambda x: lax_chain(x).sum()),
        "trace under grad, jnp": jax.grad(lambda x: jnp_chain(x).sum()),
        "trace under vmap, lax": jax.vmap(lax_chain),
        "trace under vmap, jnp": jax.vmap(jnp_chain),
        "trace vmap of grad, jnp": jax.vmap(jax.grad(jnp_chain)),
    }
    return {
        name: best(lambda f=f: jax.make_jaxpr(lambda x: f(x))(x)) / OPERATIONS
        for name, f in programs.items()
    }


def measure_eager(jax: Any) -> dict[str, float]:
    """Eager calls: warm, and the first on a new shape."""
    jnp = jax.numpy
    x, index = jnp.arange(10.0), jnp.array([1, 2, 3])
    calls = {
        "eager x + y": lambda: x + x,
        "eager sin": lambda: jnp.sin(x),
        "eager sum": lambda: jnp.sum(x),
        "eager x[3]": lambda: x[3],
        "eager x[1:5]": lambda: x[1:5],
        "eager x[index]": lambda: x[index],
        "eager x.at[3].set": lambda: x.at[3].set(1.0),
        "eager where": lambda: jnp.where(x > 2, x, 0.0),
        "eager softmax": lambda: jax.nn.softmax(x),
        "eager grad of sin": lambda: jax.grad(jnp.sin)(1.0),
    }
    results = {}
    for name, call in calls.items():
        call()
        results[name] = best(lambda call=call: [call() for _ in range(50)], 10) / 50
    return results | _first_touch(jax)


def _first_touch(jax: Any) -> dict[str, float]:
    jnp = jax.numpy
    functions = {
        "first eager x + y": lambda x: x + x,
        "first eager x[3]": lambda x: x[3],
        "first eager sum": jnp.sum,
        "first eager softmax": jax.nn.softmax,
    }
    results = {}
    for number, (name, function) in enumerate(functions.items()):
        fresh = [jnp.ones(1000 + 10 * number + i) for i in range(5)]
        times = []
        for x in fresh:
            start = time.perf_counter()
            function(x).block_until_ready()
            times.append(time.perf_counter() - start)
        results[name] = min(times)
    return results


def measure_dispatch(jax: Any) -> dict[str, float]:
    """Warm calls of a compiled function."""
    jnp = jax.numpy
    results = {}
    for count in (1, 10, 100):
        xs = [jnp.ones(3) for _ in range(count)]
        f = jax.jit(lambda xs: [x + 1.0 for x in xs])
        f(xs)
        results[f"jit call, {count} → {count}"] = (
            best(lambda f=f, xs=xs: [f(xs) for _ in range(100)]) / 100
        )
    xs = [jnp.ones(3) for _ in range(100)]
    g = jax.jit(lambda xs: sum(xs[1:], xs[0]))
    g(xs)
    results["jit call, 100 → 1"] = best(lambda: [g(xs) for _ in range(100)]) / 100
    return results


def measure_compile(jax: Any) -> dict[str, float]:
    """Trace, lower and compile the training steps of the demonstration; then run them."""
    results = {}
    for name, (params, logits) in _models(jax).items():
        results |= {f"{name} step: {k}": v for k, v in _training_step(jax, params, logits).items()}
    return results


def _models(jax: Any) -> dict[str, tuple[Any, Callable[..., Any]]]:
    """Parameters and logits of the MLP and the CNN of examples/digits.py."""
    jnp = jax.numpy
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return jnp.array(rng.normal(size=shape).astype(np.float32) * 0.1)

    def mlp(params: Any, images: Any) -> Any:
        x = images.reshape(images.shape[0], -1)
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        return x @ params[-1][0] + params[-1][1]

    def cnn(params: Any, images: Any) -> Any:
        x = images[..., None]
        for w, b in params[:-1]:
            x = jax.lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x + b)
            n, height, width, channels = x.shape
            x = x.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))
        return x.reshape(x.shape[0], -1) @ params[-1][0] + params[-1][1]

    shapes = [(64, 128), (128, 64), (64, 10)]
    kernels = [(3, 3, 1, 16), (3, 3, 16, 32), (128, 10)]
    return {
        "MLP": ([(normal(*s), jnp.zeros(s[-1])) for s in shapes], mlp),
        "CNN": ([(normal(*s), jnp.zeros(s[-1])) for s in kernels], cnn),
    }


def _training_step(jax: Any, params: Any, logits: Callable[..., Any]) -> dict[str, float]:
    jnp = jax.numpy
    rng = np.random.default_rng(1)
    images = jnp.array(rng.normal(size=(128, 8, 8)).astype(np.float32))
    labels = jnp.array(rng.integers(0, 10, 128).astype(np.int32))

    def loss(params: Any) -> Any:
        log_p = jax.nn.log_softmax(logits(params, images))
        return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1))

    def step(params: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))

    start = time.perf_counter()
    lowered = jax.jit(step).lower(params)
    traced = time.perf_counter()
    lowered.compile()
    compiled = time.perf_counter()
    run = jax.jit(step)
    run(params)

    def repeat() -> None:
        now = params
        for _ in range(50):
            now = run(now)
        jax.block_until_ready(now)

    return {
        "trace + lower": traced - start,
        "compile": compiled - traced,
        "run": best(repeat) / 50,
    }


GROUPS = {
    "import": measure_import,
    "trace": measure_trace,
    "eager": measure_eager,
    "dispatch": measure_dispatch,
    "compile": measure_compile,
}


def main() -> None:
    package, group = sys.argv[1:3]
    jax = importlib.import_module(package)
    print(json.dumps(GROUPS[group](jax)))


if __name__ == "__main__":
    main()
