"""Convolution and correlation along several axes, by sums of products or by Fourier transforms.

A correlation is the convolution with the conjugate read backwards, along every axis.  Of the full
result, which has n₁ + n₂ − 1 places along an axis, a mode keeps a window: ``"same"`` the n₁ places
in its middle, ``"valid"`` those where one operand covers the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axes, integer_tuple
from ...numpy.operands import as_array, inexact_type
from ...util.messages import message

_MODES = ("full", "same", "valid")
_METHODS = ("auto", "direct", "fft")


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The convolution of two arrays of as many axes: ``y[n] = Σₖ in1[k] in2[n − k]``.

    Args:
        in1: array (n₁, m₁, ...), real or complex; integers become floating.
        in2: array (n₂, m₂, ...).
        mode: ``"full"`` for every place where they overlap, (n₁ + n₂ − 1, ...); ``"same"`` for the
            middle of that, of the shape of `in1`; ``"valid"`` for the places where one covers the
            other, (|n₁ − n₂| + 1, ...).
        method: ``"direct"`` for sums of products, ``"fft"`` for Fourier transforms, which are
            faster for large operands and less exact; ``"auto"`` is direct.
        precision: how exactly an accelerator multiplies.

    Raises:
        ValueError: if the numbers of axes differ, an operand is empty, there is no such mode or
            method, or neither covers the other with ``mode="valid"``.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.signal.convolve(jnp.array([1, 2, 3]), jnp.array([1, 1]))
        Array([1., 3., 5., 3.], dtype=float32)
    """
    _check_method("convolve", method)
    in1, in2 = _operands("convolve", in1, in2, mode)
    return _convolved("convolve", in1, in2, mode, method, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The correlation of two arrays of as many axes: ``y[n] = Σₖ in1[k + n − n₂ + 1] in2[k]*``.

    See `convolve` for arguments and errors.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.signal.correlate(jnp.array([1, 2, 3]), jnp.array([0, 1]), mode="same")
        Array([1., 2., 3.], dtype=float32)
    """
    _check_method("correlate", method)
    in1, in2 = _operands("correlate", in1, in2, mode)
    return _convolved("correlate", in1, _mirrored(in2), mode, method, precision)


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """The convolution of two matrices; see `convolve`.

    Args:
        in1, in2: matrices.
        mode: see `convolve`.
        boundary: must be ``"fill"``: there are zeros around the matrices.
        fillvalue: must be 0.
        precision: how exactly an accelerator multiplies.

    Raises:
        NotImplementedError: for another boundary.
        ValueError: if an operand is no matrix, or as for `convolve`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.signal.convolve2d(jnp.eye(2), jnp.ones((1, 2)))
        Array([[1., 1., 0.],
               [0., 1., 1.]], dtype=float32)
    """
    in1, in2 = _matrices("convolve2d", in1, in2, mode, boundary, fillvalue)
    return _convolved("convolve2d", in1, in2, mode, "direct", precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """The correlation of two matrices; see `correlate`, and `convolve2d` for arguments and errors.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.signal.correlate2d(jnp.eye(2), jnp.ones((2, 2)), mode="valid")
        Array([[2.]], dtype=float32)
    """
    in1, in2 = _matrices("correlate2d", in1, in2, mode, boundary, fillvalue)
    if mode == "same":
        # Of two middles, SciPy takes the later one here, the earlier one everywhere else.
        in2 = jnp.pad(in2, [(1 - n % 2, 0) for n in in2.aval.shape])
    found = _convolved("correlate2d", in1, _mirrored(in2), mode, "direct", precision)
    is_covered = in1.aval.size < in2.aval.size
    # Here it is the covered matrix of which SciPy takes the conjugate.
    return jnp.conj(found) if mode == "valid" and is_covered else found


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Any:
    """The convolution of two arrays by Fourier transforms, along some axes or all.

    Args:
        in1, in2: arrays of as many axes, of at least 32 bits per real number.
        mode: see `convolve`.
        axes: the axes to convolve along; along the others the shapes agree.

    Raises:
        ValueError: if the shapes do not suit, or there is no such mode or axis.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.signal.fftconvolve(jnp.ones((2, 2)), jnp.ones((2, 2)), axes=1).round(5)
        Array([[1., 2., 1.],
               [1., 2., 1.]], dtype=float32)
    """
    in1, in2 = _operands("fftconvolve", in1, in2, mode)
    ndim = in1.aval.ndim
    where = "scipy.signal.fftconvolve, argument axes"
    given = range(ndim) if axes is None else axes if np.iterable(axes) else (axes,)
    along = canonical_axes(where, integer_tuple(where, given), ndim)
    rest = [i for i in range(ndim) if i not in along]
    if any(in1.aval.shape[i] != in2.aval.shape[i] for i in rest):
        raise ShapeError(
            message(
                "scipy.signal.fftconvolve",
                given=f"{in1.aval} and {in2.aval}, axes {along}",
                expected="the same lengths along the other axes",
                fix="Name all axes, or broadcast the operands first.",
            )
        )
    if any([x.aval.shape[i] == 0 for x in (in1, in2) for i in along]):
        raise _nothing_to_convolve("fftconvolve", in1, in2)
    return _by_transforms("fftconvolve", in1, in2, mode, along)


def _check_method(name: str, method: Any) -> None:
    if method not in _METHODS:
        raise ValueError(
            message(
                f"scipy.signal.{name}, argument method",
                given=f"{method!r}",
                expected="'auto', 'direct' or 'fft'",
                fix="Leave it out for sums of products.",
            )
        )


def _operands(name: str, in1: Any, in2: Any, mode: Any) -> list[Any]:
    """Arrays of one inexact dtype and as many axes."""
    if mode not in _MODES:
        raise ValueError(
            message(
                f"scipy.signal.{name}, argument mode",
                given=f"{mode!r}",
                expected="'full', 'same' or 'valid'",
                fix="Leave it out for all of the result.",
            )
        )
    where = f"scipy.signal.{name}"
    arrays = [as_array(where, x) for x in (in1, in2)]
    dtype, weak = inexact_type(where, *arrays)
    in1, in2 = [convert(x, dtype, weak) for x in arrays]
    if in1.aval.ndim != in2.aval.ndim:
        raise ShapeError(
            message(
                where,
                given=f"{in1.aval} and {in2.aval}",
                expected="as many axes of both operands",
                fix="Add axes of length 1, as in x[None].",
            )
        )
    return [in1, in2]


def _matrices(name: str, in1: Any, in2: Any, mode: Any, boundary: Any, fillvalue: Any) -> list[Any]:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            message(
                f"scipy.signal.{name}, arguments boundary and fillvalue",
                given=f"boundary={boundary!r}, fillvalue={fillvalue!r}",
                expected="boundary='fill' and fillvalue=0",
                fix="Extend in1 with jnp.pad, and pass mode='valid'.",
            )
        )
    found = _operands(name, in1, in2, mode)
    if found[0].aval.ndim != 2:
        raise ShapeError(
            message(
                f"scipy.signal.{name}",
                given=f"{found[0].aval} and {found[1].aval}",
                expected="two matrices",
                fix="Use the function without 2d, which takes any number of axes.",
            )
        )
    return found


def _mirrored(x: Any) -> Any:
    """The conjugate, read backwards along every axis."""
    return jnp.conj(lax.rev(x, tuple(range(x.aval.ndim))))


def _larger_first(name: str, in1: Any, in2: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    """The operand that covers the other, and that other."""
    lengths = [(in1.aval.shape[i], in2.aval.shape[i]) for i in axes]
    if all(n >= m for n, m in lengths):
        return in1, in2
    if all(n <= m for n, m in lengths):
        return in2, in1
    raise ShapeError(
        message(
            f"scipy.signal.{name} with mode='valid'",
            given=f"{in1.aval} and {in2.aval}",
            expected="an operand that is at least as large as the other along every axis",
            fix="Pass mode='full' or 'same', or crop an operand.",
        )
    )


def _nothing_to_convolve(name: str, in1: Any, in2: Any) -> ShapeError:
    return ShapeError(
        message(
            f"scipy.signal.{name}",
            given=f"{in1.aval} and {in2.aval}",
            expected="operands that are not empty",
            fix="Skip the call where there is nothing to convolve.",
        )
    )


def _convolved(name: str, in1: Any, in2: Any, mode: str, method: str, precision: Any) -> Any:
    if not (in1.aval.size and in2.aval.size):
        raise _nothing_to_convolve(name, in1, in2)
    axes = range(in1.aval.ndim)
    if not axes:
        return lax.mul(in1, in2)
    if method == "fft":
        return _by_transforms(name, in1, in2, mode, axes)
    if mode == "valid":
        in1, in2 = _larger_first(name, in1, in2, axes)
    return _by_products(in1, in2, mode, precision)


@replayed(2)
def _by_products(in1: Any, in2: Any, mode: str, precision: Any) -> Any:
    axes = tuple(range(in1.aval.ndim))
    sizes = in2.aval.shape
    if mode == "full":
        padding = [(n - 1, n - 1) for n in sizes]
    elif mode == "same":
        padding = [(n // 2, (n - 1) // 2) for n in sizes]
    else:
        padding = [(0, 0)] * len(axes)
    found = lax.conv_general_dilated(
        lax.expand_dims(in1, (0, 1)),
        lax.expand_dims(lax.rev(in2, axes), (0, 1)),
        window_strides=(1,) * len(axes),
        padding=padding,
        precision=precision,
    )
    return lax.squeeze(found, (0, 1))


def _by_transforms(name: str, in1: Any, in2: Any, mode: str, axes: Sequence[int]) -> Any:
    if not axes:
        return lax.mul(in1, in2)
    if mode == "valid":
        in1, in2 = _larger_first(name, in1, in2, axes)
    return _product_of_spectra(in1, in2, mode, tuple(axes))


@replayed(2)
def _product_of_spectra(in1: Any, in2: Any, mode: str, axes: tuple[int, ...]) -> Any:
    firsts, seconds = in1.aval.shape, in2.aval.shape
    lengths = [firsts[i] + seconds[i] - 1 for i in axes]
    dtype = in1.aval.dtype
    # There are no transforms of numbers of 16 bits.
    in1, in2 = [convert(x, dtypes.promote_types(dtype, np.float32)) for x in (in1, in2)]
    is_complex = dtypes.issubdtype(dtype, np.complexfloating)
    forward, back = (jnp.fft.fftn, jnp.fft.ifftn) if is_complex else (jnp.fft.rfftn, jnp.fft.irfftn)
    spectrum = lax.mul(forward(in1, lengths, axes), forward(in2, lengths, axes))
    found = back(spectrum, lengths, axes)
    starts, stops = [0] * len(firsts), list(found.aval.shape)
    for i, length in zip(axes, lengths, strict=True):
        kept = {"full": length, "same": firsts[i], "valid": firsts[i] - seconds[i] + 1}[mode]
        starts[i] = (length - kept) // 2
        stops[i] = starts[i] + kept
    return convert(lax.slice(found, starts, stops), dtype)
