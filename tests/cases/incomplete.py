"""The incomplete gamma and beta functions, and their densities."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from morphax import lax
from morphax.lax.elementwise.incomplete_beta import beta_density_p
from morphax.lax.elementwise.incomplete_gamma import gamma_density_p

from .op_case import OpCase, Operand

# Each way of computing: series, fraction, expansion, and their borders.
WAYS = {
    "": ((0.3, 5), (0.3, 6)),
    "/small": ((0.05, 0.9), (0.05, 1.1)),
    "/fraction": ((0.2, 6), (7, 20)),
    "/uniform": ((31, 35), (27, 38)),
}
NARROW = ("float32", "float16", "bfloat16")


def _dtypes(name: str, way: str = "") -> tuple[str, ...]:
    """The wide dtype and a narrow one: those are computed as the wide one, and compile slowly."""
    return ("float64",) if way else ("float64", NARROW[zlib.crc32(name.encode()) % 3])


def _gamma_density(a: Any, x: Any) -> Any:
    return np.exp((a - 1) * np.log(x) - x - special.gammaln(a))


def _slope(function: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative with respect to the first operand, by differences of fourth order."""

    def slope(a: Any, x: Any) -> Any:
        h = 1e-3 * a
        near = function(a + h, x) - function(a - h, x)
        far = function(a + 2 * h, x) - function(a - 2 * h, x)
        return (8 * near - far) / (12 * h)

    return slope


def _sample_slope(a: Any, x: Any) -> Any:
    return _slope(special.gammaincc)(a, x) / _gamma_density(a, x)


def _operands(way: str, *, sloped: bool = True) -> tuple[Operand, ...]:
    (a_low, a_high), (x_low, x_high) = WAYS[way]
    return Operand(low=a_low, high=a_high, differentiable=sloped), Operand(low=x_low, high=x_high)


CASES = (
    *[
        # The derivative with respect to a has none with respect to a.
        OpCase(f"{name}{way}", function, truth, _operands(way), _dtypes(name, way), derivatives=1)
        for name, function, truth in (
            ("igamma", lax.igamma, special.gammainc),
            ("igammac", lax.igammac, special.gammaincc),
        )
        for way in WAYS
    ],
    *[
        # The truth comes from differences, which have fewer digits.
        OpCase(
            f"{name}{way}",
            function,
            truth,
            _operands(way, sloped=False),
            _dtypes(name, way),
            tolerance=1e4,
        )
        for name, function, truth in (
            ("igamma_grad_a", lax.igamma_grad_a, _slope(special.gammainc)),
            ("random_gamma_grad", lax.random_gamma_grad, _sample_slope),
        )
        for way in WAYS
    ],
    OpCase(
        "gamma_density",
        gamma_density_p.bind,
        _gamma_density,
        _operands(""),
        _dtypes("gamma_density"),
    ),
    OpCase(
        "regularized_incomplete_beta",
        lax.betainc,
        special.betainc,
        (
            Operand(low=0.3, high=5, differentiable=False),
            Operand(low=0.3, high=5, differentiable=False),
            Operand(low=0.1, high=0.9),
        ),
        _dtypes("regularized_incomplete_beta"),
    ),
    OpCase(
        "beta_density",
        beta_density_p.bind,
        lambda a, b, x: np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b)),
        (Operand(low=0.5, high=5), Operand(low=0.5, high=5), Operand(low=0.1, high=0.9)),
        _dtypes("beta_density"),
    ),
)
