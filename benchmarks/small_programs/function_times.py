"""Measure what functions of one element take on both engines.

    python -m benchmarks.small_programs.function_times [--rounds N]

Prints the table of `morphax/engines/native/function_times.py`.  A time is the difference between
runs of a program on many and on few elements, so that calls are left out; the program applies a
function to several numbers for each element, so that memory hardly counts.  Processor time, on
both engines in turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

import morphax as jax
import morphax.numpy as jnp

# So many numbers stay in the first caches, and no engine divides their program among threads.
_FEW: Final = 1 << 11
_MANY: Final = 1 << 14
_TERMS: Final = 4

_FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    **{name: getattr(jnp, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log1p")},
    **{name: getattr(jnp, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(jnp, name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    "div": lambda x: 0.2 / x,
    "sqrt": jnp.sqrt,
    "cbrt": jnp.cbrt,
    "pow": lambda x: x ** (x + 0.1),
    "atan2": lambda x: jnp.arctan2(x, x + 0.1),
    "fmod": lambda x: jnp.fmod(x, 0.3),
    "erf": jax.scipy.special.erf,
    "erfc": jax.scipy.special.erfc,
    "lgamma": jax.scipy.special.gammaln,
}
"""By the names of loop programs."""


def _sum(function: Callable[[Any], Any], x: Any) -> Any:
    """The sum of the function of this and of numbers a little larger."""
    return sum([function(x + 0.1 * i) for i in range(1, _TERMS)], function(x))


def _call(name: str, x: Any, engine: str) -> Callable[[], Any]:
    with jax.cpu_engine(engine):
        compiled = jax.jit(partial(_sum, _FUNCTIONS[name])).lower(x).compile()
    return lambda: jax.block_until_ready(compiled(x))


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    for _ in range(20):
        call()
    return (time.process_time() - start) / 20


def picoseconds(name: str, dtype: Any, rounds: int) -> list[int]:
    """What one element takes: natively, and XLA."""
    order = np.random.default_rng(0).permutation(_MANY)
    x = jnp.asarray(np.linspace(0.1, 0.6, _MANY, dtype=dtype)[order]) + (name == "acosh")
    calls = [_call(name, y, engine) for engine in ("native", "xla") for y in (x[:_FEW], x)]
    times = [[_seconds(call) for call in calls] for _ in range(rounds)]
    few, many, few_by_xla, many_by_xla = [min(column) for column in zip(*times, strict=True)]
    scale = 1e12 / (_TERMS * (_MANY - _FEW))
    return [_rounded(x * scale) for x in (many - few, many_by_xla - few_by_xla)]


def _rounded(time: float) -> int:
    return int(float(f"{max(time, 0):.2g}"))


def main() -> None:
    """Print a line for each function, of float32 and of float64."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_programs.function_times")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with jax.enable_x64(True):
        for name in _FUNCTIONS:
            times = [tuple(picoseconds(name, dtype, rounds)) for dtype in (np.float32, np.float64)]
            print(f'    "{name}": {{4: {times[0]}, 8: {times[1]}}},', flush=True)


if __name__ == "__main__":
    main()
