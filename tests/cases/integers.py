"""Operations of integers alone."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import ANY_INTEGER, OpCase, Operand

WIDE = (Operand(low=-128, high=128),)
FACTORS = (Operand(low=-128, high=128), Operand(low=-128, high=128))


def leading_zeros(x: np.ndarray) -> np.ndarray:
    bits = 8 * x.dtype.itemsize
    lengths = [(int(v) % 2**bits).bit_length() for v in x.ravel()]
    return np.reshape([bits - n for n in lengths], x.shape)


def set_bits(x: np.ndarray) -> np.ndarray:
    bits = 8 * x.dtype.itemsize
    return np.reshape([(int(v) % 2**bits).bit_count() for v in x.ravel()], x.shape)


def high_half(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = 8 * x.dtype.itemsize
    return np.array((x.astype(object) * y.astype(object)) >> bits).astype(x.dtype)


CASES = (
    OpCase("population_count", lax.population_count, set_bits, WIDE, ANY_INTEGER, derivatives=0),
    OpCase("clz", lax.clz, leading_zeros, WIDE, ANY_INTEGER, derivatives=0),
    OpCase("mulhi", lax.mulhi, high_half, FACTORS, ANY_INTEGER, derivatives=0),
    OpCase("mulhi/scalar", lax.mulhi, high_half, (FACTORS[0], Operand((), -128, 128)),
           ("int8", "uint64"), derivatives=0),
)  # fmt: skip
