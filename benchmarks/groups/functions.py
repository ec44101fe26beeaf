"""Calls of each public function, few numbers: warm, new, traced, compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from types import CodeType
from typing import Any

from ..timing import Figures, Scale, best
from . import library_calls
from .function_calls import calls, namespace, operands

_FEW = (10, 4)
_MANY = (1000, 30)
_VERY_MANY = (100_000, 60)
# These take as many steps for each number as there are numbers.
_TOO_LONG = ("jnp.isin(", "jnp.polydiv(")


def _code(scale: Scale, known: Sequence[str] | None = None) -> dict[str, CodeType]:
    """The calls; every 40th of them where the run is tiny."""
    chosen = (known or calls())[:: 40 if scale.repetitions == 1 else 1]
    return {text: compile(f"lambda: {text}", text, "eval") for text in chosen}


def _names(jax: Any, size: int, side: int) -> dict[str, Any]:
    arrays = {name: jax.numpy.asarray(x) for name, x in operands(size, side).items()}
    return namespace(jax, size, side) | arrays


def _several(jax: Any, call: Callable[[], Any], times: int) -> None:
    """Call it again and again, and wait for the last result."""
    result = None
    for _ in repeat(None, times):
        result = call()
    jax.block_until_ready(result)


def warm(jax: Any, scale: Scale, sizes: tuple[int, int] = _FEW) -> Figures:
    """Calls on operands that were seen before."""
    short = replace(scale, seconds=scale.seconds / 20)
    times = 1 if scale.repetitions == 1 else 20
    names, prefix = _names(jax, *sizes), "function" if sizes == _FEW else "function of a thousand"
    return {
        f"{prefix}, {text}": best(partial(_several, jax, eval(code, names), times), short, times)
        for text, code in _code(scale).items()
    }


def warm_of_many(jax: Any, scale: Scale) -> Figures:
    """The same of a thousand numbers."""
    return warm(jax, scale, _MANY)


def _new_sizes() -> Iterator[tuple[int, int]]:
    """Sizes that come once, or for matrices rarely."""
    for i in range(1000):
        yield 12 + 2 * i, 5 + i % 40


def first(jax: Any, scale: Scale) -> Figures:
    """The second shape that a function meets: what it needs to know of others is known."""
    figures = {}
    seen, sizes = _names(jax, *_FEW), _new_sizes()
    for text, code in _code(scale).items():
        jax.block_until_ready(eval(code, seen)())
        call = eval(code, _names(jax, *next(sizes)))
        start = time.perf_counter()
        jax.block_until_ready(call())
        figures[f"first call, {text}"] = time.perf_counter() - start
    return figures


def traced(jax: Any, scale: Scale) -> Figures:
    """Tracing a new function that makes the call, of arrays of shapes that were seen before."""
    short = replace(scale, seconds=scale.seconds / 20)
    names = _names(jax, *_FEW)
    arrays = {name: x for name, x in names.items() if isinstance(x, jax.Array)}
    figures = {}
    for text, code in _code(scale).items():
        used = [name for name in code.co_consts[0].co_names if name in arrays]
        program = compile(f"lambda {', '.join(used)}: {text}", text, "eval")
        given = [arrays[name] for name in used]
        try:
            jax.make_jaxpr(eval(program, names))(*given)
        except (TypeError, ValueError, jax.errors.JAXTypeError):
            continue  # results whose shapes depend on numbers
        figures[f"traced call, {text}"] = best(
            lambda program=program, given=given: jax.make_jaxpr(eval(program, names))(*given),
            short,
        )
    return figures


def library(jax: Any, scale: Scale, sizes: tuple[int, int] = (8, 8)) -> Figures:
    """Calls of the numerical library: eager ones and compiled ones, and the first of each."""
    short, figures = replace(scale, seconds=scale.seconds / 20), {}
    names = library_calls.namespace(jax, *sizes)
    operands = [name for name, x in names.items() if isinstance(x, (jax.Array, *_matrices(jax)))]
    for text, code in _code(scale, library_calls.calls()).items():
        used = [name for name in code.co_consts[0].co_names if name in operands]
        program = eval(compile(f"lambda {', '.join(used)}: {text}", text, "eval"), names)
        compiled = jax.jit(lambda *given, program=program: jax.tree.leaves(program(*given)))
        given = [names[name] for name in used]
        ways = {"eager": eval(code, names), "jit": partial(compiled, *given)}
        for way, call in ways.items():
            start = time.perf_counter()
            jax.block_until_ready(jax.tree.leaves(call()))
            figures[f"first {way} call, {text}"] = time.perf_counter() - start
            figures[f"{way} call, {text}"] = best(partial(_several, jax, call, 5), short, 5)
    return figures


def library_of_many(jax: Any, scale: Scale) -> Figures:
    """The same of a thousand numbers and of matrices of 64 rows."""
    return library(jax, scale, (1000, 64) if scale.repetitions > 1 else (20, 8))


def compiled(jax: Any, scale: Scale) -> Figures:
    """Calls of the function compiled, on 100 000 numbers: what the program itself takes."""
    short, figures = replace(scale, seconds=scale.seconds / 10), {}
    sizes = _MANY if scale.repetitions == 1 else _VERY_MANY
    library = [x for x in library_calls.calls() if x.startswith(("sp.", "stats.", "random."))]
    own = [x for x in calls() if not x.startswith(_TOO_LONG)]
    tables = ((_names(jax, *sizes), own), (library_calls.namespace(jax, *sizes), library))
    for names, known in tables:
        for text, code in _code(scale, known).items():
            used = [x for x in code.co_consts[0].co_names if isinstance(names.get(x), jax.Array)]
            program = eval(compile(f"lambda {', '.join(used)}: {text}", text, "eval"), names)
            function = jax.jit(lambda *given, program=program: jax.tree.leaves(program(*given)))
            call = partial(function, *[names[name] for name in used])
            try:
                jax.block_until_ready(call())
            except (TypeError, ValueError, jax.errors.JAXTypeError):
                continue  # results whose shapes depend on numbers
            figures[f"compiled call, {text}"] = best(partial(_several, jax, call, 1), short)
    return figures


def _matrices(jax: Any) -> tuple[type, ...]:
    sparse = library_calls.module_of(jax, "experimental.sparse")
    return sparse.BCOO, sparse.BCSR, sparse.COO, sparse.CSR
