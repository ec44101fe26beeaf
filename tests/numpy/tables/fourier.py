"""Fourier transforms: lengths, axes and norms; frequencies and their order; windows."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.cases.op_case import Operand
from tests.numpy.case import JnpCase, expression, functions

A = Operand((3, 4))
B = Operand((2, 3, 5))
ANY = ("complex64", "float32", "bfloat16", "int32", "bool")
REAL = ("float32", "int32", "uint8", "bool")
COMPLEX = ("complex64", "float32")


def _call(name: str, options: dict[str, Any], xp: Any, *arrays: Any) -> Any:
    return getattr(xp.fft, name)(*arrays, **options)


def _kaiser(points: int, xp: Any, beta: Any) -> Any:
    return xp.kaiser(points, beta)


def _case(name: str, *operands: Operand, dtypes: tuple[str, ...], **options: Any) -> JnpCase:
    shown = ",".join(f"{k}={v}" for k, v in options.items())
    shapes = ";".join("x".join(map(str, o.shape)) for o in operands)
    call = partial(_call, name, options)
    return JnpCase(f"fft.{name}({shown})/{shapes}", call, operands, dtypes)


_ONE_AXIS: tuple[dict[str, Any], ...] = (
    {},
    {"n": 3, "axis": 0, "norm": "ortho"},
    {"n": 6, "axis": 1},
    {"n": 5, "axis": -2, "norm": "forward"},
    {"n": 1, "norm": "backward"},
)
_SEVERAL: tuple[dict[str, Any], ...] = (
    {},
    {"axes": (1,), "norm": "ortho"},
    {"axes": (2, 0)},
    {"s": (4, 2), "axes": (0, 2), "norm": "forward"},
    {"s": (3, 4, 4), "axes": (0, 1, 2)},
)

CASES = [
    *[_case(name, A, dtypes=ANY, **o) for name in ("fft", "ifft") for o in _ONE_AXIS],
    *[_case(name, A, dtypes=REAL, **o) for name in ("rfft", "ihfft") for o in _ONE_AXIS],
    *[_case(name, A, dtypes=COMPLEX, **o) for name in ("irfft", "hfft") for o in _ONE_AXIS],
    *[_case(name, B, dtypes=COMPLEX, **o) for name in ("fftn", "ifftn", "irfftn")
      for o in _SEVERAL],
    *[_case("rfftn", B, dtypes=REAL[:1], **o) for o in _SEVERAL],
    *[_case(name, B, dtypes=COMPLEX, **o) for name in ("fft2", "ifft2", "irfft2") for o in
      ({}, {"s": (2, 7), "axes": (2, 1), "norm": "ortho"})],
    *[_case("rfft2", B, dtypes=REAL[:2], **o) for o in ({}, {"s": (2, 7), "axes": (2, 1)})],
    _case("fft", Operand((0, 3)), dtypes=COMPLEX),
    _case("fft", Operand((0, 3)), dtypes=COMPLEX, n=2, axis=0),
    *[_case(name, B, dtypes=("int32", "complex64"), **o) for name in ("fftshift", "ifftshift")
      for o in ({}, {"axes": 1}, {"axes": (0, -1)})],
    *[_case(name, dtypes=("float32",), n=n, d=d) for name in ("fftfreq", "rfftfreq")
      for n in (1, 4, 5) for d in (1.0, 0.3)],
    *functions("bartlett blackman hamming hanning", dtypes=("float32",),
      options=[{"M": m} for m in (0, 1, 2, 5, 8)]),
    *[expression(f"kaiser of {m} points", partial(_kaiser, m), Operand((), low, low + 3.0),
      dtypes=("float32", "int32")) for m, low in
      ((0, 0.0), (1, 0.0), (2, -4.0), (5, 0.5), (8, 9.0))],
]  # fmt: skip
