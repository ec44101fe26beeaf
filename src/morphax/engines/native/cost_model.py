"""Whether the native engine is expected to win: a static estimate, with any doubt for XLA.

What either takes is estimated by `engine_times`; what follows is what depends on arrays being
large: threads that help, memory that is brought, margins.
"""

from __future__ import annotations

import math
from typing import Final

from ...util.threads import processors
from ..engine import Verdict
from ..loops import LoopProgram
from ..loops.program import Assign, DType, For, If, Product, While, kinds_of, walk
from .costs import LARGE, work_of
from .engine_times import CALL, NATIVE, XLA, nanoseconds
from .limits import MOST_STATEMENTS
from .loop_plans import LoopPlans, plans_kept
from .thread_steps import time_divided
from .work import Work

MARGIN: Final = 1.5
"""So many times as fast as XLA a program must be expected to be."""

_MARGIN_OF_VECTORS: Final = 1.15
"""The same where large arrays, or many values of pairs of few numbers, are gone through by vectors,
one by one: there is less to doubt."""

_MANY_VECTORS: Final = 2e4
_OF_ELEMENT: Final = 20.0
"""Nanoseconds that a program of vectors takes, and for each element of its largest array, where its
values are many more than these elements."""

_MARGIN_OF_LONG: Final = 1.0
_MANY_STATEMENTS: Final = 3000
"""Of more statements XLA takes several times as long to compile, so that a run must gain less."""

_OF_SCALARS: Final = ("operations", "slow", "wide_slow", "accesses")
# Their share of the time where a program is one of vectors, and where one may be that goes through
# larger arrays by vectors, and through what is left of rows one by one.
_LITTLE: Final = 0.02
_SMALL: Final = 0.1
_MARGIN_OF_ROWS: Final = 2.0
"""The same as `MARGIN` where it is more: what is left of short rows is less well known."""

_CLEAR: Final = 1.1
"""So much longer is what XLA takes for certain, where steps of a loop work on large arrays."""

_SHARED_IN_LOOPS: Final = 1 << 16
"""Elements: of larger arrays XLA's threads share what a step does."""

_LONGEST: Final = 5e6
_LONGEST_OF_SCALARS: Final = 1e8
"""The same where most of the time goes to single numbers: of steps of these what either engine
takes is the same however many there are."""
# How often a `while` runs is not known, and loops in loops multiply what is assumed (`costs.py`): a
# run is long if it is with so few steps of each.
_FEW_STEPS: Final = 10
# Elements: of larger arrays XLA gives parts to its threads.
_SHARED_BY_XLA: Final = 1 << 14
# Operations on smaller arrays, of more of which XLA has another thread run the program.  It does so
# from a thousand of its own on, of which some are several of ours (a complex division is 30).
_MANY_OPERATIONS: Final = 1 << 15
# Bytes: larger arrays do not stay in the first caches.
_LARGE: Final = 1 << 17
# Nanoseconds for each byte of these.  What the system takes to give XLA memory for results does not
# count: a program that is run again gets what it was given before.
_BROUGHT: Final = 0.01
# What it takes to wake a thread: XLA has another one run a program of larger arrays, and, from so
# many bytes on, a second one a part of it.
_WOKEN: Final = 25e3
_SHARED_BYTES: Final = 1 << 19
# Of larger products the library uses several threads, which wait for each other where others run.
_LARGEST_PRODUCT: Final = 1 << 18
# XLA makes as many steps of a `while` for all elements as the slowest needs, we as the slowest of
# a vector.
_SLOWEST: Final = 1.5


def judged(program: LoopProgram, in_loops: int = 0) -> Verdict:
    """Whether machine code is expected to be faster than XLA's, and why.

    Args:
        program: what would be compiled.
        in_loops: elements of the largest array that steps of loops work on, where that is large.
    """
    plans = plans_kept(program)
    work = work_of(program, plans=plans)
    largest = max([x.size for x in (*program.inputs, *program.outputs)], default=0)
    doubt = _doubt(program, work, largest)
    if doubt is not None:
        return Verdict(False, doubt)
    native, xla = nanoseconds(work, NATIVE), nanoseconds(work, XLA)
    of_scalars = sum([NATIVE[name] * getattr(work, name) for name in _OF_SCALARS])
    is_of_vectors = not work.steps and of_scalars < _LITTLE * native
    if is_of_vectors and While in kinds_of(program.body):
        xla *= _SLOWEST
    is_in_loops = work.steps > 0 and in_loops > 0
    if is_in_loops and not _gains_in_loops(work, of_scalars, in_loops):
        return Verdict(False, f"steps of a loop go through arrays of up to {in_loops} elements")
    margin = _MARGIN_OF_LONG if work.statements > _MANY_STATEMENTS else MARGIN
    is_large = largest > LARGE and not (is_of_vectors or _are_few_pairs(program))
    if is_large and (work.steps or NATIVE["accesses"] * work.far > _LITTLE * native):
        return Verdict(False, f"an array of {largest} elements is gone through one by one")
    if largest > _SHARED_BY_XLA:
        brought = _of_memory(program, work)
        native = _helped(native, program, plans) + brought
        xla = XLA[CALL] + _shared(xla - XLA[CALL]) + brought + _woken(program)
        # Of functions of complex numbers XLA has others than those that are counted.
        margin = _MARGIN_OF_VECTORS if is_of_vectors and not _pairs_of(program) else MARGIN
        if is_large and of_scalars > _SMALL * native:
            margin = _MARGIN_OF_ROWS
    elif not work.steps:
        xla += _WOKEN if _is_handed_on(program, work) else 0
        is_much = native > max(_MANY_VECTORS, _OF_ELEMENT * largest)
        if is_much and of_scalars < _SMALL * native:
            margin = min(margin, _MARGIN_OF_VECTORS)
    times = f"about {native / 1e3:.3g} µs are expected, and {xla / 1e3:.3g} µs of XLA"
    longest = _LONGEST_OF_SCALARS if 2 * of_scalars > native else _LONGEST
    is_long = not (is_of_vectors or is_in_loops) and native > longest
    if is_long and nanoseconds(work_of(program, _FEW_STEPS, plans), NATIVE) > longest:
        return Verdict(False, f"a long run: {times}")
    return Verdict(xla > margin * native, times)


