"""Fourier transforms of small lengths as products with small matrices, for programs of loops.

With n = a b, j = j₁ b + j₂ and k = k₁ + a k₂,

    y[k₁ + a k₂] = Σ over j₂ of ω(b)^(j₂ k₂) · ω(n)^(j₂ k₁) · Σ over j₁ of ω(a)^(j₁ k₁) x[j₁ b + j₂]

so a transform is one of length a, a product with numbers that are known, and one of length b.

Reference: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series",
Mathematics of Computation 19 (1965).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...core import Jaxpr, aval_of, stage_closed
from ...util.memo import memoize
from ..contraction.dot import dot_general
from ..elementwise.arithmetic import mul
from ..elementwise.complex import complex as complex_number
from ..elementwise.complex import complex_dtype, conj, imag, real, real_dtype
from ..elementwise.convert import convert
from ..elementwise.selection import select
from ..shape.filling import full_like
from ..shape.joining import concatenate
from ..shape.shape_operations import reshape, rev, transpose
from ..shape.slicing import slice_in_dim

# So long a transform may be, and so long one that is a product with one matrix.
_LONGEST, _LONGEST_PRODUCT = 1 << 10, 64
# Lengths up to this are not split.
_SHORT: Final = 8


def is_small(lengths: Sequence[int]) -> bool:
    """Whether transforms of these lengths have such a program."""
    return math.prod(lengths) > 0 and all([_is_short_enough(n) for n in lengths])


def _is_short_enough(n: int) -> bool:
    while n <= _LONGEST and n > _LONGEST_PRODUCT:
        first = _first_factor(n)
        if first == n:
            return False
        n //= first
    return n <= _LONGEST_PRODUCT


def _first_factor(n: int) -> int:
    """The length of the first of two transforms; n itself, if it is not split."""
    if n <= _SHORT:
        return n
    return next((a for a in range(_SHORT, 1, -1) if n % a == 0), n)


@memoize
def program(aval: Any, kind: str, lengths: tuple[int, ...]) -> Jaxpr:
    """The transform of the last axes, as a program.

    Args:
        aval: of the operand.
        kind: "FFT", "IFFT", "RFFT" or "IRFFT".
        lengths: of the axes, of the real side where one side is real.
    """
    transform = {"FFT": _all_axes, "IFFT": _inverse, "RFFT": _of_real, "IRFFT": _to_real}[kind]
    return stage_closed(lambda x: [transform(x, lengths)], [aval])


def _roots(n: int, powers: Any, dtype: Any) -> Any:
    """exp(−2πi/n) to these powers; whole quarters of a turn are exact."""
    quarters, rest = np.divmod(4 * (powers % n), n)
    turns = np.array([1, -1j, -1, 1j])[quarters]
    return (turns * np.exp(-0.5j * np.pi * rest / n)).astype(dtype)


def _last_axis(x: Any) -> Any:
    """The transform of the last axis."""
    aval = aval_of(x)
    *outer, n = aval.shape
    if n == 1:
        return x
    a = _first_factor(n)
    if a == n:
        return _product(x, n, aval.ndim - 1)
    b = n // a
    columns = _product(reshape(x, (*outer, a, b)), a, aval.ndim - 1)
    # The axis that is summed over comes last.
    turned = _roots(n, np.outer(np.arange(b), np.arange(a)), aval.dtype)
    weights = np.broadcast_to(turned, (*outer, b, a))
    rows = transpose(mul(columns, weights), (*range(len(outer)), len(outer) + 1, len(outer)))
    of_rows = _last_axis(rows)
    order = (*range(len(outer)), len(outer) + 1, len(outer))
    return reshape(transpose(of_rows, order), (*outer, n))


def _product(x: Any, n: int, axis: int) -> Any:
    """The transform of an axis, by its matrix; it becomes the last one."""
    matrix = _roots(n, np.outer(np.arange(n), np.arange(n)), aval_of(x).dtype)
    return dot_general(x, matrix, (((axis,), (0,)), ((), ())))


def _each_axis(x: Any, count: int, transform: Callable[[Any], Any]) -> Any:
    """A transform of the last axis, done to each of the last axes."""
    ndim = aval_of(x).ndim
    first = ndim - count
    order = (*range(first), *range(first + 1, ndim), first)
    for _ in range(count):
        x = transform(transpose(x, order) if count > 1 else x)
    return x


def _all_axes(x: Any, lengths: Sequence[int]) -> Any:
    return _each_axis(x, len(lengths), _last_axis)


def _inverse(x: Any, lengths: Sequence[int]) -> Any:
    """By the conjugate: the roots of the inverse are the conjugates of those of the transform."""
    return _over(conj(_all_axes(conj(x), lengths)), math.prod(lengths))


def _over(x: Any, count: int) -> Any:
    """x / count, part by part."""
    if aval_of(x).dtype.kind != "c":
        return mul(x, full_like(x, 1 / count))
    return complex_number(_over(real(x), count), _over(imag(x), count))


def _of_real(x: Any, lengths: Sequence[int]) -> Any:
    *others, n = lengths
    spectrum = _last_axis(convert(x, complex_dtype(aval_of(x).dtype)))
    kept = _as_of_real(slice_in_dim(spectrum, 0, n // 2 + 1, axis=aval_of(x).ndim - 1), n)
    return _before_last(kept, len(others), _last_axis)


def _as_of_real(half: Any, n: int) -> Any:
    """Half the spectrum of a real signal: at both ends it is real, whatever was rounded.

    Of a negative number an imaginary part of −0 or less would turn the angle round, π to −π.
    """
    shape, places = aval_of(half).shape, np.arange(n // 2 + 1)
    is_complex = np.broadcast_to((places != 0) & (2 * places != n), shape)
    turned = imag(half)
    return complex_number(real(half), select(is_complex, turned, full_like(turned, 0)))


def _to_real(x: Any, lengths: Sequence[int]) -> Any:
    *others, n = lengths
    last = aval_of(x).ndim - 1
    inner = _before_last(conj(x), len(others), _last_axis)
    kept = slice_in_dim(inner, 0, n // 2 + 1, axis=last)
    # The other half of the spectrum is the conjugate of this one, backwards.
    mirrored = rev(conj(slice_in_dim(kept, 1, (n + 1) // 2, axis=last)), (last,))
    whole = _last_axis(concatenate([kept, mirrored], last))
    return _over(convert(real(whole), real_dtype(aval_of(x).dtype)), math.prod(lengths))


def _before_last(x: Any, count: int, transform: Callable[[Any], Any]) -> Any:
    """A transform of the last axis, done to each of so many axes before the last."""
    if not count:
        return x
    last = aval_of(x).ndim - 1
    first = last - count
    order = (*range(first), last, *range(first, last))
    moved = _each_axis(transpose(x, order), count, transform)
    return transpose(moved, (*range(first), *range(first + 1, last + 1), first))
