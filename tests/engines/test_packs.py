"""Calls that are made together: their order, and the bits of single calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.loops.program import (
    Assign,
    Buffer,
    Index,
    Load,
    Name,
    Statement,
    Store,
    operands_of,
)
from morphax.engines.native.packs import packed
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.machine_code_calls import call, compiled

F32 = np.dtype(np.float32)
BUFFERS = [Buffer(name, F32, (4,)) for name in "xyz"]


def block(rng: random.Random) -> list[Statement]:
    """Straight-line statements that use each other and memory."""
    names = [Name(0, F32)]
    body: list[Statement] = [Load(names[0], BUFFERS[0], Index())]
    for number in range(1, rng.randrange(5, 200)):
        at, buffer = Index((), rng.randrange(4)), rng.choice(BUFFERS)
        kind = rng.random()
        if kind < 0.2:
            body.append(Store(buffer, at, rng.choice(names)))
            continue
        result = Name(number, F32)
        if kind < 0.4:
            body.append(Load(result, buffer, at))
        elif kind < 0.8:
            body.append(Assign(result, rng.choice(("sin", "exp", "cbrt")), (rng.choice(names),)))
        else:
            body.append(Assign(result, "add", (rng.choice(names), rng.choice(names))))
        names.append(result)
    return body


@pytest.mark.parametrize("seed", range(20))
def test_the_order_keeps_names_and_memory(seed: int) -> None:
    body = block(random.Random(seed))
    units = [x if isinstance(x, tuple) else (x,) for x in packed(body)]
    place = {statement: number for number, unit in enumerate(units) for statement in unit}
    assert place.keys() == set(body)
    assert sum(map(len, units)) == len(body)
    assert seed > 3 or any([len(unit) > 2 for unit in units])
    made = {x.result: x for x in body if isinstance(x, (Assign, Load))}
    for i, statement in enumerate(body):
        for name in operands_of(statement):
            assert type(name) is not Name or place[made[name]] < place[statement]
        for before in body[:i]:
            accesses = [x for x in (before, statement) if isinstance(x, (Load, Store))]
            if len(accesses) == 2 and accesses[0].buffer is accesses[1].buffer:
                if any([isinstance(x, Store) for x in accesses]):
                    assert place[before] < place[statement]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": jnp.sin,
    "log": lambda x: jnp.log(jnp.abs(x)),
    "both": lambda x: jnp.cos(jnp.exp(x * 0.1)),
    "power": lambda x: jnp.abs(x) ** 1.5,
    "far": lambda x: jnp.sin(x * 1e7),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("label", FUNCTIONS)
def test_calls_together_have_the_bits_of_single_ones(label: str, count: int, dtype: Any) -> None:
    function = FUNCTIONS[label]
    x = np.random.default_rng(count).normal(size=count).astype(dtype)
    x[0] = np.inf
    with jax.enable_x64(True):
        together = compiled(make_jaxpr(lambda *xs: [function(y) for y in xs])(*x))
        alone = compiled(make_jaxpr(function)(x[0]))
    expected = [call(*alone, y)[0] for y in x]
    for found, truth in zip(call(*together, *x), expected, strict=True):
        assert found.tobytes() == truth.tobytes()
