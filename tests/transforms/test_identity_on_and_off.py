"""Every program gives with structural identity what it gives without.

Each case of `identity_cases` and `identity_details`, and each of `test_function_identity`, runs at
each place: a sequence of calls, of functions made anew, between which changes what they read.  The
sequence with ``jax_structural_identity`` on must be the sequence with it off, effects included.

One combination in six runs, chosen by its name; ``make test-whole`` runs all.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax import numpy as jnp
from tests.sampling import sample
from tests.transforms import identity_cases
from tests.transforms.identity_cases import CASES, Case, Function, Observed
from tests.transforms.identity_details import DETAILS
from tests.transforms.test_function_identity import ADVERSARIAL

ALL_CASES = CASES | DETAILS
VALUES = (2.0, 2.0, 3.0, 3.0, 2.0)


def combinations(cases: Iterable[str], places: Iterable[str]) -> list[tuple[str, str]]:
    """The cases at the places, or those that fall into the sample."""
    pairs = itertools.product(cases, places)
    return sample(pairs, "identity", 6, "-".join, lambda name: name.partition("-")[0])


def with_rule(f: Function) -> Function:
    g = jax.custom_jvp(lambda x: f(x))
    g.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * f(primals[0])))
    return g


def with_pullback(f: Function) -> Function:
    g = jax.custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * f(x),))
    return g


def one_step(f: Function) -> Function:
    return lambda x: lax.scan(lambda c, _: (f(c) * 1.0, None), x, None, length=1)[0]


PLACES: dict[str, Callable[[Function], Any]] = {
    "jit": lambda f: jax.jit(lambda x: f(x))(1.5),
    "jit itself": lambda f: jax.jit(f)(1.5),
    "jit of jit": lambda f: jax.jit(lambda x: jax.jit(lambda y: f(y))(x))(1.5),
    "scan": lambda f: lax.scan(lambda c, x: (c + f(x), f(x)), 0.0, jnp.arange(1.0, 3.0)),
    "map": lambda f: lax.map(lambda x: f(x), jnp.arange(1.0, 3.0)),
    "cond": lambda f: lax.cond(True, lambda x: f(x) * 1.0, lambda x: x * 1.0, 1.5),
    "switch": lambda f: lax.switch(1, [lambda x: x * 1.0, lambda x: f(x) * 1.0], 1.5),
    "piecewise": lambda f: jnp.piecewise(jnp.arange(1.0, 3.0), [jnp.array([True, False])], [f]),
    "while": lambda f: lax.while_loop(lambda c: c < 2.0, lambda c: c + abs(f(c)) + 1.0, 0.5),
    "condition": lambda f: lax.while_loop(lambda c: c < f(2.0), lambda c: c + 1.0, 0.5),
    "fori": lambda f: lax.fori_loop(0, 2, lambda i, c: c + f(c), 0.5),
    "checkpoint": lambda f: jax.checkpoint(lambda x: f(x))(1.5),
    "grad": lambda f: jax.grad(lambda x: f(x))(1.5),
    "grad of jit": lambda f: jax.grad(lambda x: jax.jit(lambda y: f(y))(x))(1.5),
    "grad of scan": lambda f: jax.grad(one_step(f))(1.5),
    "grad of checkpoint": lambda f: jax.grad(jax.checkpoint(lambda x: f(x) ** 2))(1.5),
    "vmap": lambda f: jax.vmap(lambda x: f(x))(jnp.arange(1.0, 3.0)),
    "vmap of scan": lambda f: jax.vmap(one_step(f))(jnp.arange(1.0, 3.0)),
    "custom_jvp": lambda f: jax.jvp(one_step(with_rule(f)), (1.5,), (1.0,)),
    "custom_vjp": lambda f: jax.grad(one_step(with_pullback(f)))(1.5),
    "branch in a loop": lambda f: jax.jit(
        lambda x: one_step(lambda c: lax.cond(True, lambda: f(c) * 1.0, lambda: c))(x)
    )(1.5),
}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MORPHAX_TEST_FOLDER", str(tmp_path))
    monkeypatch.setenv("MORPHAX_TEST_SCALE", "2.0")
    monkeypatch.setattr("sys.argv", ["test", "aa"])
    with np.errstate(), np.printoptions():
        yield
    jax.config.update("jax_structural_identity", True)


def outcome(run: Callable[[], Any]) -> Any:
    """What a program gives: values, or the kind of error."""
    try:
        leaves = jax.tree.leaves(run())
    except Exception as error:
        return type(error).__name__
    return [np.asarray(x).tolist() for x in leaves]


def outcomes(start: Callable[[], Any], use: Callable[[Function], Any]) -> list[Any]:
    """What a case gives at a place, one call after the other."""
    identity_cases.current = identity_cases.numbers.scale = 2.0  # type: ignore[attr-defined]
    identity_cases.Lazy.held = 2.0
    change, make = start()
    results = []
    for value in VALUES:
        change(value)
        made = make()
        observed = made if isinstance(made, Observed) else Observed(made, lambda: None)
        results.append(outcome(lambda function=observed.function: use(function)))
        jax.effects_barrier()
        results.append(observed.observe())
    change(2.0)
    return results


def both_ways(start: Callable[[], Any], use: Callable[[Function], Any]) -> tuple[Any, Any]:
    on = outcomes(start, use)
    jax.config.update("jax_structural_identity", False)
    jax.clear_caches()
    return on, outcomes(start, use)


@pytest.mark.parametrize(("case", "place"), combinations(ALL_CASES, PLACES))
def test_what_is_read_counts(case: str, place: str) -> None:
    on, off = both_ways(ALL_CASES[case], PLACES[place])
    assert repr(on) == repr(off)


# What comes in by arguments.


@jax.tree_util.register_pytree_node_class
class Node:
    shared = 2.0

    def __init__(self, w: Any) -> None:
        self.w = w

    def tree_flatten(self) -> Any:
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, data: Any, children: Any) -> Any:
        return cls(*children)

    def __call__(self, x: Any) -> Any:
        return x * self.w * identity_cases.current

    def by_class(self, x: Any) -> Any:
        return x * self.w * self.shared


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: Any
    activation: Any = dataclasses.field(default=None, metadata={"static": True})

    def __call__(self, x: Any) -> Any:
        return self.activation(x * self.w)


class Bare:
    def __init__(self, w: Any, data: Any = None) -> None:
        self.w, self.data = w, data


jax.tree_util.register_pytree_node(
    Bare, lambda b: ((b.w,), b.data), lambda data, ws: Bare(ws[0] * identity_cases.current, data)
)


class Pair(NamedTuple):
    a: Any
    b: Any

    def total(self) -> Any:
        return self.a * identity_cases.current + self.b


class Constant:
    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant)

    def __hash__(self) -> int:
        return 0


def read_current(x: Any) -> Any:
    return x * identity_cases.current


def read_global(x: Any) -> Any:
    return x * scale


scale: Any = 2.0


def set_scale(value: Any) -> None:
    globals()["scale"] = value


# What changes, the argument made anew, and how the function uses it.
ARGUMENTS: dict[str, tuple[Callable[[Any], Any], Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "method that reads a global": (
        identity_cases.set_current,
        lambda: Node(1.0),
        lambda m, x: m(x),
    ),
    "attribute of the class": (
        lambda v: setattr(Node, "shared", v),
        lambda: Node(1.0),
        lambda m, x: m.by_class(x),
    ),
    "replaced method": (
        lambda v: setattr(Node, "__call__", lambda self, x: x * v),
        lambda: Node(1.0),
        lambda m, x: m(x),
    ),
    "function as data": (set_scale, lambda: Layer(1.0, read_global), lambda m, x: m(x)),
    "data that change": (
        set_scale,
        lambda: Bare(1.0, [scale]),
        lambda m, x: x * m.data[0],
    ),
    "data that claim equality": (
        set_scale,
        lambda: Bare(1.0, Constant(scale)),
        lambda m, x: x * m.data.scale,
    ),
    "function that unflattens": (
        identity_cases.set_current,
        lambda: Bare(1.0),
        lambda m, x: x * m.w,
    ),
    "named tuple with a method": (
        identity_cases.set_current,
        lambda: Pair(1.0, 2.0),
        lambda m, x: x * m.total(),
    ),
    "partial": (set_scale, lambda: jax.tree_util.Partial(read_global), lambda m, x: m(x)),
    "inner node": (
        identity_cases.set_current,
        lambda: {"a": [Node(1.0)]},
        lambda m, x: m["a"][0](x),
    ),
    "keys": (
        set_scale,
        lambda: {scale: 1.0},
        lambda m, x: x * next(iter(m)),
    ),
}

# A `Partial` without arguments brings nothing to scan over.
REFUSED = {("partial", "scan input")}
ARGUMENT_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda use, m: jax.jit(lambda m, x: use(m, x))(m, 1.5),
    "jit by name": lambda use, m: jax.jit(lambda x, m: use(m, x))(1.5, m=m),
    "scan carry": lambda use, m: lax.scan(lambda c, x: (c, use(c, x)), m, jnp.ones(2))[1],
    "scan input": lambda use, m: lax.scan(
        lambda c, x: (c, use(x, c)), 1.5, jax.tree.map(lambda w: jnp.ones(2) * w, m)
    )[1],
    "cond": lambda use, m: lax.cond(True, lambda m: use(m, 1.5) * 1.0, lambda m: 1.0, m),
    "while": lambda use, m: lax.while_loop(
        lambda c: c[1] < 2.0, lambda c: (c[0], c[1] + abs(use(c[0], 1.0)) + 1.0), (m, 0.5)
    )[1],
    "fori": lambda use, m: lax.fori_loop(0, 2, lambda i, c: (c[0], use(*c)), (m, 1.5))[1],
    "checkpoint": lambda use, m: jax.checkpoint(lambda m, x: use(m, x))(m, 1.5),
    "grad": lambda use, m: jax.grad(lambda x: jax.jit(lambda m, y: use(m, y))(m, x))(1.5),
    "vmap": lambda use, m: jax.vmap(lambda x: jax.jit(lambda m, y: use(m, y))(m, x))(jnp.ones(2)),
    "result": lambda use, m: use(jax.jit(lambda m: m)(m), 1.5),
}


@pytest.mark.parametrize(("argument", "place"), combinations(ARGUMENTS, ARGUMENT_PLACES))
def test_what_arguments_bring_counts(argument: str, place: str) -> None:
    change, new, use = ARGUMENTS[argument]
    call, shared = Node.__call__, Node.shared
    through = ARGUMENT_PLACES[place]
    try:
        on, off = both_ways(lambda: Case(change, lambda: use), lambda f: through(f, new()))
    finally:
        Node.__call__, Node.shared = call, shared  # type: ignore[method-assign]
    assert repr(on) == repr(off)
    assert (argument, place) in REFUSED or not all(isinstance(r, str) for r in on[::2])


# Static arguments.

cell = types.SimpleNamespace(scale=2.0)
STATIC: dict[str, tuple[Callable[[Any], Any], Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "function": (set_scale, lambda: read_global, lambda s, x: s(x)),
    "lambda": (set_scale, lambda: lambda x: x * scale, lambda s, x: s(x)),
    "object that claims equality": (set_scale, lambda: Constant(scale), lambda s, x: x * s.scale),
    "partial": (
        set_scale,
        lambda: functools.partial(lambda k, x: x * k, scale),
        lambda s, x: s(x),
    ),
    "method": (set_scale, lambda: Constant(scale).__eq__.__self__, lambda s, x: x * s.scale),
    "tuple of functions": (set_scale, lambda: (read_global,), lambda s, x: s[0](x)),
    "signed zero": (set_scale, lambda: (0.0 if scale == 2.0 else -0.0,), lambda s, x: x / s[0]),
    "truth or one": (
        set_scale,
        lambda: (True if scale == 2.0 else 1,),
        lambda s, x: x * (2 if s[0] is True else 3),
    ),
    "class": (
        lambda v: setattr(Constant, "shared", v),
        lambda: Constant,
        lambda s, x: x * s.shared,
    ),
}
STATIC_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda use, s: jax.jit(lambda s, x: use(s, x), static_argnums=0)(s, 1.5),
    "jit by name": lambda use, s: jax.jit(lambda x, s: use(s, x), static_argnames="s")(1.5, s=s),
    "checkpoint": lambda use, s: jax.checkpoint(lambda s, x: use(s, x), static_argnums=0)(s, 1.5),
    "custom_jvp": lambda use, s: jax.jit(
        lambda x: jax.custom_jvp(lambda s, y: use(s, y), nondiff_argnums=(0,))(s, x)
    ),
    "scan": lambda use, s: lax.scan(lambda c, x: (c, use(s, x)), 0.0, jnp.ones(2))[1],
    "grad": lambda use, s: jax.grad(
        lambda x: jax.jit(lambda s, y: use(s, y), static_argnums=0)(s, x)
    )(1.5),
}


@pytest.mark.parametrize(("argument", "place"), combinations(STATIC, STATIC_PLACES))
def test_what_static_arguments_hold_counts(argument: str, place: str) -> None:
    change, new, use = STATIC[argument]
    through = STATIC_PLACES[place]
    on, off = both_ways(lambda: Case(change, lambda: use), lambda f: through(f, new()))
    assert repr(on) == repr(off)


@pytest.mark.parametrize(
    ("case", "place"),
    combinations(ADVERSARIAL, ["jit itself", "map", "grad of scan", "custom_vjp"]),
)
def test_the_cases_of_the_walk(case: str, place: str) -> None:
    def start() -> Case:
        change, make = ADVERSARIAL[case]()
        return Case(change, make)

    on, off = both_ways(start, PLACES[place])
    assert repr(on) == repr(off)
