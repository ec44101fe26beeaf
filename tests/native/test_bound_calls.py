"""Warm calls whose operands are committed to places: what the twin does, and no Python."""

from __future__ import annotations

import gc
import random
import re
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.array import Array
from morphax.config import current as current_config
from morphax.core import aval_of

from ..tracing import python_calls
from .test_calls import compiled_only

P = jax.P
SHAPE = (4, 4)


def mesh_of(*numbers: int) -> jax.sharding.Mesh:
    return jax.sharding.Mesh(np.array(jax.devices("cpu"))[list(numbers)], ("x",))


def places() -> list[Any]:
    """Of one device and of several, in parts and whole, over other devices and in another order."""
    four, turned, two = mesh_of(0, 1, 2, 3), mesh_of(3, 2, 1, 0), mesh_of(1, 2)
    split = [jax.NamedSharding(four, spec) for spec in (P("x"), P("x", None), P(None, "x"), P())]
    others = [jax.NamedSharding(mesh, P("x")) for mesh in (turned, two)]
    return [*split, *others, *jax.devices("cpu")[:2]]


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "sum": lambda: jax.jit(lambda a, b: a + b),
    "unused": lambda: jax.jit(lambda a, b: 2.0 * a),
    "kept": lambda: jax.jit(lambda a, b: 2.0 * a, keep_unused=True),
    "forwarded": lambda: jax.jit(lambda a, b: (b, a - b)),
    "donated": lambda: jax.jit(lambda a, b: (a * b, b.sum()), donate_argnums=0),
    "spread": lambda: jax.jit(
        lambda a, b: (a - b).T, out_shardings=jax.NamedSharding(mesh_of(0, 1, 2, 3), P("x"))
    ),
    "device": lambda: jax.jit(
        lambda a, b: a + b,
        out_shardings=jax.sharding.SingleDeviceSharding(jax.devices("cpu")[1]),
    ),
}


def by_twin(f: Any, operands: list[Any]) -> Any:
    """What the twin of the compiled call does."""
    leaves, traced = f._find(tuple(operands), {}, current_config(), aval_of)
    return traced.apply(leaves)


def directly(f: Any, operands: list[Any]) -> Any:
    return f(*operands)


def outcome(way: Callable[..., Any], f: Any, operands: list[Any]) -> Any:
    """All that can be seen of the results of a call, or the error that it raises."""
    try:
        results = jax.tree.leaves(way(f, operands))
    except (RuntimeError, TypeError, ValueError) as error:
        # The line of the caller differs.
        return type(error), re.sub(r"at \S+:\d+ \(.*?\)", "", str(error))
    return [(x.aval, x.place, x.committed, np.asarray(x).tolist()) for x in results]


def same(x: Any) -> Any:
    """Another object of the same numbers, with memory of its own where it is an array."""
    if type(x) is not Array:
        return x
    other = jax.device_put(np.array(x), x.place) if x.committed else jnp.array(np.asarray(x))
    return other


def some_operand(rng: random.Random, where: list[Any]) -> Any:
    kind = rng.choice(("committed", "committed", "committed", "host", "numpy", "number"))
    numbers = np.arange(16, dtype=np.float32).reshape(SHAPE) + rng.randrange(8)
    if kind == "committed":
        return jax.device_put(numbers, rng.choice(where))
    if kind == "host":
        return jnp.array(numbers)
    return numbers if kind == "numpy" else float(rng.randrange(3))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_do_what_the_twin_does(name: str) -> None:
    """Operands change their places from call to call; most calls are warm."""
    rng = random.Random(name)
    # Few of all places at a time, so that programs come back.
    where = places()
    f = FUNCTIONS[name]()
    for turn in range(60):
        if turn % 20 == 0:
            few = rng.sample(where, 3)
        operands = [some_operand(rng, few) for _ in range(2)]
        if type(operands[0]) is float:
            operands[0] = np.full(SHAPE, operands[0], np.float32)
        if name == "spread" and type(operands[1]) is float:
            operands[1] = np.full(SHAPE, operands[1], np.float32)
        if rng.random() < 0.1 and type(operands[1]) is Array:
            operands[1].delete()
            assert outcome(directly, f, operands) == outcome(by_twin, f, operands)
            continue
        others = [same(x) for x in operands]
        for _ in range(2):
            expected = outcome(by_twin, f, others)
            assert outcome(directly, f, operands) == expected, operands
            for x, other in zip(operands, others, strict=True):
                if type(x) is Array:
                    assert x.is_deleted() == other.is_deleted()


