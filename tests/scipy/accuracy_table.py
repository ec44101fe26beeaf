"""The one table of how exact special functions and distributions are, in units of their operands.

The unit of a value f(x, y, …) is ε (|f| + |x ∂f/∂x| + |y ∂f/∂y| + …), with the ε of the dtype: what
a rounding of the result and of each operand may change.  No function is asked for more digits than
its operands have, and none may lose others: erfc(22.7) may be off by 500 roundings of its own, for
so many is one of its operand.  The unit of the logarithm of a density is at least ε, a rounding of
the density.  All functions are held to `ORDINARY` of these units, in eager mode and compiled, where
`EXCEPTIONS` has no reason for more.

Truth is SciPy in float64.  Where that has not the digits, truth for float64 is in
`accuracy_truths.json`: operands and values that mpmath computed with 45 digits and more.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

ORDINARY = 4.0


@final
@dataclass(frozen=True)
class Range:
    """Operands between two numbers, with even logarithms or spaces; or whole ones, held fixed."""

    low: float
    high: float
    kind: Literal["even", "log", "whole"] = "even"

    def draw(self, rng: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
        """Numbers of `dtype`, in float64."""
        if self.kind == "whole":
            return rng.integers(int(self.low), int(self.high) + 1, count).astype(float)
        if self.kind == "even":
            return rng.uniform(self.low, self.high, count).astype(dtype).astype(float)
        info = np.finfo(dtype)
        low, high = max(self.low, 4 * float(info.tiny)), min(self.high, float(info.max) / 4)
        return np.exp(rng.uniform(np.log(low), np.log(high), count)).astype(dtype).astype(float)


Region = tuple[Range, ...]


def _even(low: float, high: float) -> Range:
    return Range(low, high)


def _log(low: float, high: float) -> Range:
    return Range(low, high, "log")


def _whole(low: int, high: int) -> Range:
    return Range(low, high, "whole")


_TINY = (_log(1e-300, 0.5),)
_POSITIVE = (_log(1e-300, 1e300),)
_UNIT = (_even(0, 1),)
_SMALL_PARTS = (_log(1e-300, 0.1),)
_NUMBERS = _log(1e-30, 1e30)
_SHAPE = _log(0.05, 30)
_NEAR_ONE = _even(0.5, 2)

SPECIAL: dict[str, tuple[Region, ...]] = {
    "gamma": ((_even(0.1, 20),), (_even(20, 170),), (_even(-20, 0),), (_even(-170, -20),), _TINY),
    "gammaln": (_TINY, (_even(0.5, 10),), (_log(10, 1e300),), (_even(-30, 0),)),
    "digamma": (_TINY, (_even(0.5, 10),), (_log(10, 1e300),), (_even(-30, 0),)),
    "polygamma": ((_whole(1, 12), _log(1e-3, 1e3)),),
    "zeta": ((_even(1.05, 30), _log(1e-3, 1e4)), (_even(1.05, 50), _whole(1, 1))),
    "factorial": ((_even(0, 30),), (_even(30, 169),)),
    "beta": ((_log(1e-3, 30), _log(1e-3, 30)), (_log(1e-8, 1e4), _log(1e-8, 1e4))),
    "betaln": ((_log(1e-3, 30), _log(1e-3, 30)), (_log(1e-8, 1e10), _log(1e-8, 1e10))),
    "comb": ((_even(5, 60), _even(0, 5)), (_log(1e3, 1e5), _log(1, 100))),
    "poch": (
        (_log(0.01, 30), _even(-0.009, 20)),
        (_even(-10, 0), _even(-5, 5)),
        (_log(1e2, 1e8), _even(-5, 5)),
    ),
    "gammainc": ((_log(0.01, 30), _log(0.01, 30)), (_log(1e-6, 30), _log(1e-30, 1))),
    "gammaincc": ((_log(0.01, 30), _log(0.01, 30)), (_log(0.1, 20), _even(20, 500))),
    "betainc": (
        (_SHAPE, _SHAPE, _even(0, 1)),
        (_SHAPE, _SHAPE, _log(1e-12, 1e-2)),
        (_log(30, 1000), _log(30, 1000), _even(0.05, 0.95)),
    ),
    "erf": ((_even(-6, 6),), _TINY),
    "erfc": ((_even(-6, 6),), (_even(5, 26),)),
    "erfcx": ((_even(-26, 0),), (_log(1e-5, 1e30),)),
    "erfinv": ((_even(-1, 1),), _SMALL_PARTS),
    "erfcinv": ((_even(0.01, 1.99),), _SMALL_PARTS),
    "ndtr": ((_even(-8, 8),), (_even(-37, -5),)),
    "log_ndtr": ((_even(-10, 10),), (_even(-300, -5),), (_even(3, 37),)),
    "ndtri": ((_even(0.01, 0.99),), _SMALL_PARTS),
    "exp1": (_TINY, (_even(1, 700),)),
    "expi": ((_even(-50, 0),), (_even(0.3, 0.45),), (_even(0.45, 50),), (_even(50, 700),), _TINY),
    "expn": ((_whole(0, 20), _log(1e-10, 1)), (_whole(0, 60), _log(1, 600))),
    "dawsn": (_TINY, (_even(-20, 20),), (_log(20, 1e6),)),
    "owens_t": (
        (_even(-4, 4), _even(-4, 4)),
        (_even(4, 20), _log(1e-4, 10)),
        (_log(1e-6, 1), _log(1e-6, 1e3)),
    ),
    "fresnel": ((_log(1e-50, 1.5),), (_even(-36, 36),), (_log(36, 1e4),)),
    "sici": (_TINY, (_even(0.5, 50),), (_log(50, 1e6),)),
    "i0": (_TINY, (_even(-20, 20),), (_even(20, 700),)),
    "i1": (_TINY, (_even(-20, 20),), (_even(20, 700),)),
    "i0e": ((_even(-20, 20),), (_log(20, 1e8),)),
    "i1e": ((_even(-20, 20),), (_log(20, 1e8),)),
    "spence": (_UNIT, (_even(1, 10),), (_log(10, 1e100),), _TINY),
    "entr": (_POSITIVE,),
    "kl_div": ((_NEAR_ONE, _NEAR_ONE), (_NUMBERS, _NUMBERS)),
    "rel_entr": ((_NEAR_ONE, _NEAR_ONE), (_NUMBERS, _NUMBERS)),
    "xlogy": ((_even(-3, 3), _even(0.9, 1.1)), (_NUMBERS, _NUMBERS)),
    "xlog1py": ((_even(-3, 3), _even(-0.5, 0.5)), (_NUMBERS, _NUMBERS)),
    "boxcox": ((_log(0.01, 100), _even(-3, 3)), (_log(0.01, 100), _log(1e-20, 1e-2))),
    "boxcox1p": ((_even(-0.9, 5), _even(-3, 3)), (_log(1e-20, 1), _even(-3, 3))),
    "expit": ((_even(-80, 90),), (_even(-700, -80),)),
    "logit": (_UNIT, _SMALL_PARTS),
    "hyp1f1": (
        (_even(-8, 8), _even(0.1, 8), _even(-20, 20)),
        (_log(0.1, 10), _log(0.1, 10), _even(-50, 50)),
    ),
    "hyp2f1": (
        (_even(0.1, 5), _even(0.1, 5), _even(0.1, 8), _even(-0.9, 0.9)),
        (_even(0.1, 5), _even(0.1, 5), _even(0.1, 8), _even(-50, -1)),
        (_even(-5, 5), _even(-5, 5), _even(-5, 5), _even(-0.9, 0.9)),
    ),
}

_TAILS = "logpdf pdf cdf logcdf sf logsf"
_COUNT, _PART = _whole(0, 60), _even(0.01, 0.99)
_TRIALS = (_whole(0, 20), _whole(20, 60))
# Modules, functions, and operands: the point, and the parameters that have no default.
_DISTRIBUTIONS: tuple[tuple[str, str, tuple[Region, ...]], ...] = (
    ("norm", _TAILS, ((_even(-10, 10),), (_even(-35, 35),))),
    ("norm", "ppf isf", (_UNIT, _SMALL_PARTS)),
    ("uniform", "logpdf pdf cdf ppf", (_UNIT,)),
    ("expon", _TAILS, ((_log(1e-30, 500),),)),
    ("expon", "ppf", (_UNIT, _SMALL_PARTS)),
    ("laplace", "logpdf pdf cdf", ((_even(-300, 300),), (_even(-3, 3),))),
    ("logistic", "logpdf pdf cdf sf", ((_even(-300, 300),), (_even(-3, 3),))),
    ("logistic", "ppf isf", (_UNIT, _SMALL_PARTS)),
    ("cauchy", _TAILS, ((_even(-50, 50),), (_log(1, 1e30),))),
    ("cauchy", "ppf isf", (_UNIT, _SMALL_PARTS)),
    ("gumbel_l", _TAILS, ((_even(-30, 5),),)),
    ("gumbel_r", _TAILS, ((_even(-5, 30),),)),
    ("gumbel_l", "ppf", (_UNIT,)),
    ("gumbel_r", "ppf", (_UNIT,)),
    ("pareto", _TAILS, ((_log(1.01, 1e10), _log(0.1, 30)),)),
    ("pareto", "ppf", ((_even(0, 1), _log(0.1, 30)),)),
    ("gamma", _TAILS, ((_log(1e-3, 50), _log(0.05, 50)),)),
    ("chi2", _TAILS, ((_log(1e-3, 100), _log(0.1, 100)),)),
    ("beta", _TAILS, ((_PART, _log(0.1, 30), _log(0.1, 30)),)),
    ("gennorm", "logpdf pdf cdf", ((_even(-6, 6), _log(0.3, 4)),)),
    ("t", "logpdf pdf", ((_even(-50, 50), _log(0.3, 300)),)),
    ("vonmises", "logpdf pdf", ((_even(-3, 3), _log(0.01, 300)),)),
    ("wrapcauchy", "logpdf pdf", ((_even(0, 6.28), _PART),)),
    ("truncnorm", _TAILS, ((_even(-1, 1), _even(-3, -1), _even(1, 3)),)),
    ("poisson", "logpmf pmf cdf", ((_COUNT, _log(0.1, 60)),)),
    ("bernoulli", "logpmf pmf", ((_whole(0, 1), _PART),)),
    ("binom", "logpmf pmf", ((*_TRIALS, _PART),)),
    ("betabinom", "logpmf pmf", ((*_TRIALS, _log(0.1, 30), _log(0.1, 30)),)),
    ("geom", "logpmf pmf", ((_whole(1, 60), _PART),)),
    ("nbinom", "logpmf pmf", ((_COUNT, _log(0.5, 50), _PART),)),
)
STATS = {f"{d}.{f}": regions for d, names, regions in _DISTRIBUTIONS for f in names.split()}
REGIONS = SPECIAL | STATS

# Why more units: those of float64, those of float32, and of which functions.
EXCEPTIONS: dict[str, tuple[float, float, str]] = {
    "XLA's logarithm of the gamma function of float64; eager mode has SciPy's": (
        128, 4, "gammaln",
    ),
    "XLA's polynomial": (8, 8, "digamma erfinv i1e"),
    "XLA's power of a large exponent": (16, 16, "pareto.pdf gennorm.logpdf gennorm.pdf"),
    "by exp(log Γ): a rounding of the logarithm is as many units as it is large": (
        32, 32, "beta betaln comb",
    ),
    "log Γ cancels against what it is added to": (
        64, 24, "gamma.logpdf gamma.pdf chi2.logpdf chi2.pdf beta.logpdf beta.pdf",
    ),
    "the same in float64, where float32 has a formula of its own": (64, 4, "t.logpdf t.pdf"),
    "several log Γ cancel; SciPy is off by as much": (192, 128, "poisson.logpmf poisson.pmf"),
    "several log Γ cancel in float64; counts times logarithms of p, of which pmf is exp": (
        192, 48,
        "binom.logpmf binom.pmf betabinom.logpmf betabinom.pmf nbinom.logpmf nbinom.pmf",
    ),
    "a power of 1 − p, by its logarithm": (16, 4, "geom.pmf"),
    "series and continued fractions of many terms, SciPy's in eager mode": (
        32, 4,
        "gammainc gammaincc betainc gamma.cdf gamma.logcdf gamma.sf gamma.logsf chi2.cdf "
        "chi2.logcdf chi2.sf chi2.logsf beta.cdf beta.logcdf beta.sf beta.logsf gennorm.cdf "
        "poisson.cdf",
    ),
    "steps of a differential equation, each of which rounds": (64, 4, "hyp1f1 hyp2f1"),
}  # fmt: skip
UNITS = {
    name: (double, single)
    for double, single, names in EXCEPTIONS.values()
    for name in names.split()
}

# Units of the amplitude of what `WAVES` has numbers of: recurrences, and sines of rounded numbers.
UNITS_OF_WAVES = {"bessel_jn": 16.0, "lpmn": ORDINARY, "wofz": ORDINARY}


def drawn(name: str, dtype: str, count: int) -> list[np.ndarray]:
    """`count` operands of each region, the same in each run."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    points = [[r.draw(rng, count, np.dtype(dtype)) for r in region] for region in REGIONS[name]]
    return [np.concatenate(operand) for operand in zip(*points, strict=True)]
