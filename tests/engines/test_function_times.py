"""The table of what functions take: complete, and what the estimate makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.small_programs import function_times as measured
from morphax.engines.engine import Options
from morphax.engines.loops.operations import MATH_OF_ONE, MATH_OF_TWO, cost_of
from morphax.engines.loops.program import DType
from morphax.engines.native import function_times
from morphax.engines.native.costs import work_of
from morphax.engines.native.translation import translated

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
LONG = {x for x in (*MATH_OF_ONE, *MATH_OF_TWO) if cost_of(x) > 1} | {"div"}


def test_each_function_that_takes_long_is_measured() -> None:
    assert set(measured._FUNCTIONS) == LONG


@pytest.mark.parametrize("operation", sorted(LONG))
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_times(operation: str, dtype: DType) -> None:
    times = function_times.picoseconds(operation, dtype)
    assert times is not None
    assert all(50 < x < 50_000 for x in times)


def test_what_is_not_measured() -> None:
    assert function_times.picoseconds("add", FLOATS[0]) is None
    assert function_times.picoseconds("div", np.dtype(np.complex64)) is None


def test_functions_of_vectors_are_counted_by_their_times() -> None:
    jaxpr = jax.jit(lambda x: jnp.sin(x) + jnp.exp(x)).trace(jnp.ones(1000)).jaxpr
    work = work_of(translated(jaxpr, Options("f", cpu_engine="native")).loops)
    times = [function_times.picoseconds(x, FLOATS[0]) or (0, 0) for x in ("sin", "exp")]
    assert work.functions == 2000
    assert (work.natively, work.by_xla) == tuple([1000 * sum(x) for x in zip(*times, strict=True)])
    assert work.wide_slow == work.slow == 0


def test_a_function_is_measured() -> None:
    assert all(x >= 0 for x in measured.picoseconds("exp", np.float32, 1))
