"""The discrete Fourier transform of the last axes of an array.

Along one axis of length n, with ω = exp(−2πi/n):

=========  ===================================  ==========================================
`FFT`      y[k] = Σⱼ x[j] ωʲᵏ                    complex to complex
`IFFT`     y[j] = 1/n Σₖ x[k] ω⁻ʲᵏ               complex to complex, the inverse of `FFT`
`RFFT`     y[k] = Σⱼ x[j] ωʲᵏ, k ≤ n/2           real to complex
`IRFFT`    the inverse of `RFFT`                complex to real; n is for the caller to say
=========  ===================================  ==========================================

Of several axes, the last is transformed first by `RFFT` and last by `IRFFT`; the others are
transformed by `FFT` and `IFFT`.  `IRFFT` knows what a real signal must have: it reads neither the
other half of the spectrum nor the imaginary parts of y[0] and, if n is even, of y[n/2].

The matrix of `FFT` is symmetric, so the transform is its own transpose.  Of a real signal, `RFFT`
leaves out what is the conjugate of what it keeps; so its transpose is n · `IRFFT` of the conjugate,
where frequencies that stand for two count half, and the other way round.

Reference: P. N. Swarztrauber, "Symmetric FFTs", Mathematics of Computation 47 (1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, Final, final

import numpy as np

from ... import dtypes
from ...core import (
    AxisFlow,
    BatchAxes,
    Jaxpr,
    Primitive,
    ShapedArray,
    aval_of,
    like,
    same_axes,
)
from ...engines.reference.replay import replayed
from ...engines.xla.stablehlo import Builder, Value, i64_array
from ...util.messages import described, message
from ...util.scipy_libraries import fast_transforms
from ...util.threads import WORTH_SHARING, threads_for
from ..elementwise.arithmetic import mul
from ..elementwise.bitwise import bitwise_or
from ..elementwise.comparison import eq
from ..elementwise.complex import conj
from ..elementwise.convert import convert
from ..elementwise.selection import scalar_like, select_n
from ..ground.axes import integer_tuple
from ..ground.linear_structure import broadcast_to, moved_axis, zeros
from ..shape.filling import full, iota
from . import small_transforms


@final
class FftType(IntEnum):
    """Which transform `fft` computes; see the text of this module.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.fft(jnp.ones(4), lax.FftType.RFFT, fft_lengths=(4,))
        Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


Lengths = tuple[int, ...]

_COMPLEX_OF: Final = {
    np.dtype(np.float32): np.dtype(np.complex64),
    np.dtype(np.float64): np.dtype(np.complex128),
}
_REAL_OF: Final = {dtype: part for part, dtype in _COMPLEX_OF.items()}
# StableHLO transforms no more axes at once.
_MOST_AXES: Final = 3


@final
class Fft(Primitive):
    """The last axes of the operand, transformed.

    Params:
        fft_type: an `FftType`.
        fft_lengths: the lengths of the axes, of the real side where one side is real.
    """

    name = "fft"
    linear = True
    most_by_loops = 1 << 11

    def abstract_eval(self, x: Any, *, fft_type: FftType, fft_lengths: Lengths) -> ShapedArray:
        _check_dtype(x, fft_type)
        _check_shape(x, fft_type, fft_lengths)
        return like(
            x,
            shape=_shape_after(x.shape, fft_type, fft_lengths),
            dtype=_dtype_after(x.dtype, fft_type),
            weak_type=False,
        )

    def axis_flow(self, x: Any, *, fft_type: FftType, fft_lengths: Lengths) -> AxisFlow:
        return same_axes(x, whole=range(x.ndim - len(fft_lengths), x.ndim))

    def evaluate(self, x: Any, *, fft_type: FftType, fft_lengths: Lengths) -> Any:
        return self.kernel(x, fft_type=fft_type, fft_lengths=fft_lengths)(x)

    def kernel(
        self, x: Any, *, fft_type: FftType, fft_lengths: Lengths
    ) -> Callable[[np.ndarray[Any, Any]], Any]:
        shape, dtype = _shape_after(x.shape, fft_type, fft_lengths), _dtype_after(x.dtype, fft_type)
        if not math.prod(shape):
            return lambda v: np.empty(shape, dtype)
        axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
        return _transform(fft_type, fft_lengths, axes, x.size)

    def lower(
        self, b: Builder, out: Any, x: Value, *, fft_type: FftType, fft_lengths: Lengths
    ) -> Value:
        if not out.size:
            return b.full(0, out)
        last, others = fft_lengths[-_MOST_AXES:], fft_lengths[:-_MOST_AXES]
        if fft_type is FftType.IRFFT and others:
            x = _lower_axes_before(b, x, FftType.IFFT, others, len(last))
        x = _lower_last_axes(b, x, fft_type, last)
        if fft_type is FftType.IRFFT or not others:
            return x
        rest = FftType.IFFT if fft_type is FftType.IFFT else FftType.FFT
        return _lower_axes_before(b, x, rest, others, len(last))

    def program_in_place(self, x: Any, *, fft_type: FftType, fft_lengths: Lengths) -> Jaxpr | None:
        """Products with small matrices, if the lengths are small or have small factors."""
        if not x.is_static or not small_transforms.is_small(fft_lengths):
            return None
        return small_transforms.program(x.strip_weak_type(), fft_type.name, fft_lengths)

    def transpose(self, ct: Any, x: Any, *, fft_type: FftType, fft_lengths: Lengths) -> list[Any]:
        if 0 in fft_lengths:
            return [zeros(x.aval.to_ct_aval())]
        count, last = math.prod(fft_lengths), fft_lengths[-1]
        if fft_type is FftType.RFFT:
            spectrum = _weighted(conj(ct), last, count, count / 2)
            return [self.bind(spectrum, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)]
        if fft_type is FftType.IRFFT:
            spectrum = self.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
            return [_weighted(conj(spectrum), last, 1 / count, 2 / count)]
        return [self.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        fft_type: FftType,
        fft_lengths: Lengths,
    ) -> tuple[Any, int]:
        (x,), (dim,) = operands, dims
        if dim >= aval_of(x).ndim - len(fft_lengths):
            x, dim = moved_axis(x, dim, 0), 0
        return self.bind(x, fft_type=fft_type, fft_lengths=fft_lengths), dim


