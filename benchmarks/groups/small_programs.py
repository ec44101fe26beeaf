"""Programs of many small steps: run time, and the first call without a cache.

The engine of a run is that of `jax_cpu_engine`; peers are the same programs on XLA, and by hand in
C, whose results are compared with ours.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..small_programs.compiled_c import call_of
from ..small_programs.table import PROGRAMS, operands_of
from ..timing import Figures, Scale, best


def on_native(jax: Any, scale: Scale) -> Figures:
    """The programs of a package; ours on the native engine."""
    if jax.__name__ == "morphax":
        return _on_engine("native", scale)
    return _measured(jax, scale)


def on_xla(scale: Scale) -> Figures:
    """Our programs on XLA."""
    return _on_engine("xla", scale)


def by_hand(scale: Scale) -> Figures:
    """The programs in C."""
    figures: Figures = {}
    for name in _names(scale):
        if not PROGRAMS[name].is_by_hand:
            continue
        morphax = _morphax()
        function, operands = operands_of(name, morphax)
        expected = _leaves(morphax, morphax.jit(function)(*operands))
        results = [np.zeros_like(x) for x in expected]
        call = call_of(name, [np.ascontiguousarray(x) for x in operands], results)
        call()
        check(name, results, expected)
        figures[f"{name}: run"] = best(call, scale)
    return figures


def check(
    name: str, found: Sequence[np.ndarray[Any, Any]], expected: Sequence[np.ndarray[Any, Any]]
) -> None:
    """Raise `AssertionError` unless results of a program agree."""
    for mine, theirs in zip(found, expected, strict=True):
        largest = float(np.abs(np.asarray(theirs, float)).max())
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=PROGRAMS[name].tolerance * largest)


def _names(scale: Scale) -> list[str]:
    return list(PROGRAMS) if scale.leaves > 10 else ["lorenz", "automaton"]


def _morphax() -> Any:
    """Imported late: the other groups run where there is PyTorch alone."""
    return importlib.import_module("morphax")


def _on_engine(engine: str, scale: Scale) -> Figures:
    morphax = _morphax()
    with morphax.cpu_engine(engine):
        return _measured(morphax, scale)


def _measured(jax: Any, scale: Scale) -> Figures:
    jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))  # what is loaded on first use
    figures: Figures = {}
    for name in _names(scale):
        function, operands = operands_of(name, jax)
        call = _call(jax, function, operands)
        start = time.perf_counter()
        call()
        figures[f"{name}: first call"] = time.perf_counter() - start
        figures[f"{name}: run"] = best(call, scale)
    return figures


def _call(jax: Any, function: Any, operands: Sequence[Any]) -> Callable[[], Any]:
    jitted = jax.jit(function)
    return lambda: jax.block_until_ready(jitted(*operands))


def _leaves(jax: Any, tree: Any) -> list[np.ndarray[Any, Any]]:
    return list(map(np.asarray, jax.tree.leaves(tree)))
