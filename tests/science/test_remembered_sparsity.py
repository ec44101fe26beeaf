"""Patterns that are remembered are the patterns that would be found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.science import sparse_hessian, sparse_jacobian
from morphax.science.sparsity import remembered
from tests.science.sparsity_programs import FORWARD_ONLY, STEPS, random_program


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each program that is read."""
    count: list[int] = []
    found = remembered.pattern_from

    def counted(*arguments: Any) -> Any:
        count.append(1)
        return found(*arguments)

    monkeypatch.setattr(remembered, "pattern_from", counted)
    jax.clear_caches()
    return count


def check_as_found_anew(f: Callable[..., Any], x: Any, *, reverse: bool = True) -> None:
    """The same entries and numbers as without memory, and those of the dense matrix."""

    def total(x: Any) -> Any:
        return jnp.sum(jnp.sin(f(x)))

    ways: list[Callable[[], Any]] = [lambda: sparse_jacobian(f, x, mode="forward")]
    if reverse:
        ways += [lambda: sparse_jacobian(f, x), lambda: sparse_hessian(total, x)]
    for way in ways:
        given = way()
        with override(remember_sparsity=False):
            anew = way()
        np.testing.assert_array_equal(given.indices, anew.indices)
        np.testing.assert_array_equal(given.data, anew.data)
    dense = jax.jacfwd(f)(x)
    np.testing.assert_allclose(ways[0]().todense(), dense, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", STEPS)
def test_the_same_program_with_other_constants(name: str) -> None:
    """Indices, masks, matrices, branches and counts of steps change from call to call."""
    for seed in (1, 2, 3, 1):
        rng = np.random.default_rng(seed)
        f, x = STEPS[name](5, rng), jnp.asarray(rng.normal(size=5))
        check_as_found_anew(f, x, reverse=name not in FORWARD_ONLY)


@pytest.mark.parametrize("seed", range(100, 106))
def test_random_programs(seed: int) -> None:
    for _ in range(2):
        names, f, x = random_program(seed)
        check_as_found_anew(f, jnp.asarray(x), reverse=FORWARD_ONLY.isdisjoint(names))


# Programs of an array of six zeros and ones, which decides on the pattern.
DECIDED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "mask": lambda m: lambda x: jnp.where(m == 1, x, x[::-1] ** 2),
    "indices": lambda m: lambda x: x[m] * x,
    "computed indices": lambda m: lambda x: x[(m * 3 + jnp.arange(6)) % 6] ** 2,
    "matrix": lambda m: lambda x: jnp.diag(m.astype(x.dtype)) @ (x * x),
    "matrix on the right": lambda m: lambda x: (x * x) @ jnp.outer(m, m).astype(x.dtype),
    "where to write": lambda m: lambda x: jnp.sin(x).at[m].set(x[:6] ** 2),
    "where to add": lambda m: lambda x: jnp.zeros(6).at[m * 2].add(x**2),
    "start": lambda m: lambda x: lax.dynamic_slice(x * x, (m[0],), (3,)),
    "branch": lambda m: lambda x: lax.switch(m[1], (jnp.sin, lambda y: y[::-1] * y), x),
    "loop": lambda m: lambda x: lax.map(lambda p: jnp.where(p[0] == 1, p[1], x[0]), (m, x)),
    "loop with it": lambda m: lambda x: lax.map(lambda y: jnp.where(m[0] == 1, y, y * x[5]), x),
    "inside of jit": lambda m: jax.jit(lambda x: x[m] * x),
    "sorted": lambda m: lambda x: x[jnp.argsort(m, stable=True)] * x,
    "comparison of floats": lambda m: lambda x: jnp.where(m * 0.5 > 0.25, x, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("of", [jnp.asarray, np.array], ids=["arrays", "NumPy's"])
@pytest.mark.parametrize("name", DECIDED)
def test_constants_that_decide(name: str, of: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(0)
    x = jnp.linspace(0.5, 2.0, 6)
    for _ in range(4):
        check_as_found_anew(DECIDED[name](of(rng.integers(0, 2, 6))), x)


@pytest.mark.parametrize("name", [name for name in DECIDED if name != "inside of jit"])
def test_an_array_that_changes_in_place(name: str) -> None:
    """NumPy's arrays may; that a compiled function keeps what it was compiled with is known."""
    mask = np.zeros(6, np.int64)
    f, x = DECIDED[name](mask), jnp.linspace(0.5, 2.0, 6)
    for place in range(3):
        mask[place] = 1
        check_as_found_anew(f, x)


def test_numbers_written_in_the_program() -> None:
    x = jnp.linspace(0.5, 2.0, 6)
    for place in (0, 2, 0, 3):

        def row(x: Any, place: int = place) -> Any:
            return lax.dynamic_index_in_dim(x * x, place)

        def masked(x: Any, place: int = place) -> Any:
            return jnp.where(jnp.arange(6) < place, x, 0.0)

        check_as_found_anew(row, x)
        check_as_found_anew(masked, x)


def test_numbers_that_do_not_decide_may_change(readings: list[int]) -> None:
    """The step before, the time: what equations that are solved step by step are made of."""
    x = jnp.linspace(0.5, 2.0, 6)
    for step in range(4):
        before, time = x * step, 0.1 * step

        def residual(y: Any, before: Any = before, time: float = time) -> Any:
            inflow = jnp.concatenate([before[:1] * time, y[:-1]])
            return y - before - time * (inflow - y**2)

        check = sparse_jacobian(residual, x, mode="forward")
        np.testing.assert_allclose(check.todense(), jax.jacfwd(residual)(x), rtol=1e-12)
    assert len(readings) == 1


def test_other_shapes_dtypes_and_directions_are_other_programs(readings: list[int]) -> None:
    for x in (jnp.ones(4), jnp.ones(5), jnp.ones(5, jnp.float32), jnp.ones((5, 1))):
        for mode in ("forward", "reverse"):
            matrix = sparse_jacobian(lambda x: x * x, x, mode=mode)
            assert (matrix.shape, matrix.dtype) == (x.shape * 2, x.dtype)
    assert len(readings) == 8
    sparse_jacobian(lambda x: x * x, jnp.ones(5), mode="forward")
    assert len(readings) == 8


def test_inside_of_jit(readings: list[int]) -> None:
    x = jnp.linspace(0.5, 2.0, 6)
    mask = jnp.arange(6) % 2
    f = DECIDED["mask"](mask)
    eager = sparse_jacobian(f, x, mode="forward")
    compiled = jax.jit(lambda x: sparse_jacobian(f, x, mode="forward"))(x)
    np.testing.assert_array_equal(compiled.indices, eager.indices)
    assert len(readings) == 1
    # A mask that is an operand is known to nobody, so every element may be chosen.
    unknown = jax.jit(lambda m, x: sparse_jacobian(DECIDED["mask"](m), x, mode="forward"))
    assert unknown(mask, x).nse > eager.nse
    assert len(readings) == 2


def test_the_switch_and_clear_caches(readings: list[int]) -> None:
    x = jnp.ones(3)
    for _ in range(2):
        sparse_jacobian(jnp.sin, x, mode="forward")
    assert len(readings) == 1
    with override(remember_sparsity=False):
        sparse_jacobian(jnp.sin, x, mode="forward")
    assert len(readings) == 2
    jax.clear_caches()
    sparse_jacobian(jnp.sin, x, mode="forward")
    assert len(readings) == 3


def test_values_are_noted_by_all_that_follow_from_them() -> None:
    """A choice between programs of which each looks elsewhere."""
    x = jnp.linspace(0.5, 2.0, 4)

    def of(flag: int, first: Any, second: Any) -> Callable[[Any], Any]:
        branches = (lambda x: x[first], lambda x: x[second] * x)
        return lambda x: lax.switch(jnp.asarray([flag])[0], branches, x)

    rng = np.random.default_rng(0)
    for _ in range(12):
        flag, first, second = int(rng.integers(2)), *jnp.asarray(rng.integers(0, 4, (2, 4)))
        check_as_found_anew(of(flag, first, second), x)
