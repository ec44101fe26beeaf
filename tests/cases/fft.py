"""The discrete Fourier transform: all types, lengths even, odd and prime, several axes, nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from morphax.lax.fourier.fft import fft

from .op_case import COMPLEXES, FLOATS, OpCase, Operand

WIDE = FLOATS[:2]
COMPLEX_ALL = (*COMPLEXES[::-1], "float32", "bfloat16", "int32", "bool")


def _case(
    kind: str, shape: tuple[int, ...], lengths: tuple[int, ...], dtypes: tuple[str, ...]
) -> OpCase:
    def truth(x: Any) -> Any:
        axes = range(-len(lengths), 0)
        out = np.zeros(_shape_of(kind, shape, lengths), float if kind == "IRFFT" else complex)
        return getattr(np.fft, f"{kind.lower()}n")(x, lengths, axes) if out.size else out

    return OpCase(
        f"fft/{kind} {lengths} of {'x'.join(map(str, shape))}",
        partial(fft, fft_type=kind, fft_lengths=lengths),
        truth,
        (Operand(shape),),
        dtypes=dtypes,
    )


def _shape_of(kind: str, shape: tuple[int, ...], lengths: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], lengths[-1] // 2 + 1 if kind == "RFFT" else lengths[-1])


CASES = (
    *[
        _case(kind, shape, shape[-count:], dtypes)
        for kind in ("FFT", "IFFT")
        for shape, count, dtypes in (
            ((2, 4), 1, COMPLEX_ALL),
            ((3, 7), 2, COMPLEXES),
            ((2, 3, 2, 5), 3, COMPLEXES),
            ((1,), 1, COMPLEXES),
            ((2, 3, 1, 2, 3), 5, COMPLEXES),
            ((3, 0), 1, COMPLEXES),
            ((0, 3), 1, COMPLEXES),
        )
    ],
    *[
        _case("RFFT", shape, shape[-count:], dtypes)
        for shape, count, dtypes in (
            ((2, 6), 1, (*WIDE, "int8", "bool")),
            ((2, 7), 1, WIDE),
            ((3, 4), 2, WIDE),
            ((2, 3, 2, 5), 3, WIDE),
            ((2, 1), 1, WIDE),
            ((2, 2), 1, WIDE),
            ((2, 2, 1, 3, 4), 5, WIDE),
            ((0, 3), 2, WIDE),
        )
    ],
    *[
        _case("IRFFT", shape, lengths, dtypes)
        for shape, lengths, dtypes in (
            ((2, 4), (6,), (*COMPLEXES, "float32", "float16", "uint8")),
            ((2, 4), (7,), COMPLEXES),
            ((3, 3), (3, 4), COMPLEXES),
            ((2, 3, 2, 3), (3, 2, 5), COMPLEXES),
            ((2, 1), (1,), COMPLEXES),
            ((2, 2), (2,), COMPLEXES),
            ((2, 2, 1, 3, 3), (2, 2, 1, 3, 4), COMPLEXES),
            ((3, 1), (0,), COMPLEXES),
            ((0, 3), (0, 4), COMPLEXES),
        )
    ],
)
