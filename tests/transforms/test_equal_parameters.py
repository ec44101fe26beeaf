"""Parameters that are equal and not the same, such as 0.0 and -0.0, in every remembered rule.

The operations here multiply by a number that tells parameters apart, in each of their rules.  They
are applied to confusable parameters one after the other, in both orders, and must never give what
belongs to another.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import BatchAxes, Primitive
from morphax.experimental import jet
from morphax.extend.core import Primitive as OpenPrimitive
from morphax.extend.core import jaxpr_as_fun
from morphax.interpreters import ad, batching


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    x: Any


@dataclasses.dataclass(frozen=True)
class Config:
    x: Any


GROUPS = [
    (0.0, -0.0, 0, False, 0j, np.float32(0.0), np.float32(-0.0), np.float64(-0.0), np.int32(0)),
    (1, True, 1.0, 1 + 0j, Level.LOW, np.int8(1), np.int64(1), np.bool_(True), np.float16(1)),
    (float("nan"), np.float32("nan"), -float("nan")),
    (slice(1), slice(True), slice(1.0)),
    (range(0, 3, 2), range(0, 4, 2)),
]
HOLDERS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: (x,),
    lambda x: ((2, (x, "a")),),
    Pair,
    Config,
    lambda x: Config((Pair(x),)),
]


def confusable() -> Iterator[list[Any]]:
    """Lists of parameters that are equal, or hard to compare."""
    for group, hold in itertools.product(GROUPS, HOLDERS):
        yield [hold(x) for x in group]
    yield [frozenset({1}), frozenset({True}), frozenset({1.0})]
    yield [Pair(1), (1,), Config(1), (True,), [1], [True], [1.0]]
    yield [{0: 1}, {False: 1}, {0.0: True}, {-0.0: 1.0}, np.zeros(1), -np.zeros(1)]


def text(value: Any) -> str:
    """All that can be seen of a parameter."""
    if isinstance(value, (tuple, list, frozenset)):
        return f"{type(value)}({','.join(map(text, value))})"
    if isinstance(value, dict):
        return text([*value.items()])
    if isinstance(value, Config):
        return f"Config({text(value.x)})"
    if isinstance(value, (float, np.generic)):
        return f"{type(value)} {np.asarray(value).tobytes()!r}"
    return f"{type(value)} {value!r}"


def code(value: Any) -> float:
    """A number that tells a parameter from those beside it."""
    return float(zlib.crc32(text(value).encode()) % 999 + 2)


@final
class Coded(Primitive):
    """Multiplies by the number of its parameter; its rules find this number for themselves."""

    name = "coded"

    def abstract_eval(self, x: Any, *, p: Any) -> Any:
        return x

    def kernel(self, x: Any, *, p: Any) -> Callable[..., Any]:
        factor = np.float32(code(p))
        return lambda value: value * factor

    def evaluate(self, x: Any, *, p: Any) -> Any:
        return x * np.float32(code(p))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, p: Any) -> Any:
        return self.bind(*primals, p=p), scaled.bind(*tangents, p=p)

    def batch(self, axes: BatchAxes, operands: Sequence[Any], dims: Any, *, p: Any) -> Any:
        return lax.mul(operands[0], np.float32(code(p))), dims[0]


@final
class Scaled(Primitive):
    """The derivative of `Coded`, which is linear."""

    name = "scaled"
    linear = True

    def abstract_eval(self, x: Any, *, p: Any) -> Any:
        return x

    def evaluate(self, x: Any, *, p: Any) -> Any:
        return x * np.float32(code(p))

    def transpose(self, ct: Any, x: Any, *, p: Any) -> list[Any]:
        return [lax.mul(ct, np.float32(code(p)))]

    def batch(self, axes: BatchAxes, operands: Sequence[Any], dims: Any, *, p: Any) -> Any:
        return lax.mul(operands[0], np.float32(code(p))), dims[0]


coded, scaled = Coded(), Scaled()

opened = OpenPrimitive("opened_code")
opened.def_impl(lambda x, p: x * np.float32(code(p)))
opened.def_abstract_eval(lambda x, p: x)
ad.defjvp(opened, lambda t, x, p: lax.mul(t, np.float32(code(p))))
batching.primitive_batchers[opened] = lambda args, dims, p: (
    lax.mul(args[0], np.float32(code(p))),
    dims[0],
)

ONE = np.ones((), np.float32)
PRIMITIVES = {"a class": coded, "user-defined": opened}

PATHS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "eager": lambda f: f(ONE),
    "jvp": lambda f: jax.jvp(f, (ONE,), (ONE,))[1],
    "grad": lambda f: jax.grad(f)(ONE),
    "vjp": lambda f: jax.vjp(f, ONE)[1](ONE)[0],
    "linearize": lambda f: jax.linearize(f, ONE)[1](ONE),
    "vmap": lambda f: jax.vmap(f)(np.ones(2, np.float32))[1],
    "vmap of grad": lambda f: jax.vmap(jax.grad(f))(np.ones(2, np.float32))[1],
    "a program": lambda f: jaxpr_as_fun(jax.make_jaxpr(f)(ONE))(ONE)[0],
    "grad of a program": lambda f: jax.grad(jaxpr_as_fun_of(f))(ONE),
    "hessian": lambda f: jax.grad(jax.grad(lambda x: f(x) * x))(ONE) / 2,
    "jet": lambda f: jet.jet(f, (ONE,), ((ONE,),))[1][0],
    "linear_transpose": lambda f: jax.linear_transpose(jax.linearize(f, ONE)[1], ONE)(ONE)[0],
    "large eager": lambda f: f(np.ones(40_000, np.float32))[-1],
}


def jaxpr_as_fun_of(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    jaxpr = jax.make_jaxpr(f)(ONE)
    return lambda x: jaxpr_as_fun(jaxpr)(x)[0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_rules_do_not_confuse_parameters(primitive: str, path: str) -> None:
    operation, run = PRIMITIVES[primitive], PATHS[path]
    for values in confusable():
        for order in (values, values[::-1]):
            jax.clear_caches()
            for p in order:
                got = float(run(lambda x, p=p: operation.bind(x, p=p)))
                assert got == code(p), (p, order)


STATIC_PATHS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "jit": lambda: jax.jit(code_of, static_argnums=0),
    "jit by name": lambda: by_name(jax.jit(code_of, static_argnames="p")),
    "a lambda": lambda: lambda p: jax.jit(lambda q: code_of(q), static_argnums=0)(p),
    "checkpoint": lambda: lambda p: jax.checkpoint(lambda q: code_of(q), static_argnums=0)(p),
    "make_jaxpr": lambda: lambda p: jaxpr_as_fun(jax.make_jaxpr(code_of, static_argnums=0)(p))()[0],
}


def by_name(f: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda p: f(p=p)


def code_of(p: Any) -> Any:
    return np.float32(code(p))


@pytest.mark.parametrize("path", STATIC_PATHS)
def test_static_arguments_are_not_confused(path: str) -> None:
    values = [p for ps in confusable() for p in ps if is_hashable(p)]
    values = values[:60] + values[-9:]
    f = STATIC_PATHS[path]()
    for order in (values, values[::-1]):
        jax.clear_caches()
        for p in (*order, *order):
            assert float(f(p)) == code(p), p


def is_hashable(p: Any) -> bool:
    try:
        hash(p)
    except TypeError:
        return False
    return True


def test_each_static_value_is_traced_once() -> None:
    traced: list[Any] = []
    f = jax.jit(lambda p: (traced.append(p), jnp.zeros(()))[1], static_argnums=0)
    values = [0.0, -0.0, (1,), (True,), (1.0,), Config(0.0), Config(-0.0), Level.LOW, Pair(1), "a"]
    for _ in range(3):
        for p in values:
            f(p)
    assert list(map(text, traced)) == list(map(text, values))


def test_structures_whose_data_are_equal() -> None:
    """The keys of dictionaries and the data of registered classes are told apart by `jit`."""

    class Node:
        def __init__(self, data: Any) -> None:
            self.data = data

    jax.tree_util.register_pytree_node(
        Node, lambda n: ((1.0,), n.data), lambda data, children: Node(data)
    )
    keys: list[Any] = [1, True, 1.0, np.int64(1), 0.0, -0.0, False]
    by_key = jax.jit(lambda d: np.float32(code(next(iter(d)))))
    by_data = jax.jit(lambda n: np.float32(code(n.data)))
    loops = [
        lambda n: lax.scan(lambda c, x: (c, np.float32(code(n.data))), 0, None, 1)[1][0],
        lambda n: lax.cond(True, lambda m: np.float32(code(m.data)), lambda m: np.float32(0), n),
        lambda n: lax.scan(lambda c, x: (c, np.float32(code(c.data))), n, None, 1)[1][0],
        lambda n: jax.checkpoint(lambda m: np.float32(code(m.data)))(n),
    ]
    data = [*keys, (0.0,), (-0.0,), [0.0], [-0.0]]
    data += [{"a": 0.0}, {"a": -0.0}, {"a": [1]}, {"a": [True]}]
    for _ in range(2):
        for key in (*keys, *keys[::-1]):
            assert by_key({key: 1.0}) == code(key)
        for value in (*data, *data[::-1]):
            assert by_data(Node(value)) == code(value)
            for loop in loops:
                assert loop(Node(value)) == code(value)


def test_contexts_of_users_are_told_apart() -> None:
    context = jax.make_user_context(None)
    f = jax.jit(lambda: np.float32(code(context.value)))
    for value in (0.0, -0.0, 0, False, (1,), (True,), Config(0.0), Config(-0.0)):
        with context(value):
            assert f() == code(value)


def test_callbacks_that_are_equal_are_not_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Scale:
        factor: Any

        def __call__(self, x: Any) -> Any:
            return np.float32(code(self.factor)) * x

    def run(factor: Any) -> float:
        shape = jax.ShapeDtypeStruct((), np.float32)

        def call(x: Any) -> Any:
            return jax.pure_callback(Scale(factor), shape, x, vmap_method="sequential")

        return float(jax.vmap(call)(np.ones(2, np.float32))[1])

    for factor in (0.0, -0.0, 0, False, 1, True, -0.0, 0.0):
        assert run(factor) == code(factor)


X, FAR = np.ones(3, np.float32), np.array([7, 8])
BIG = np.full(40_000, 7)
FILLS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda v: _get(X, FAR, v),
    "large eager": lambda v: _get(X, BIG, v)[-2:],
    "take": lambda v: jnp.take(X, FAR, mode="fill", fill_value=v),
    "jit": lambda v: jax.jit(lambda x: _get(x, FAR, v))(X),
    "vmap": lambda v: jax.vmap(lambda x: _get(x, FAR, v))(np.ones((2, 3), np.float32))[1],
    "vmap of indices": lambda v: jax.vmap(lambda i: _get(X, i, v))(FAR),
    "jvp": lambda v: jax.jvp(lambda x: _get(x, FAR, v), (X,), (X,))[0],
    "vjp": lambda v: jax.vjp(lambda x: _get(x, FAR, v), X)[0],
    "linearize": lambda v: jax.linearize(lambda x: _get(x, FAR, v), X)[0],
    "scan": lambda v: lax.scan(lambda c, i: (c, _get(X, i, v)), 0, FAR)[1],
    "checkpoint": lambda v: jax.vjp(jax.checkpoint(lambda x: _get(x, FAR, v)), X)[0],
    "pad": lambda v: jnp.pad(jnp.zeros(1), 1, constant_values=v)[::2],
    "initial": lambda v: jnp.max(jnp.full((2, 1), -np.inf), axis=1, initial=v),
    "where": lambda v: jnp.where(np.zeros(2, bool), 1.0, v),
    "full": lambda v: jnp.full(2, v),
    "nan_to_num": lambda v: jnp.nan_to_num(jnp.full(2, np.nan), nan=v),
    "clip": lambda v: jnp.clip(jnp.full(2, -1.0), v, 9.0),
}  # fmt: skip


def _get(x: Any, indices: Any, fill_value: Any) -> Any:
    return jnp.asarray(x).at[indices].get(mode="fill", fill_value=fill_value)


@pytest.mark.parametrize("path", FILLS)
def test_numbers_that_fill(path: str) -> None:
    """Zeros keep their sign, NaN stays itself, and the order of calls does not matter."""
    fill = FILLS[path]
    values = [0.0, -0.0, 2.0, float("nan"), np.float32(0.0), np.float32(-0.0), 0, -0.0, 0.0, 0]
    if path in ("initial", "clip"):  # of NaN the sign is nobody's business
        values = [v for v in values if v == v]
    jax.clear_caches()
    for v in (*values, *values[::-1]):
        got = np.asarray(fill(v), np.float32)
        np.testing.assert_array_equal(got, np.full(2, v, np.float32))
        assert np.signbit(got).tolist() == [np.signbit(np.float32(v))] * 2 or v != v, v
