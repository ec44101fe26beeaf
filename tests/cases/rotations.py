"""Rotations in space, as functions of what they are made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.transform

from morphax.scipy.spatial import transform

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32")
VECTOR, QUATERNION = Operand((2, 3)), Operand((2, 4), low=0.2)
NEAR_ZERO = Operand((2, 3), low=-1e-2, high=1e-2)


def _record(label: str, function: Callable[..., Any], *operands: Operand) -> OpCase:
    """`function` takes the module, and applies the same methods of both."""
    return OpCase(
        f"rotation/{label}",
        lambda *x: function(transform, *x),
        lambda *x: function(scipy.spatial.transform, *x),
        operands,
        DTYPES,
        tolerance=10,
    )


def _between(module: Any, angles: Any, times: Any) -> Any:
    """Interpolation at times between 0 and 2."""
    rotations = module.Rotation.from_euler("xyz", angles)
    make = getattr(module.Slerp, "init", module.Slerp)
    return make(np.arange(3.0, dtype=angles.dtype), rotations)(times).as_matrix()


CASES = (
    _record("quat", lambda m, q: m.Rotation.from_quat(q).as_matrix(), QUATERNION),
    _record("matrix", lambda m, q: _by_matrix(m, q).as_rotvec(), QUATERNION),
    _record("rotvec", lambda m, v: m.Rotation.from_rotvec(v).as_quat(), VECTOR),
    _record("rotvec near 0", lambda m, v: m.Rotation.from_rotvec(v).as_rotvec(), NEAR_ZERO),
    _record("mrp", lambda m, v: m.Rotation.from_mrp(v / 4).as_mrp(), VECTOR),
    _record("XYZ", lambda m, q: m.Rotation.from_quat(q).as_euler("XYZ"), QUATERNION),
    _record("zxz", lambda m, q: m.Rotation.from_quat(q).as_euler("zxz"), QUATERNION),
    _record(
        "product",
        lambda m, e, v: (m.Rotation.from_euler("zyx", e) * m.Rotation.from_rotvec(v)).magnitude(),
        VECTOR,
        VECTOR,
    ),
    _record("apply", lambda m, e, v: m.Rotation.from_euler("XZX", e).apply(v), VECTOR, VECTOR),
    _record("mean", lambda m, q: m.Rotation.from_quat(q).mean().as_matrix(), QUATERNION),
    _record("slerp", _between, Operand((3, 3)), Operand((5,), low=0.1, high=1.9)),
)


def _by_matrix(module: Any, q: Any) -> Any:
    return module.Rotation.from_matrix(module.Rotation.from_quat(q).as_matrix())
