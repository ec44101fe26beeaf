"""Scaled modified Bessel functions."""

from __future__ import annotations

from scipy import special

from morphax import lax

from .op_case import FLOATS, OpCase, Operand

SIDES = {"": (-2, 2), "/far": (9, 60), "/far_left": (-60, -9), "/border": (7.5, 8.5)}

CASES = tuple(
    OpCase(f"{name}{side}", function, reference, (Operand(low=low, high=high),), FLOATS)
    for name, function, reference in (
        ("bessel_i0e", lax.bessel_i0e, special.i0e),
        ("bessel_i1e", lax.bessel_i1e, special.i1e),
    )
    for side, (low, high) in SIDES.items()
)