fft_p = Fft()


@replayed(1)
def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The discrete Fourier transform of the last axes, or its inverse.

    With ω = exp(−2πi/n), `FFT` is ``y[k] = Σⱼ x[j] ωʲᵏ`` along each of the axes, `IFFT` its inverse
    ``x[j] = 1/n Σₖ y[k] ω⁻ʲᵏ``; `RFFT` gives of a real signal the frequencies k ≤ n/2 along the
    last axis, and `IRFFT` the signal of them.

    Args:
        x: array (..., n₁, …, nₘ), for `IRFFT` (..., n₁, …, nₘ // 2 + 1).  What is real becomes
            complex first, and for `RFFT` integers become floating.
        fft_type: an `FftType`, or its name, such as ``"RFFT"``.
        fft_lengths: the lengths (n₁, …, nₘ), known while tracing; without any, `x` is the result.

    Returns:
        Array (..., n₁, …, nₘ), for `RFFT` (..., n₁, …, nₘ // 2 + 1), complex64 or complex128; for
        `IRFFT` float32 or float64.

    Raises:
        TypeError: if `fft_type` is neither a type nor a name, or the lengths are no integers.
        ValueError: if `x` does not have these lengths, or a dtype that cannot be transformed.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.fft(jnp.array([1.0, 0.0, 2.0, 0.0]), "RFFT", (4,))
        Array([ 3.+0.j, -1.+0.j,  3.+0.j], dtype=complex64)
    """
    kind = _fft_type(fft_type)
    lengths = integer_tuple("lax.fft, argument fft_lengths", fft_lengths)
    dtype = aval_of(x).dtype
    if not lengths or dtype not in (_COMPLEX_OF if kind is FftType.RFFT else _REAL_OF):
        dtype, _ = dtypes.to_inexact(dtype)
        if kind is not FftType.RFFT:
            dtype = dtypes.canonicalize(np.result_type(dtype, np.complex64))
        x = convert(x, dtype)
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths) if lengths else x


def _transform(
    fft_type: FftType, lengths: Lengths, axes: tuple[int, ...], size: int
) -> Callable[[np.ndarray[Any, Any]], Any]:
    """The transform of some axes by SciPy, whose lengths are these, of so many elements."""
    compiled = fast_transforms()
    if compiled is None:
        from scipy import fft as of_scipy

        function = getattr(of_scipy, f"{fft_type.name.lower()}n")
        return lambda v: function(v, lengths, axes)
    forward = fft_type in (FftType.FFT, FftType.RFFT)
    norm = 0 if forward else 2
    settings: tuple[Any, ...]
    if fft_type is FftType.IRFFT:
        function, settings = compiled.c2r, (axes, lengths[-1], forward, norm, None)
    else:
        function = compiled.r2c if fft_type is FftType.RFFT else compiled.c2c
        settings = (axes, forward, norm, None)
    if size < WORTH_SHARING:
        return lambda v: function(v, *settings, 1)
    # Rows are shared, by as many threads as there are to be at the call.
    return lambda v: function(v, *settings, threads_for(size))


def _fft_type(given: FftType | str) -> FftType:
    if isinstance(given, FftType):
        return given
    names = FftType.__members__
    if (
        isinstance(given, str)
        and given.upper() in names
        and given in (given.upper(), given.lower())
    ):
        return names[given.upper()]
    kind = ValueError if isinstance(given, str) else TypeError
    raise kind(
        message(
            "lax.fft, argument fft_type",
            given=f"{given!r}" if isinstance(given, str) else described(given),
            expected=f"a jax.lax.FftType, or one of {', '.join(names)}",
            fix="Name the transform, for instance 'RFFT' for that of a real signal.",
        )
    )


def _dtype_after(dtype: Any, fft_type: FftType) -> Any:
    if fft_type is FftType.RFFT:
        return _COMPLEX_OF[dtype]
    return _REAL_OF[dtype] if fft_type is FftType.IRFFT else dtype


def _shape_after(shape: Sequence[Any], fft_type: FftType, lengths: Lengths) -> tuple[Any, ...]:
    last = lengths[-1] // 2 + 1 if fft_type is FftType.RFFT else lengths[-1]
    return (*shape[:-1], last)


def _check_dtype(x: Any, fft_type: FftType) -> None:
    takes = _COMPLEX_OF if fft_type is FftType.RFFT else _REAL_OF
    if x.dtype in takes:
        return
    if fft_type is FftType.RFFT and x.dtype in _REAL_OF:
        fix = "Transform complex numbers with FFT, or take the real part first."
    else:
        fix = f"Convert the operand, for instance with x.astype({str(next(iter(takes)))!r})."
    raise ValueError(
        message(
            f"lax.fft of type {fft_type.name}",
            given=x.str_short(short_dtypes=False),
            expected=f"an array of {' or '.join(map(str, takes))}",
            fix=fix,
        )
    )


def _check_shape(x: Any, fft_type: FftType, lengths: Lengths) -> None:
    *others, last = lengths
    if fft_type is FftType.IRFFT:
        sizes = [last // 2 + 1] if last else [1, 0]
    else:
        sizes = [last] if last or fft_type is not FftType.RFFT else []
    before, axes = x.ndim - len(lengths), x.shape[-len(lengths) :]
    if before >= 0 and list(axes[:-1]) == others and axes[-1] in sizes and min(lengths) >= 0:
        return
    endings = [f"{(*others, size)}" for size in sizes]
    raise ValueError(
        message(
            f"lax.fft of type {fft_type.name}",
            given=f"{x.str_short(short_dtypes=False)} with fft_lengths={lengths}",
            expected=f"an array whose shape ends in {' or '.join(endings)}"
            if endings
            else "a signal that is not empty",
            fix="Pad or crop the axes, or give the lengths that they have.",
        )
    )


def _weighted(spectrum: Any, length: int, alone: float, for_two: float) -> Any:
    """Frequencies times `alone`, or times `for_two` where they stand for their conjugate too."""
    aval = aval_of(spectrum)
    k = iota(np.int32, length // 2 + 1)
    is_alone = eq(k, scalar_like(0, k))
    if length % 2 == 0:
        is_alone = bitwise_or(is_alone, eq(k, scalar_like(length // 2, k)))
    row = aval.shape[-1:]
    weights = select_n(is_alone, full(row, for_two, aval.dtype), full(row, alone, aval.dtype))
    return mul(spectrum, broadcast_to(weights, aval.shape))


def _lower_last_axes(b: Builder, x: Value, fft_type: FftType, lengths: Lengths) -> Value:
    """The transform of at most three axes."""
    out = x.aval.update(
        shape=_shape_after(x.aval.shape, fft_type, lengths),
        dtype=_dtype_after(x.aval.dtype, fft_type),
    )
    kind = f"#stablehlo<fft_type {fft_type.name}>"
    return b.op("stablehlo.fft", out, x, fft_type=kind, fft_length=i64_array(lengths))


def _lower_axes_before(
    b: Builder, x: Value, fft_type: FftType, lengths: Lengths, behind: int
) -> Value:
    """The complex transform of any number of axes, which have `behind` axes behind them."""
    ndim = x.aval.ndim
    for start in range(0, len(lengths), _MOST_AXES):
        some = lengths[start : start + _MOST_AXES]
        first = ndim - behind - len(lengths) + start
        axes = range(first, first + len(some))
        order = [*[i for i in range(ndim) if i not in axes], *axes]
        x = _lower_last_axes(b, _permuted(b, x, order), fft_type, some)
        x = _permuted(b, x, np.argsort(order).tolist())
    return x


def _permuted(b: Builder, x: Value, order: Sequence[int]) -> Value:
    out = x.aval.update(shape=tuple([x.aval.shape[i] for i in order]))
    return b.op("stablehlo.transpose", out, x, permutation=i64_array(order))
