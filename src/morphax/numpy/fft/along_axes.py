"""A transform of any kind along axes of any lengths, with any normalization.

It is `lax.fft`, which transforms the last axes: axes are cropped or padded with zeros to the length
asked for, moved to the end, transformed, scaled and moved back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ... import lax
from ...core import max_dim
from ...lax.fourier.fft import FftType
from ...lax.fourier.fft import fft as lax_fft
from ...lax.ground.axes import integer, integer_tuple
from ...lax.ground.kinds import COMPLEX
from ...util.messages import message
from ..axes import canonical_axis
from ..operands import as_array

_FFT, _IFFT, _RFFT, _IRFFT = FftType
_INVERSE: Final = frozenset({_IFFT, _IRFFT})


def along_axis(name: str, kind: FftType, a: Any, n: int | None, axis: int, norm: str | None) -> Any:
    """The transform `name` along one axis, cropped or padded to `n`."""
    a = as_array(f"fft.{name}", a)
    if isinstance(axis, (tuple, list)):
        raise ValueError(
            message(
                f"jnp.fft.{name}, argument axis",
                given=f"{axis}",
                expected="one axis",
                fix=f"Use jnp.fft.{name}n for several axes."
                if "h" not in name
                else "Apply the function once for each axis.",
            )
        )
    place = canonical_axis(f"fft.{name}", axis, a.aval.ndim)
    lengths = None if n is None else (integer(f"jnp.fft.{name}, argument n", n),)
    return _transformed(name, kind, a, lengths, (place,), norm)


def along_axes(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """The transform `name` along `axes`, of lengths `s`; by default along all, as they are."""
    a = as_array(f"fft.{name}", a)
    ndim = a.aval.ndim
    lengths = None if s is None else integer_tuple(f"jnp.fft.{name}, argument s", s)
    if axes is None:
        count = ndim if lengths is None else len(lengths)
        named: tuple[int, ...] = tuple(range(-count, 0))
    else:
        named = integer_tuple(f"jnp.fft.{name}, argument axes", axes)
    places = tuple([canonical_axis(f"fft.{name}", axis, ndim) for axis in named])
    if len(set(places)) < len(places):
        raise ValueError(
            message(
                f"jnp.fft.{name}, argument axes",
                given=f"{named} of an array with {ndim} axes",
                expected="axes that all differ",
                fix="Call the function again to transform an axis twice.",
            )
        )
    if lengths is not None and len(lengths) != len(places):
        raise ValueError(
            message(
                f"jnp.fft.{name}, argument s",
                given=f"{len(lengths)} lengths for {len(places)} axes",
                expected="a length for each axis",
                fix="Give s and axes as many numbers.",
            )
        )
    return _transformed(name, kind, a, lengths, places, norm)


def _transformed(
    name: str,
    kind: FftType,
    a: Any,
    lengths: tuple[int, ...] | None,
    axes: tuple[int, ...],
    norm: str | None,
) -> Any:
    """The transform along `axes`, the last of which is that of the real side if there is one."""
    check_norm(name, norm)
    if kind is _RFFT and a.aval.dtype in COMPLEX:
        raise ValueError(
            message(
                f"jnp.fft.{name}",
                given=a.aval.str_short(short_dtypes=False),
                expected="real numbers: of these half of the spectrum tells the other half",
                fix=f"Take the real part, or use jnp.fft.{name.replace('rfft', 'fft')}."
                if name.startswith("r")
                else "Take the real part.",
            )
        )
    if lengths is None:
        lengths = tuple([a.aval.shape[axis] for axis in axes])
        if kind is _IRFFT and axes:
            lengths = (*lengths[:-1], max_dim(2 * (lengths[-1] - 1), 0))
    else:
        _check_lengths(name, lengths)
        a = _with_sizes(a, kind, lengths, axes)
    ndim = a.aval.ndim
    order = (*[i for i in range(ndim) if i not in axes], *axes)
    moved = order != tuple(range(ndim))
    result = lax_fft(lax.transpose(a, order) if moved else a, kind, lengths)
    result = _scaled(result, kind, lengths, norm)
    if not moved:
        return result
    return lax.transpose(result, tuple(sorted(range(ndim), key=order.__getitem__)))


def _with_sizes(a: Any, kind: FftType, lengths: Sequence[int], axes: Sequence[int]) -> Any:
    """`a` cropped, or padded with zeros, along `axes` to what the transform takes."""
    sizes = list(a.aval.shape)
    for axis, length in zip(axes, lengths, strict=True):
        sizes[axis] = length
    if kind is _IRFFT and axes:
        sizes[axes[-1]] = lengths[-1] // 2 + 1
    changes = [wanted - size for wanted, size in zip(sizes, a.aval.shape, strict=True)]
    if not any(changes):
        return a
    return lax.pad(a, a.aval.dtype.type(0), [(0, change, 0) for change in changes])


def _scaled(x: Any, kind: FftType, lengths: Sequence[int], norm: str | None) -> Any:
    """A transform with the factors that `norm` asks for."""
    count = math.prod(lengths)
    if norm in (None, "backward") or count <= 1:
        return x
    factor = math.sqrt(count) if norm == "ortho" else float(count)
    return lax.mul(x, x.aval.dtype.type(factor if kind in _INVERSE else 1 / factor))


def check_norm(name: str, norm: Any) -> None:
    """Raise an error unless `norm` says where the factor 1/n stands."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(
            message(
                f"jnp.fft.{name}, argument norm",
                given=f"{norm!r}",
                expected="'backward', 'ortho', 'forward' or None",
                fix="Leave it out for a factor of 1/n at the inverse.",
            )
        )


def _check_lengths(name: str, lengths: Sequence[int]) -> None:
    if not all([1 <= n < 2**63 for n in lengths]):
        raise ValueError(
            message(
                f"jnp.fft.{name}, length of the transform",
                given=f"{lengths[0] if len(lengths) == 1 else lengths}",
                expected="positive lengths below 2**63",
                fix="Leave the length out to transform the whole axis.",
            )
        )
