"""All programs, by name, with how closely two ways to compute them agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import loops, models
from .loops import Program


class Entry(NamedTuple):
    """A program to be measured.

    Args:
        make: (package, steps) → the program and its operands.
        tolerance: relative to the largest element of a result.
        few_steps: enough of them for a test.
        is_by_hand: whether there is one in C.
    """

    make: Callable[..., Program]
    tolerance: float
    few_steps: int
    is_by_hand: bool = True


PROGRAMS: dict[str, Entry] = {
    "lorenz": Entry(loops.lorenz, 0.05, 5),
    "coupled": Entry(loops.coupled, 1e-4, 3),
    "coupled_gradient": Entry(loops.coupled_gradient, 1e-4, 3),
    "kalman": Entry(loops.kalman, 1e-4, 5),
    "newton": Entry(loops.newton, 1e-5, 20),
    "divergent": Entry(loops.divergent, 1e-4, 30),
    "gibbs": Entry(loops.gibbs, 1e-4, 5, is_by_hand=False),
    "lstm": Entry(loops.lstm, 1e-4, 4),
    "reversed_reads": Entry(loops.reversed_reads, 1e-4, 6),
    "kinematics": Entry(models.kinematics, 1e-4, 1),
    "hmc": Entry(models.hmc, 1e-2, 3),
    "particles": Entry(models.particles, 1e-2, 3),
    "lbfgs": Entry(models.lbfgs, 0.1, 4),
    "smith_waterman": Entry(models.smith_waterman, 0, 9),
    "automaton": Entry(models.automaton, 0, 5),
    "bodies": Entry(models.bodies, 1e-3, 4),
    "tridiagonal": Entry(loops.tridiagonal, 1e-4, 20),
    "mandelbrot": Entry(models.mandelbrot, 0.02, 20),
    "option": Entry(models.option, 1e-3, 9),
    "springs": Entry(loops.springs, 1e-4, 3),
    "unrolled": Entry(loops.unrolled, 1e-4, 20),
}


def operands_of(name: str, package: Any) -> tuple[Any, tuple[Any, ...]]:
    """A program at its full length, and its operands as arrays of the package."""
    function, operands = PROGRAMS[name].make(package)
    return function, tuple([package.numpy.asarray(x) for x in operands])
