"""Programs before they run: tracing, transforming, lowering, compiling."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..timing import Figures, Scale, best

Function = Callable[[Any], Any]


def chain(step: Function, equations: int) -> Function:
    """A function of so many equations: `step` makes two of them."""

    def run(x: Any) -> Any:
        for _ in range(equations // 2):
            x = step(x)
        return x

    return run


def _steps(jax: Any) -> dict[str, Function]:
    lax, jnp = jax.lax, jax.numpy
    return {"lax": lambda x: lax.add(lax.sin(x), x), "jnp": lambda x: jnp.sin(x) + x}


TRANSFORMATIONS: dict[str, Callable[[Any], Callable[[Function], Function]]] = {
    "trace": lambda jax: lambda f: f,
    "trace under grad": lambda jax: lambda f: jax.grad(lambda x: f(x).sum()),
    "trace under vmap": lambda jax: jax.vmap,
    "trace vmap of grad": lambda jax: lambda f: jax.vmap(jax.grad(f)),
    "trace under jvp": lambda jax: lambda f: lambda x: jax.jvp(f, (x,), (x,)),
}


def trace(jax: Any, scale: Scale) -> Figures:
    """Time per equation of the program that is traced."""
    x, n = jax.numpy.ones(3), scale.equations
    figures = {}
    for name, transform in TRANSFORMATIONS.items():
        for library, step in _steps(jax).items():
            f = transform(jax)(chain(step, n))
            figures[f"{name}, {library}"] = best(partial(_trace, jax, f, x), scale, n)
    return figures


def staged(jax: Any, scale: Scale) -> Figures:
    """The gradient of a `jit`, traced with it, as a multiple of the trace of its program."""
    x, f = jax.numpy.ones(3), chain(_steps(jax)["jnp"], scale.equations)
    numbers = itertools.count()
    plain = best(partial(_trace, jax, f, x), scale)

    def gradient() -> Any:
        number = float(next(numbers))
        inner = jax.jit(lambda x: f(x).sum() * number)
        return jax.make_jaxpr(jax.grad(inner))(x)

    seconds = best(gradient, scale)
    return {
        "trace of grad of jit": seconds,
        "… as a multiple of its trace ×": seconds / plain,
    }


def lower(jax: Any, scale: Scale) -> Figures:
    """Time per equation to write the module of a traced program."""
    x, n = jax.numpy.ones(3), scale.equations
    figures = {}
    for name, step in _steps(jax).items():

        def fresh(step: Function = step) -> Any:
            return jax.jit(lambda x: chain(step, n)(x)).trace(x)

        # Each is lowered once, for what was lowered is remembered.
        traced = iter([fresh() for _ in range(200)])
        once = replace(scale, seconds=0.0)
        figures[f"lower, {name}"] = best(lambda t=traced: next(t).lower(), once, n)
    return figures


COMPILED: dict[str, Callable[[Any], Function]] = {
    "compile x + 1": lambda jax: lambda x: x + 1.0,
    "compile softmax": lambda jax: jax.nn.softmax,
    "compile 100 operations": lambda jax: chain(_steps(jax)["jnp"], 100),
    "compile sort": lambda jax: jax.numpy.sort,
}


def compile_programs(jax: Any, scale: Scale) -> Figures:
    """XLA's own time, which both packages wait for."""
    return {
        name: min(
            _compile_seconds(jax, make(jax), 100 + i) for i in range(min(3, scale.repetitions))
        )
        for name, make in COMPILED.items()
    }


def _compile_seconds(jax: Any, f: Function, size: int) -> float:
    lowered = jax.jit(f).lower(jax.numpy.ones(size))
    start = time.perf_counter()
    lowered.compile()
    return time.perf_counter() - start


def linearity(jax: Any, scale: Scale) -> Figures:
    """Time per equation of a long program, and as a multiple of that of one a tenth as long."""
    figures = {}
    for name, run in (("trace", _trace), ("trace + grad", _gradient), ("trace + lower", _lower)):
        few, many = (_once_per_equation(jax, run, scale.most_equations // k) for k in (10, 1))
        figures[f"{name} of a long program, per equation"] = many
        figures[f"… as a multiple of one a tenth as long ×, {name}"] = many / few
    return figures


def _trace(jax: Any, f: Function, x: Any) -> None:
    jax.make_jaxpr(lambda x: f(x))(x)


def _gradient(jax: Any, f: Function, x: Any) -> None:
    jax.make_jaxpr(jax.grad(lambda x: f(x).sum()))(x)


def _lower(jax: Any, f: Function, x: Any) -> None:
    jax.jit(lambda x: f(x)).lower(x)


def _once_per_equation(jax: Any, run: Callable[[Any, Function, Any], None], n: int) -> float:
    f, x = chain(_steps(jax)["lax"], n), jax.numpy.ones(3)
    run(jax, chain(_steps(jax)["lax"], 10), x)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        run(jax, f, x)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / n
