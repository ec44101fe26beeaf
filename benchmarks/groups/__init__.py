"""The groups of benchmarks: what one process measures, and for which packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..timing import Figures, Scale
from . import (
    calls,
    draws,
    eager,
    families,
    functions,
    many_numbers,
    memory,
    models,
    operations,
    programs,
    science,
    small_programs,
    start,
)

BOTH = ("morphax", "jax")


@dataclass(frozen=True, slots=True)
class Group:
    """What one process measures.

    Args:
        title: of its part of the table.
        measure: (package, scale) → figures by the names of their lines.
        packages: which can run it; ours is compared with JAX, or with SciPy where JAX is not.
        rounds: at most so many.
        keeps_programs: processes find in a folder what one before them has compiled.
        is_condensed: the report says what share of its lines keeps the promise, and the worst.
        peers: what else our interpreter measures, by name: (scale) → figures.
    """

    title: str
    measure: Callable[[Any, Scale], Figures]
    packages: tuple[str, ...] = BOTH
    rounds: int = 1000
    keeps_programs: bool = False
    is_condensed: bool = False
    peers: Mapping[str, Callable[[Scale], Figures]] = field(default_factory=dict)


GROUPS = {
    "import": Group("Import", start.first_array),
    "trace": Group("Tracing, per equation", programs.trace),
    "staged": Group("The gradient of a staged program", programs.staged),
    "lower": Group("Lowering, per equation", programs.lower),
    "compile": Group("Compiling", programs.compile_programs),
    "linearity": Group("Long programs", programs.linearity, rounds=1),
    "cache": Group(
        "A fresh process with a warm compile cache: MLP", start.first_mlp_step, keeps_programs=True
    ),
    "cache-transformer": Group(
        "A fresh process with a warm compile cache: transformer",
        start.first_transformer_step,
        keeps_programs=True,
    ),
    "dispatch": Group("Calls of compiled functions", calls.dispatch),
    "tree": Group("Trees", calls.trees),
    "loops": Group("Functions made anew at each call", calls.fresh_lambdas),
    "eager": Group("Eager calls on ten numbers", eager.warm, (*BOTH, "numpy", "torch")),
    "first": Group("First eager calls on a new shape", eager.first_touch),
    "functions": Group(
        "Each function on few numbers, eager: warm calls", functions.warm, is_condensed=True
    ),
    "functions-thousand": Group(
        "Each function on a thousand numbers, eager: warm calls",
        functions.warm_of_many,
        is_condensed=True,
    ),
    "functions-first": Group(
        "Each function on a new shape, eager", functions.first, is_condensed=True
    ),
    "functions-traced": Group(
        "Each function traced, in a new program", functions.traced, is_condensed=True
    ),
    "functions-compiled": Group(
        "Each function compiled, on a hundred thousand numbers",
        functions.compiled,
        is_condensed=True,
    ),
    "library": Group(
        "Each function of the numerical library on eight numbers",
        functions.library,
        is_condensed=True,
    ),
    "library-thousand": Group(
        "Each function of the numerical library on a thousand numbers",
        functions.library_of_many,
        is_condensed=True,
    ),
    "random": Group("Random numbers: eight of each distribution", draws.draws),
    "numpy": Group(
        "Operations on many numbers, eager", operations.numpy_table, (*BOTH, "numpy", "torch")
    ),
    "many-numbers": Group(
        "Calls on very many numbers, eager", many_numbers.warm, is_condensed=True
    ),
    "lax": Group("Operations on many numbers, compiled", operations.lax_table, (*BOTH, "torch")),
    "families": Group("Families of operations, compiled", families.compiled),
    "models": Group("Models", models.steps),
    "small-programs": Group(
        "Programs of many small steps, on the native engine",
        small_programs.on_native,
        peers={"xla": small_programs.on_xla, "c": small_programs.by_hand},
    ),
    "science": Group(
        "Solvers, splines and filters, compiled, beside SciPy",
        science.compiled,
        ("morphax",),
        peers={"scipy": science.by_scipy},
    ),
    "memory": Group("Memory", memory.jits, rounds=1),
}
