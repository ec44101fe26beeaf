"""The ways to run a program.  Each takes the program's function and gives what it computes.

Those in `SAME` must give what eager evaluation gives.  A `Relation` has two sides of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax import core
from morphax.control import calls
from morphax.engines.reference import engine
from morphax.engines.reference.engine import MOST_INTERPRETED
from morphax.util.memo import clear_all

from .subject import Main, Subject, total

IDENTITY_OPTION = "jax_structural_identity"
Run = Callable[[Main, Subject], Any]


def interpret_loops(on: bool) -> None:
    """Whether eager evaluation interprets longer loops, too, which it otherwise compiles."""
    for module in (calls, engine):
        vars(module)["MOST_INTERPRETED"] = 10**6 if on else MOST_INTERPRETED


def eager(main: Main, subject: Subject) -> Any:
    """By the reference engine."""
    return main(*subject.args())


def without_jit(main: Main, subject: Subject) -> Any:
    """With loops and branches run by Python."""
    with jax.disable_jit():
        return main(*subject.args())


def compiled(main: Main, subject: Subject) -> Any:
    """By the engine that is chosen."""
    return jax.jit(main)(*subject.args())


def by_engine(name: str) -> Run:
    """By an engine that compiles; `NotALoopProgram` of what the native one does not take."""

    def run(main: Main, subject: Subject) -> Any:
        args = subject.args()
        return jax.jit(main).lower(*args).compile({"jax_cpu_engine": name})(*args)

    return run


def staged(main: Main, subject: Subject) -> Any:
    """Written down, checked, and evaluated."""
    args = subject.args()
    closed = jax.make_jaxpr(main)(*args)
    core.check_jaxpr(closed)
    return core.eval_jaxpr(closed.jaxpr, closed.consts, *jax.tree_util.tree_leaves(args))


def forgetful(main: Main, subject: Subject) -> Any:
    """After all caches have been emptied."""
    clear_all()
    return main(*subject.args())


@contextmanager
def _identity(on: bool) -> Iterator[None]:
    before = getattr(jax.config, IDENTITY_OPTION)
    jax.config.update(IDENTITY_OPTION, on)
    try:
        yield
    finally:
        jax.config.update(IDENTITY_OPTION, before)


def without_identity(main: Main, subject: Subject) -> Any:
    """With each function traced anew."""
    with _identity(False):
        return main(*subject.args())


SAME: dict[str, Run] = {
    "again": eager,
    "disable_jit": without_jit,
    "staged": staged,
    "jit": compiled,
    "native": by_engine("native"),
    "xla": by_engine("xla"),
    "clear_caches": forgetful,
}
if hasattr(jax.config, IDENTITY_OPTION):
    SAME["no identity"] = without_identity


# What a script prints, to show both sides; other ways need more than a line.
SHOWN = {
    "jit": "jax.jit(main)(*args)",
    "native": 'jax.jit(main).lower(*args).compile({"jax_cpu_engine": "native"})(*args)',
    "xla": 'jax.jit(main).lower(*args).compile({"jax_cpu_engine": "xla"})(*args)',
    "staged": "jax.jit(main).trace(*args).jaxpr",
    "disable_jit": "jax.disable_jit()(main)(*args)",
}


def vmapped(main: Main, subject: Subject) -> Any:
    """For two sets of arguments at once."""
    first, second = subject.members()
    axes = [0 if hasattr(x, "dtype") else None for x in first]
    pairs = zip(first, second, axes, strict=True)
    args = [x if axis is None else jnp.stack([x, y]) for x, y, axis in pairs]
    results = jax.vmap(main, in_axes=axes)(*args)
    return [[leaf[i] for leaf in jax.tree_util.tree_leaves(results)] for i in range(2)]


def one_by_one(main: Main, subject: Subject) -> Any:
    """For the two sets one after the other."""
    return [main(*args) for args in subject.members()]


def _of_floats(main: Main, subject: Subject) -> tuple[Main, list[Any]]:
    """The sum of the results as a function of the floating arguments."""
    args, positions = subject.args(), subject.floats()

    def function(*floats: Any) -> Any:
        full = list(args)
        for position, value in zip(positions, floats, strict=True):
            full[position] = value
        return total(main(*full))

    return function, [args[position] for position in positions]


def _directions(floats: list[Any]) -> list[Any]:
    return [
        (np.arange(x.size) % 3 + 1.0 - 0.5 * i).reshape(x.shape).astype(x.dtype)
        * jnp.asarray(0.25, x.dtype)
        for i, x in enumerate(floats)
    ]


def forward(main: Main, subject: Subject) -> Any:
    """The derivative in a direction, by forward mode."""
    function, floats = _of_floats(main, subject)
    return jax.jvp(function, floats, _directions(floats))[1]


def backward(main: Main, subject: Subject, step: float = 0.0) -> Any:
    """The derivative in a direction, by reverse mode, at a point beside the arguments."""
    function, floats = _of_floats(main, subject)
    result, pull = jax.vjp(function, *_beside(floats, step))
    return _product(pull(jnp.ones_like(result)), _directions(floats))


def along(main: Main, subject: Subject, step: float) -> Any:
    """The function at a point beside the arguments."""
    function, floats = _of_floats(main, subject)
    return function(*_beside(floats, step))


def _beside(floats: list[Any], step: float) -> list[Any]:
    pairs = zip(floats, _directions(floats), strict=True)
    return [x + step * direction for x, direction in pairs] if step else floats


def linearized(main: Main, subject: Subject) -> Any:
    """The derivative in a direction, by the linearized function."""
    function, floats = _of_floats(main, subject)
    return jax.linearize(function, *floats)[1](*_directions(floats))


def _product(cotangents: Any, directions: list[Any]) -> Any:
    products = [np.sum(_wide(x) * _wide(y)) for x, y in zip(cotangents, directions, strict=True)]
    return jnp.asarray(float(np.sum(products)), jnp.float32)


def _wide(x: Any) -> Any:
    return np.asarray(x).astype(np.float64)


def gradient(main: Main, subject: Subject) -> Any:
    """By all floating arguments."""
    function, floats = _of_floats(main, subject)
    return jax.grad(function, tuple(range(len(floats))))(*floats)


def staged_gradient(main: Main, subject: Subject) -> Any:
    """The gradient written down, checked, and evaluated."""
    function, floats = _of_floats(main, subject)
    closed = jax.make_jaxpr(jax.grad(function, tuple(range(len(floats)))))(*floats)
    core.check_jaxpr(closed)
    return core.eval_jaxpr(closed.jaxpr, closed.consts, *floats)


@dataclass(frozen=True)
class Relation:
    """Two runs that must agree; `types` says whether in their types too."""

    found: Run
    expected: Run
    types: bool = True
    differentiates: bool = False


RELATIONS = {
    "vmap": Relation(vmapped, one_by_one),
    "jvp and vjp": Relation(forward, backward, types=False, differentiates=True),
    "jvp and linearize": Relation(forward, linearized, types=False, differentiates=True),
    "staged grad": Relation(staged_gradient, gradient, differentiates=True),
}
