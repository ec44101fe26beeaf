"""What arrays have as methods and attributes only, or with another signature than the function."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..util.messages import described, message
from . import selection, shaping
from .complex_numbers import is_complex
from .logic import equal
from .operands import as_truth
from .rounding import round as rounded
from .shaping import matrix_transpose


def reshape(self: Any, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """The elements in another shape, given as a tuple or as several arguments."""
    shape = args[0] if len(args) == 1 else args
    return shaping.reshape(self, shape, order, out_sharding=out_sharding)


def transpose(self: Any, *args: Any) -> Any:
    """The axes permuted, or reversed without arguments."""
    if not args or (len(args) == 1 and args[0] is None):
        return shaping.transpose(self)
    axes: Any = args[0] if len(args) == 1 and np.iterable(args[0]) else args
    return shaping.transpose(self, axes)


def astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The elements converted to `dtype`."""
    return shaping.astype(self, dtype, copy=copy, device=device)


def compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """The slices along an axis where `condition` is true."""
    return selection.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements along one axis."""
    return shaping.ravel(self, order, out_sharding=out_sharding)


def view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The same bits read as another dtype; the last axis grows or shrinks if its width differs."""
    if type is not None:
        raise NotImplementedError(
            message(
                "x.view, argument type",
                given=described(type),
                expected="None: there is one class of arrays",
                fix="Pass the dtype alone, or call np.asarray(x).view.",
            )
        )
    if isinstance(dtype, (int, tuple)):
        raise TypeError(
            message(
                "x.view, argument dtype",
                given=described(dtype),
                expected="a dtype: a view has the shape of the array",
                fix="Use x.reshape for another shape.",
            )
        )
    given = aval_of(self).dtype
    target = given if dtype is None else dtypes.requested(dtype, "view")
    if given == target:
        return self
    if np.bool_ in (given, target):
        return _viewed_truth(self, given, target)
    if is_complex(self):
        pairs = lax.stack([lax.real(self), lax.imag(self)], aval_of(self).ndim)
        shape = aval_of(self).shape
        return view(lax.reshape(pairs, (*shape[:-1], 2 * _last(self))), target)
    if dtypes.issubdtype(target, np.complexfloating):
        part = np.finfo(target).dtype
        pairs = _split_last(view(self, part), 2)
        halves = [lax.index_in_dim(pairs, i, -1, keepdims=False) for i in (0, 1)]
        return lax.complex(*halves)
    width, wanted = dtypes.itemsize_bits(given), dtypes.itemsize_bits(target)
    if width == wanted:
        return lax.bitcast_convert_type(self, target)
    if width > wanted:
        parts = lax.bitcast_convert_type(self, target)
        shape = aval_of(self).shape
        return lax.reshape(parts, (*shape[:-1], _last(self) * width // wanted))
    return lax.bitcast_convert_type(_split_last(self, wanted // width), target)


def _viewed_truth(x: Any, given: Any, target: Any) -> Any:
    """Truth values are bytes that are 0 or 1."""
    if given == np.bool_:
        return view(lax.convert_element_type(x, np.uint8), target)
    octets = view(x, np.uint8)
    return lax.ne(octets, 0)


def _last(x: Any) -> int:
    shape: tuple[int, ...] = aval_of(x).shape
    if shape:
        return shape[-1]
    raise ValueError(_cannot_view(x))


def _cannot_view(x: Any) -> str:
    return message(
        "x.view",
        given=f"{aval_of(x)}",
        expected="a last axis whose bytes are whole elements of the new dtype",
        fix="Choose a dtype of the same width, or reshape first.",
    )


def _split_last(x: Any, parts: int) -> Any:
    count = _last(x)
    if count % parts:
        raise ValueError(_cannot_view(x))
    return lax.reshape(x, (*aval_of(x).shape[:-1], count // parts, parts))


def byteswap(self: Any) -> Any:
    """The elements with their bytes in reverse order; of complex numbers, those of both parts."""
    dtype = aval_of(self).dtype
    if dtypes.issubdtype(dtype, np.complexfloating):
        return lax.complex(byteswap(lax.real(self)), byteswap(lax.imag(self)))
    if dtype.itemsize == 1:
        return self
    octets = lax.bitcast_convert_type(self, np.uint8)
    return lax.bitcast_convert_type(lax.rev(octets, (aval_of(self).ndim,)), dtype)


def transposed(self: Any) -> Any:
    """The axes in reverse order."""
    return shaping.transpose(self)


def flat(self: Any) -> Any:
    """The elements along one axis, to be iterated over or indexed as NumPy's ``x.flat``."""
    return shaping.ravel(self)


def transposed_matrices(self: Any) -> Any:
    """The last two axes exchanged."""
    return matrix_transpose(self)


def itemsize(self: Any) -> int:
    """Bytes per element."""
    return self.aval.dtype.itemsize


def nbytes(self: Any) -> int:
    """Bytes of all elements."""
    return self.aval.size * self.aval.dtype.itemsize


def round_to_digits(self: Any, digits: int | None = None) -> Any:
    """`round(x, digits)` of Python: the dtype stays."""
    return rounded(self, 0 if digits is None else index(digits))


def contains(self: Any, item: Any) -> bool:
    """Whether an element equals `item`."""
    same = as_truth("equal", equal(self, item))
    return bool(lax.reduce_or(same, tuple(range(aval_of(same).ndim))))
