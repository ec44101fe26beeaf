"""Fit the constants of the native engine's cost model to measurements.

    python -m benchmarks.small_programs.fit [--rounds N]

Runs all programs, and chains, sums and products of several sizes, on both engines in turn; prints
the constants for `morphax/engines/native/engine_times.py`, how far they are off, and what they
would choose.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.engine import Options
from morphax.engines.native import cost_model, engine_times
from morphax.engines.native.costs import work_of
from morphax.engines.native.translation import translated
from morphax.engines.native.work import Work

from .table import PROGRAMS, operands_of

# How many steps loops make whose number the program does not say; of members, on average.
_STEPS = {"newton": 2000, "divergent": 12, "mandelbrot": 60, "lbfgs": 2}


class Measured(NamedTuple):
    """A program with its work, and the time of a run on each engine in nanoseconds."""

    name: str
    work: Work
    judged: bool
    native: float
    xla: float


_LINKS: dict[str, Callable[[Any], Any]] = {
    "quick": lambda x: x * 0.99 + 0.01,
    "slow": jnp.sin,
    "called": jax.scipy.special.erf,
    "library": jax.scipy.special.gammaln,
}


def _chain(link: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(4):
        x = link(x)
    return x


def _repeated(step: Callable[[Any], Any], x: Any) -> Any:
    return jax.lax.scan(lambda x, _: (step(x), None), x, None, length=100)[0]


def _total(step: Callable[[Any], Any], x: Any) -> Any:
    return _repeated(step, x).sum()


def _rows(x: Any) -> Any:
    rows = x.reshape(-1, min(len(x), 16))
    return (rows * 0.5 + rows.sum(1, keepdims=True) * 0.01).ravel()


_STEPS_OF_LOOPS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: x * 0.5 + x.sum() * 0.01,
    "rows": _rows,
    "prefixes": lambda x: jax.lax.associative_scan(jnp.add, x) * 0.01,
    "places": lambda x: x[jnp.arange(len(x)) * 7 % len(x)] * 0.5 + x[::-1] * 0.1,
}


def _sized() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Operations of one kind, of many sizes, alone and in a loop."""
    programs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    for n in (1, 8, 64, 512, 4096):
        x = jnp.linspace(0.0, 1.0, n)
        for kind, link in _LINKS.items():
            step = partial(_chain, link)
            programs[f"{kind} {n}"] = step, (x,)
            programs[f"{kind} {n}, repeated"] = partial(_repeated, step), (x,)
        for kind, step in _STEPS_OF_LOOPS.items():
            programs[f"{kind} {n}"] = partial(_repeated, step), (x,)
            programs[f"{kind} {n}, gradient"] = jax.grad(partial(_total, step)), (x,)
        programs[f"sorted {n}"] = lambda x: jnp.cumsum(jnp.sort(jnp.sin(9 * x))), (x,)
    for n in (2, 4, 8, 16, 32, 64, 128):
        x = jnp.linspace(0.0, 0.1, n * n).reshape(n, n)
        programs[f"product {n}"] = lambda x: x @ x, (x,)
        if n <= 32:
            programs[f"product {n}, repeated"] = partial(_repeated, lambda x: x @ x), (x,)
    return programs


def measure(rounds: int) -> list[Measured]:
    """All programs on both engines, in turn."""
    programs = {name: operands_of(name, jax) for name in PROGRAMS} | _sized()
    found = []
    for name, (function, operands) in programs.items():
        calls = [_call(engine, function, operands) for engine in ("native", "xla")]
        for call in calls:
            call()
            call()
        times = [[_seconds(call) for call in calls] for _ in range(rounds)]
        native, xla = [min(column) * 1e9 for column in zip(*times, strict=True)]
        jaxpr = jax.jit(function).trace(*operands).jaxpr
        loops = translated(jaxpr, Options(name, cpu_engine="native")).loops
        work = work_of(loops, _STEPS.get(name, 100))
        found.append(Measured(name, work, cost_model.judged(loops).accepts, native, xla))
    return found


def _call(engine: str, function: Any, operands: tuple[Any, ...]) -> Callable[[], Any]:
    with jax.cpu_engine(engine):
        compiled = jax.jit(function).lower(*operands).compile()
    return lambda: jax.block_until_ready(compiled(*operands))


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    repeats = max(1, min(100, int(1e-3 / once)))
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


# How much more it counts that native's time is under-, or XLA's overestimated: with a doubt, XLA.
_CAUTION = 1.5
_MEASURED = ("natively", "by_xla")


def fitted(
    works: list[Work], times: list[float], names: tuple[str, ...], *, is_native: bool
) -> dict[str, float]:
    """Positive constants with the least sum of squares of logarithms of ratios.

    That of a call is the least time of all, and that of measured functions is known.
    """
    counted = [name for name in names[1:] if name not in _MEASURED]
    rows = np.array([[getattr(work, name) for name in counted] for work in works])
    of_functions = 0.001 * np.array(
        [getattr(work, "natively" if is_native else "by_xla") for work in works]
    )
    logarithms, call = np.log(times), min(times)
    start = np.log(np.full(len(counted), 0.1))

    def residuals(k: Any) -> Any:
        excess = np.log(call + of_functions + rows @ np.exp(k)) - logarithms
        return excess * np.where((excess < 0) == is_native, _CAUTION, 1.0)

    found = least_squares(residuals, start, loss="soft_l1")
    constants = dict(zip(counted, np.exp(found.x), strict=True)) | {engine_times.CALL: call}
    known = dict.fromkeys(_MEASURED, 0.001) | constants
    return {name: float(f"{known[name]:.2g}") if known[name] > 1e-6 else 0.0 for name in names}


def main() -> None:
    """Print the constants, and a line for each program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_programs.fit")
    parser.add_argument("--rounds", type=int, default=7)
    measured = measure(parser.parse_args().rounds)
    works = [x.work for x in measured]
    models: dict[str, Mapping[str, float]] = {}
    for engine, known in (("native", engine_times.NATIVE), ("xla", engine_times.XLA)):
        times = [getattr(x, engine) for x in measured]
        models[engine] = fitted(works, times, tuple(known), is_native=engine == "native")
        print(f"{engine.upper()} = {models[engine]}")
    print(f"{'program':32}{'native, µs':>12}{'fitted':>10}{'XLA, µs':>12}{'fitted':>10}")
    for x in measured:
        native, xla = [engine_times.nanoseconds(x.work, models[e]) for e in ("native", "xla")]
        chosen = "native" if xla > cost_model.MARGIN * native else "xla"
        wrong = "wrong" if chosen == "native" and x.native > x.xla else ""
        today = "native" if x.judged else "xla"
        print(
            f"{x.name:32}{x.native / 1e3:12.2f}{native / 1e3:10.2f}{x.xla / 1e3:12.2f}"
            f"{xla / 1e3:10.2f} {chosen:7} {wrong:6} (today: {today})"
        )


if __name__ == "__main__":
    main()
