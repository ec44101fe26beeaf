"""Slopes of distributions at the ends of their ranges are the limits of those within."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest

import morphax as jax
from morphax.scipy import stats

INF = np.inf
# Three steps towards an end: each is the square of the last one.
TO_ZERO = np.array([1e-75, 1e-150, 1e-300])
TO_ONE = np.array([2.0**-12, 2.0**-24, 2.0**-48])
TO_INFINITY = np.array([1e37, 1e74, 1e148])
SCALE = 2.0


@final
@dataclass(frozen=True)
class Ends:
    """The functions of one distribution, and where its range ends.

    Args:
        name: of the module.
        functions: names, separated by spaces.
        ends: of z, or of counts.
        shapes: tuples of the parameters between the point and `loc`.
        sides: of each end, where the numbers within are: 1 above, −1 below, 0 far out.
        probability: of counts, where the last parameter goes.
        held: positions of arguments of which distribution functions have no derivative.
    """

    name: str
    functions: str
    ends: tuple[float, ...] = (-INF, INF)
    shapes: tuple[tuple[float, ...], ...] = ((),)
    sides: tuple[int, ...] = (0, 0)
    probability: tuple[float, ...] = ()
    held: tuple[int, ...] = ()


TAILS = "cdf logcdf sf logsf"
ALL = f"logpdf pdf {TAILS}"
HALF_LINE: Any = {"ends": (0, INF, -INF), "sides": (1, 0, 0)}
UNIT: Any = {"ends": (0, 1, INF, -INF), "sides": (1, -1, 0, 0)}
INTERVALS = ((-1.0, 1.5), (0.0, 1.5), (-INF, 1.5), (-1.0, INF), (-INF, INF))
CHANCE: Any = {"probability": (0, 1)}
TABLE = (
    Ends("norm", ALL),
    Ends("uniform", "logpdf pdf cdf", **UNIT),
    Ends("expon", ALL, **HALF_LINE),
    Ends("laplace", "logpdf pdf cdf"),
    Ends("logistic", "logpdf pdf cdf sf"),
    Ends("cauchy", ALL),
    Ends("gumbel_l", ALL),
    Ends("gumbel_r", ALL),
    Ends("pareto", ALL, (1, INF, -INF), ((2.0,), (0.3,)), (1, 0, 0)),
    Ends("truncnorm", ALL, (-INF, -1, 0, 1.5, INF), INTERVALS, (0, 1, 1, -1, 0)),
    Ends("truncnorm", "logcdf logsf", (0,), ((-1.5, 0.0), (-INF, 0.0)), (-1,)),
    Ends("gamma", ALL, shapes=((0.5,), (1.0,), (2.0,), (3.0,)), **HALF_LINE),
    Ends("chi2", ALL, shapes=((1.0,), (2.0,), (5.0,)), **HALF_LINE),
    Ends("beta", "logpdf pdf", shapes=((0.5, 0.5), (1.0, 1.0), (2.0, 3.0), (2.0, 1.0)), **UNIT),
    Ends("beta", TAILS, shapes=((0.5, 0.5), (1.0, 1.0), (2.0, 3.0)), held=(1, 2), **UNIT),
    Ends("gennorm", "logpdf pdf cdf", shapes=((1.5,), (0.5,), (3.0,))),
    Ends("t", "logpdf pdf", shapes=((2.5,), (1.0,))),
    Ends("t", "logpdf pdf", (0, 1, -3), probability=(INF,)),
    Ends("vonmises", "logpdf pdf", (0, 0.5, 3), probability=(0,)),
    *(Ends(name, "ppf isf", ()) for name in ("norm", "logistic", "cauchy")),
    *(Ends(name, "ppf", ()) for name in ("uniform", "expon", "gumbel_l", "gumbel_r")),
    Ends("pareto", "ppf", (), ((2.0,), (0.3,))),
    Ends("bernoulli", "logpmf pmf", (0, 1, 2), **CHANCE),
    Ends("bernoulli", "cdf", (0, 0.5, 1, 2), **CHANCE),
    Ends("binom", "logpmf pmf", (0, 1, 5, 6), ((5.0,),), **CHANCE),
    Ends("nbinom", "logpmf pmf", (0, 1, 3), ((5.0,), (1.0,), (0.5,)), **CHANCE),
    Ends("geom", "logpmf pmf", (0, 1, 2, 3), **CHANCE),
    Ends("poisson", "logpmf pmf cdf", (-1, 0, 1, 2), probability=(0, INF)),
)
WITHOUT_PLACE = ("gennorm",)


def _towards(end: float, side: int) -> np.ndarray:
    if end == 0:
        return side * TO_ZERO
    return np.sign(end) * TO_INFINITY if np.isinf(end) else end + side * TO_ONE


def _columns(case: Ends, function: str) -> Iterator[list[tuple[float, ...]]]:
    """Arguments at an end, and at three points on the way to it."""
    place = () if case.probability or case.name in WITHOUT_PLACE else (0.0, SCALE)
    for shape in case.shapes:
        if case.probability:
            for end in case.probability:
                for count in case.ends:
                    steps = [end, *_towards(end, 1 if end == 0 else -1)]
                    yield [(float(count), *shape, p) for p in steps]
        elif function in ("ppf", "isf"):
            for end, side in ((0.0, 1), (1.0, -1)):
                yield [(q, *shape, *place) for q in (end, *_towards(end, side))]
        else:
            scale = SCALE if place else 1.0
            for end, side in zip(case.ends, case.sides, strict=True):
                yield [(scale * z, *shape, *place) for z in (end, *_towards(end, side))]


def _limit(slopes: np.ndarray) -> float:
    """Of a sequence whose distances from its limit, if any, are ever smaller by one factor."""
    first, second, third = slopes
    if not np.isfinite(slopes).all():
        return third
    steps = second - first, third - second
    if abs(steps[1]) <= 1e-9 * abs(third):
        return third
    if abs(steps[1]) > 0.9 * abs(steps[0]):
        return np.sign(third) * INF
    return third - steps[1] ** 2 / (steps[1] - steps[0])


def _slopes(function: Callable[..., Any], held: tuple[int, ...]) -> Callable[..., Any]:
    def run(*arguments: Any) -> list[Any]:
        found = []
        for i, x in enumerate(arguments):
            if i in held:
                continue
            # Each by itself: infinite slopes times tangents of 0 are no numbers.
            along = lambda y: function(*arguments[:i], y, *arguments[i + 1 :])  # noqa: B023, E731
            one = jax.numpy.ones_like(x)
            found += [jax.jvp(along, (x,), (one,))[1], jax.vjp(along, x)[1](one)[0]]
        return found

    return run


@pytest.mark.sampled(6)
@pytest.mark.parametrize("engine", ["eager", "xla", "native"])
@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case.name}-{case.functions}")
def test_slopes_at_the_ends_are_limits(case: Ends, engine: str) -> None:
    for name in case.functions.split():
        run = _slopes(getattr(getattr(stats, case.name), name), case.held)
        columns = np.array(list(_columns(case, name)))
        with jax.enable_x64(True):
            within = np.array(run(*columns[:, 1:].T))
        # Both modes go to the limit of the forward slopes.
        limits = np.array([[_limit(way) for way in slopes.T] for slopes in within[::2]])
        if engine != "eager":
            run = jax.jit(run, compiler_options={"jax_cpu_engine": engine})
        found = np.array(run(*columns[:, 0].T.astype(np.float32)))
        for mode in (found[::2], found[1::2]):
            np.testing.assert_allclose(mode, limits, 2e-2, 1e-6, err_msg=name)
