"""Integers that are divided by vectors of floats: the quotients and remainders of single steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.program import Const, Name
from morphax.engines.native.divisions import division, is_by_floats

DTYPES = [f"{kind}int{width}" for kind in ("", "u") for width in (8, 16, 32)]
NATIVE = {"jax_cpu_engine": "native"}


def operands(dtype: Any) -> tuple[Any, Any]:
    """Numbers of all lengths, and all pairs of those at the ends."""
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    x, y = [rng.integers(info.min, info.max, 20_000, dtype, endpoint=True) for _ in range(2)]
    y >>= rng.integers(0, info.bits, y.size).astype(dtype)
    ends = np.array([0, 1, 2, 3, -1, info.max, info.max - 1, info.min, info.min + 1])
    ends = ends[(ends >= info.min) & (ends <= info.max)].astype(dtype)
    # Dividends next to multiples, where a quotient that is rounded up would be seen.
    with np.errstate(over="ignore"):
        near = (x // np.where(y == 0, 1, y)) * y + rng.integers(-1, 2, y.size).astype(dtype)
    return (
        np.concatenate([x, near, np.repeat(ends, ends.size)]),
        np.concatenate([y, y, np.tile(ends, ends.size)]),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", [lax.rem, lax.div], ids=["rem", "div"])
def test_they_are_those_of_xla_and_of_numpy(operation: Any, dtype: str) -> None:
    x, y = operands(np.dtype(dtype))
    compiled = [
        jax.jit(operation, compiler_options=options)(x, y)
        for options in (NATIVE, {"jax_cpu_engine": "xla"})
    ]
    np.testing.assert_array_equal(*compiled)
    np.testing.assert_array_equal(compiled[0], operation(jnp.asarray(x), jnp.asarray(y)))


def test_a_batch_of_loops_divides_integers_as_one_loop_does() -> None:
    def cofactor(a: Any, b: Any) -> Any:
        return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], lax.rem(*s)), (a, b))[0]

    a, b = [np.random.default_rng(i).integers(0, 2**32, 300, np.uint32) for i in range(2)]
    batch = jax.jit(jax.vmap(cofactor), compiler_options=NATIVE)
    np.testing.assert_array_equal(batch(a, b), np.gcd(a, b))


def test_which_divisions_they_are() -> None:
    narrow, wide = np.dtype(np.int32), np.dtype(np.int64)
    x, y = Name(1, narrow), Name(2, narrow)
    assert is_by_floats("remainder", [x, y])
    assert not is_by_floats("remainder", [x, Const(narrow.type(7))])
    assert not is_by_floats("remainder", [Name(1, wide), Name(2, wide)])
    assert not is_by_floats("add", [x, y])
    assert "fdiv <8 x double>" in division("quotient", narrow, 8)


def test_integers_between_arrays_are_drawn_by_machine_code() -> None:
    def draw(key: Any, above: Any) -> Any:
        return jax.random.randint(key, above.shape, 0, above)

    operands = jax.random.key(0), jnp.arange(1, 100_001)
    assert "engine native" in jax.jit(draw).lower(*operands).compile().as_text("engine")
