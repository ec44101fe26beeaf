"""Eager calls on small arrays: warm, and the first on a new shape."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..timing import Figures, Scale, best


@dataclass(frozen=True, slots=True)
class Eager:
    """One line: a call on arrays of a NumPy-like namespace.

    Args:
        name: of the line.
        call: (namespace, x, index) → result.
        peers: which other libraries spell it the same way.
    """

    name: str
    call: Callable[[Any, Any, Any], Any]
    peers: tuple[str, ...] = ("numpy", "torch")


WARM = (
    Eager("eager x + y", lambda np, x, i: x + x),
    Eager("eager x * 2 - 1", lambda np, x, i: x * 2 - 1),
    Eager("eager sin", lambda np, x, i: np.sin(x)),
    Eager("eager sum", lambda np, x, i: np.sum(x)),
    Eager("eager mean", lambda np, x, i: np.mean(x)),
    Eager("eager argmax", lambda np, x, i: np.argmax(x)),
    Eager("eager x @ y", lambda np, x, i: x @ x),
    Eager("eager reshape", lambda np, x, i: x.reshape(2, 5)),
    Eager("eager concatenate", lambda np, x, i: np.concatenate([x, x])),
    Eager("eager stack", lambda np, x, i: np.stack([x, x])),
    Eager("eager zeros", lambda np, x, i: np.zeros((10,))),
    Eager("eager x[3]", lambda np, x, i: x[3]),
    Eager("eager x[1:5]", lambda np, x, i: x[1:5]),
    Eager("eager x[index]", lambda np, x, i: x[i]),
    Eager("eager where", lambda np, x, i: np.where(x > 2, x, 0.0)),
    Eager("eager array of a list", lambda np, x, i: np.array([1.0, 2.0, 3.0]), ("numpy",)),
    Eager("eager asarray of a number", lambda np, x, i: np.asarray(2.0)),
    Eager("eager float(x[0])", lambda np, x, i: float(x[0])),
)

# With names that NumPy and PyTorch do not have.
OF_JAX: dict[str, Callable[[Any, Any], Any]] = {
    "eager x.at[3].set": lambda jax, x: x.at[3].set(1.0),
    "eager softmax": lambda jax, x: jax.nn.softmax(x),
    "eager grad of sin": lambda jax, x: jax.grad(jax.numpy.sin)(1.0),
    "eager vmap of dot": lambda jax, x: jax.vmap(jax.numpy.dot)(x[:, None], x[:, None]),
    "eager grad of gelu": lambda jax, x: jax.grad(lambda x: jax.nn.gelu(x).sum())(x),
    "eager grad of logsumexp": lambda jax, x: jax.grad(jax.nn.logsumexp)(x),
    "eager grad of var": lambda jax, x: jax.grad(jax.numpy.var)(x),
    "eager vmap of softmax": lambda jax, x: jax.vmap(jax.nn.softmax)(x.reshape(2, 5)),
    "eager random.split": lambda jax, x: jax.random.split(jax.random.key(0)),
}

FIRST: dict[str, Callable[[Any, Any], Any]] = {
    "first eager x + y": lambda jax, x: x + x,
    "first eager x[3]": lambda jax, x: x[3],
    "first eager sum": lambda jax, x: jax.numpy.sum(x),
    "first eager x @ y": lambda jax, x: x @ x,
    "first eager softmax": lambda jax, x: jax.nn.softmax(x),
}


def warm(package: ModuleType, scale: Scale) -> Figures:
    """Calls on ten numbers."""
    library = package.__name__
    np = getattr(package, "numpy", package) if library in ("morphax", "jax") else package
    x = np.arange(10.0)
    index = np.asarray([1, 2, 3])
    calls = {
        case.name: lambda case=case: case.call(np, x, index)
        for case in WARM
        if np is not package or library in case.peers
    }
    if np is not package:
        calls |= {name: lambda f=f: f(package, x) for name, f in OF_JAX.items()}
    return {name: best(call, scale) for name, call in calls.items()}


def first_touch(jax: Any, scale: Scale) -> Figures:
    """The first call on a shape that the process has not met."""
    figures = {}
    for number, (name, call) in enumerate(FIRST.items()):
        times = []
        for i in range(min(5, scale.repetitions)):
            x = jax.numpy.ones(1000 + 10 * number + i)
            start = time.perf_counter()
            call(jax, x).block_until_ready()
            times.append(time.perf_counter() - start)
        figures[name] = min(times)
    return figures
