"""One element among padding needs no memory in programs for machine code."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.engines.loops import joining
from morphax.engines.loops.program import Copy, For, Store, walk
from morphax.engines.native.machine_code import compile_loops
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call

CONFIGS: dict[str, tuple[tuple[int, ...], Any]] = {
    "before": ((1,), [(3, 0, 0)]),
    "after": ((1,), [(0, 17, 0)]),
    "around": ((1,), [(9, 9, 5)]),
    "matrix": ((1, 1), [(2, 3, 0), (0, 6, 1)]),
    "only one axis": ((1, 1, 1), [(0, 0, 0), (4, 5, 0), (0, 0, 0)]),
    "nothing": ((1, 1), [(0, 0, 0), (0, 0, 0)]),
    "cut away": ((1, 1), [(-1, 5, 0), (1, 2, 0)]),
    "cut away after": ((1,), [(6, -1, 0)]),
    "cut to itself": ((1,), [(6, -2, 0)]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "uint64"])
@pytest.mark.parametrize("label", CONFIGS)
def test_one_element_among_padding(label: str, dtype: str) -> None:
    shape, config = CONFIGS[label]
    fillers = [0, 1, -0.0, np.nan, np.inf] if dtype.startswith("f") else [0, 1]

    def padded(x: Any, filler: Any) -> Any:
        wide = lax.pad(x, filler, config)
        return wide, lax.rev(wide, range(wide.ndim))

    for element in (1, -0.0, np.nan) if dtype.startswith("f") else (1,):
        for filler in fillers:
            given = np.full(shape, element, dtype), np.array(filler, dtype)
            with jax.enable_x64():
                found = [np.asarray(x) for x in by_loops(padded, *given)]
                expected = [np.asarray(x) for x in padded(*map(jnp.asarray, given))]
            for mine, theirs in zip(found, expected, strict=True):
                assert mine.tobytes() == theirs.tobytes()


def by_loops(function: Callable[..., Any], *operands: Any) -> list[Any]:
    program = checked_program(make_jaxpr(function)(*operands), "f")
    return call(program, compile_loops(program), *operands)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_many_elements_are_joined_row_by_row(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_BEYOND_CACHES", 1)
    x, y = [np.random.default_rng(i).normal(size=(3, 5, 4)).astype(np.float32) for i in (0, 1)]

    def joined(x: Any, y: Any) -> Any:
        shared = jnp.sin(x) + y
        parts = [x, shared, 2 * y, jnp.ones_like(x), jnp.tanh(y), lax.rev(shared, (axis,)), shared]
        return (
            jnp.concatenate(parts, axis),
            jnp.stack([*parts, x[:, ::-1]], axis),
            jnp.concatenate([x, x], axis) + 1,
            shared,
        )

    found = by_loops(joined, x, y)
    for mine, theirs in zip(found, jax.tree.leaves(joined(x, y)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.repeat(x, 3, 0),
        lambda x: jnp.tile(x, (2, 3)),
        lambda x: x.T.reshape(5, 12),
        lambda x: jnp.ravel(jnp.sin(x.T) + x.T),
    ],
)
def test_what_is_stored_to_be_reshaped_is_the_result(function: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).normal(size=(10, 6)).astype(np.float32)
    program = checked_program(make_jaxpr(function)(x), "f")
    assert not any([isinstance(s, Copy) for s in walk(program.body)])
    (found,) = call(program, compile_loops(program), x)
    np.testing.assert_allclose(found, function(jnp.asarray(x)), rtol=1e-6)


def test_what_is_read_is_what_was_there() -> None:
    """The element is read before its memory is changed."""

    def changed(x: Any) -> Any:
        one = lax.pad(x[2:3], jnp.float32(0), [(1, 4, 0)])
        x = lax.fori_loop(0, 3, lambda i, x: x.at[2].add(one[1]), x)
        return x, one

    x = np.arange(6, dtype=np.float32)
    first, second = by_loops(changed, x)
    np.testing.assert_array_equal(first, [0, 1, 8, 3, 4, 5])
    np.testing.assert_array_equal(second, [0, 2, 0, 0, 0, 0])


def test_derivatives_of_single_elements_are_one_loop() -> None:
    """Of as many elements as there are, no array is stored for each."""

    def energy(x: Any) -> Any:
        return sum([(x[i + 1] - x[i]) ** 2 for i in range(23)])

    x = np.linspace(-1, 1, 24, dtype=np.float32) ** 3
    with override(find_repeated_steps=False):
        program = checked_program(make_jaxpr(jax.grad(energy))(x), "f")
    statements = list(walk(program.body))
    assert len([s for s in statements if isinstance(s, For)]) <= 3
    assert len([s for s in statements if isinstance(s, Store)]) <= 3
    (found,) = call(program, compile_loops(program), x)
    steps = np.diff(x)
    expected = 2 * (np.pad(steps, (1, 0)) - np.pad(steps, (0, 1)))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_parts_of_all_sizes_lie_in_order(count: int, dtype: str) -> None:
    """As many parts as elements may be single ones, or others of which some are empty."""
    for sizes in itertools.product(range(count + 1), repeat=count):
        if sum(sizes) == count:
            parts = [
                np.arange(3.0 * n).reshape(3, n).astype(dtype) + 10 * i for i, n in enumerate(sizes)
            ]
            (found,) = by_loops(lambda *parts: [jnp.concatenate(parts, 1)], *parts)
            np.testing.assert_array_equal(found, np.concatenate(parts, 1))