def split_four() -> Any:
    return jax.NamedSharding(mesh_of(0, 1, 2, 3), P("x"))


BOUND: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "plain": (lambda a, b: a + b, {}),
    "spread": (lambda a, b: a - b, {"out_shardings": split_four}),
    "donated": (lambda a, b: a * b, {"donate_argnums": 0}),
}


@compiled_only
@pytest.mark.parametrize("name", BOUND)
def test_a_warm_call_on_several_devices_runs_no_python(name: str) -> None:
    function, options = BOUND[name]
    f = jax.jit(function, **{k: v() if callable(v) else v for k, v in options.items()})
    b = jax.device_put(np.ones(SHAPE, np.float32), split_four())
    fresh = [jax.device_put(np.ones(SHAPE, np.float32), split_four()) for _ in range(4)]
    for x in fresh[:3]:
        f(x, b)
    # The account of a donated operand, and the turn of a run, are seen to in Python.
    counts = python_calls(lambda: f(fresh[3], b))
    assert counts <= {"donated": 12}.get(name, 6)


@compiled_only
def test_operands_of_one_other_device_run_no_python(two_devices: list[Any]) -> None:
    f = jax.jit(lambda a: a + 1.0)
    xs = [jax.device_put(jnp.ones(3), device) for device in two_devices]
    for _ in range(3):
        for x in xs:
            f(x)
    for x in xs:
        assert python_calls(lambda x=x: f(x)) == 0  # type: ignore[misc]


def test_more_places_than_are_kept() -> None:
    """What is asked for after it was let go is right all the same."""
    f = jax.jit(lambda a, b: a + b)
    x = np.arange(16, dtype=np.float32).reshape(SHAPE)
    four = mesh_of(0, 1, 2, 3)
    specs = [P("x"), P(None, "x"), P(), P("x", None), P(None)]
    at = [jax.NamedSharding(four, spec) for spec in specs]
    for _ in range(2):
        for one in at:
            for other in at:
                result = f(jax.device_put(x, one), jax.device_put(x, other))
                assert np.array_equal(result, 2 * x)


def test_threads_call_at_places_of_their_own() -> None:
    f = jax.jit(lambda a, b: (a * b).sum(0))
    x = np.arange(16, dtype=np.float32).reshape(SHAPE)
    failures: list[Any] = []

    def call(where: Any) -> None:
        a = jax.device_put(x, where)
        for i in range(40):
            if i % 15 == 7:
                f.clear_cache()
            result = f(a, a)
            if not np.array_equal(result, (x * x).sum(0)) or result.devices() != a.devices():
                failures.append(result)

    threads = [threading.Thread(target=call, args=(where,)) for where in places()[:6:2]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_function_and_its_bound_plans_are_collected() -> None:
    class Holder:
        function: Any

    def made() -> Any:
        holder = Holder()
        holder.function = jax.jit(lambda a: a + (1.0 if holder else 2.0))
        for _ in range(3):
            holder.function(x)
        return weakref.ref(holder)

    x = jax.device_put(np.ones(SHAPE, np.float32), split_four())
    alive = made()
    gc.collect()
    assert alive() is None


def test_a_stage_takes_operands_that_lie_alike() -> None:
    four = mesh_of(0, 1, 2, 3)
    x = np.arange(16, dtype=np.float32).reshape(SHAPE)
    one, same_split = [jax.NamedSharding(four, spec) for spec in (P("x"), P("x", None))]
    stage = jax.jit(lambda a: a + 1.0).lower(jax.device_put(x, one)).compile()
    for where in (one, same_split, one, same_split):
        assert np.array_equal(stage(jax.device_put(x, where)), x + 1.0)
    other = jax.device_put(x, jax.NamedSharding(four, P(None, "x")))
    for _ in range(2):
        with pytest.raises(ValueError, match="for which it was compiled"):
            stage(other)