def _gains_in_loops(work: Work, of_scalars: float, in_loops: int) -> bool:
    """Whether it is clear that steps of a loop on large arrays take us less time.

    What functions take is measured.  Long rows of operations take either engine as long; of all
    else, such as what is moved, half of XLA's time in small programs is left where arrays fill the
    nearest caches.  Of larger ones its threads share each step.
    """
    native, functions = nanoseconds(work, NATIVE), XLA["by_xla"] * work.by_xla
    operations = NATIVE["wide_operations"] * work.wide_operations
    rest = nanoseconds(work, XLA) - functions - XLA["wide_operations"] * work.wide_operations
    known = functions + operations + rest / 2
    if in_loops > _SHARED_IN_LOOPS:
        known = _shared(known)
    return of_scalars < _SMALL * native and known > _CLEAR * native


def _doubt(program: LoopProgram, work: Work, largest: int) -> str | None:
    """Why a program is XLA's without an estimate."""
    if work.statements > MOST_STATEMENTS:
        return f"the program has {work.statements} statements, which is much"
    if Product in kinds_of(program.body) and _largest_product(program) > _LARGEST_PRODUCT:
        return "there is a large product of matrices"
    if largest > LARGE and _has_wide_quotients(program):
        return f"quotients of {largest} elements are computed in float64"
    return None


def _largest_product(program: LoopProgram) -> int:
    return max([math.prod(x.sizes) for x in walk(program.body) if type(x) is Product])


def _are_few_pairs(program: LoopProgram) -> bool:
    """Whether they are complex numbers, no more than there may be others, and all are taken.

    Both parts lie together in memory.  A choice by a truth value would be a jump for each number.
    """
    sizes = [math.prod(x.declared[1]) for x in (*program.inputs, *program.outputs)]
    choices = [
        type(x) is If or (type(x) is Assign and x.operation == "select") for x in walk(program.body)
    ]
    return max(sizes, default=0) <= LARGE and not any(choices)


def _pairs_of(program: LoopProgram) -> set[DType]:
    """The complex dtypes of operands and results."""
    dtypes = [x.declared[0] for x in (*program.inputs, *program.outputs)]
    return {dtype for dtype in dtypes if dtype.kind == "c"}


def _has_wide_quotients(program: LoopProgram) -> bool:
    """Whether complex64 is divided, which XLA does in float32, with fewer digits."""
    if not any([dtype.itemsize == 8 for dtype in _pairs_of(program)]):
        return False
    divided = [x for x in walk(program.body) if type(x) is Assign and x.operation == "div"]
    return any([x.result.dtype.itemsize == 8 for x in divided])


def _helped(native: float, program: LoopProgram, plans: LoopPlans) -> float:
    """What our time is where threads share the steps of long loops."""
    divided = time_divided(program.body, plans)
    return native - divided + _shared(divided) + (_WOKEN if divided else 0)


def _shared(time: float) -> float:
    """What is left of a time if half of the other processors help: they have other work."""
    return time * 2 / (1 + processors())


def _is_handed_on(program: LoopProgram, work: Work) -> bool:
    """Whether XLA has another thread run a program of small arrays.

    Of sums in order, one step waits for the other: there our time may be underestimated as much.
    Without operands XLA computes the result when it compiles.
    """
    loops = [x for x in program.body if type(x) is For]
    is_of_elements = bool(program.inputs) and all([loop.is_independent for loop in loops])
    return is_of_elements and work.operations + work.wide_operations > _MANY_OPERATIONS


def _woken(program: LoopProgram) -> float:
    """What it takes to wake the threads that XLA uses."""
    return _WOKEN * (2 if sum(_bytes_of_arrays(program)) > _SHARED_BYTES else 1)


def _of_memory(program: LoopProgram, work: Work) -> float:
    """What it takes to bring memory of large arrays."""
    large = sum([n for n in _bytes_of_arrays(program) if n > _LARGE])
    return _BROUGHT * min(large, work.moved)


def _bytes_of_arrays(program: LoopProgram) -> list[int]:
    return [x.size * x.dtype.itemsize for x in (*program.inputs, *program.outputs)]
