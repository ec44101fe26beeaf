"""Changing the dtype: by value, or by bits.

Conversion by value follows XLA: a float is truncated toward zero and saturates at the ends of an
integer dtype, NaN becomes 0; an integer wraps around; a complex number loses its imaginary part;
whatever is not zero, NaN included, is `True`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from typing import Any, final

import numpy as np

from ... import dtypes
from ...array import Array
from ...array.placement import at_default_place
from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Tracer,
    Zero,
    aval_of,
    is_zero,
    like,
    not_linear,
    same_axes,
)
from ...core.pending_sums import Groups
from ...dtypes.catalogue import NARROW
from ...dtypes.numbers import host_scalar
from ...dtypes.operands import warn_of_lost_parts
from ...engines import loops
from ...engines.reference.fusion import dtype_name
from ...engines.xla.stablehlo import Builder, Value
from ...util.compiled import part
from ...util.messages import message
from ..ground.families import without_derivative
from ..ground.linear_structure import moved_axis
from ..ground.narrow import COMPUTED_IN, widened


def converted(x: Any, dtype: Any) -> Any:
    """A NumPy array converted by value to `dtype`, as XLA converts."""
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    x = widened(x)
    if x.dtype.kind == "f" and dtypes.issubdtype(dtype, np.integer):
        return _truncated(x, dtype)
    return x.astype(dtype)


def _truncated(x: Any, dtype: Any) -> Any:
    info = dtypes.iinfo(dtype)
    # The least integer and the one after the greatest are exact in every float.
    low, high, end = int(info.min), int(info.max), float(int(info.max) + 1)
    holder = COMPUTED_IN.get(dtype, dtype)
    inside = (x >= float(low)) & (x < end)
    if inside.all():
        return x.astype(holder).astype(dtype, copy=False)
    result = np.where(inside, x, 0).astype(holder)
    return np.where(x >= end, high, np.where(x < float(low), low, result)).astype(dtype)


@final
class ConvertElementType(Primitive):
    """The operand in `new_dtype`, converted by value."""

    name = "convert_element_type"
    reads = "alike"
    narrow_in_loops = "rounded"

    def additive(self, x: Any, *, new_dtype: Any, **_: Any) -> Groups:
        """From float to float, up to rounding; from integers to narrower ones, which wrap."""
        pair = (x.dtype, new_dtype)
        if all([dtypes.issubdtype(d, np.inexact) for d in pair]):
            return [(0,)]
        integers = all([dtypes.issubdtype(d, np.integer) for d in pair])
        return [(0,)] if integers and new_dtype.itemsize <= x.dtype.itemsize else []

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        shown = sorted(params.items())
        return {name: value for name, value in shown if name != "sharding" or value is not None}

    def abstract_eval(
        self, x: Any, *, new_dtype: Any, weak_type: Any, sharding: Any = None
    ) -> ShapedArray:
        if not dtypes.may_convert(x.dtype, new_dtype):
            raise TypeError(
                message(
                    "lax.convert_element_type",
                    given=f"{x.str_short(short_dtypes=False)} with new_dtype={new_dtype}",
                    expected="two numeric dtypes, or twice the same dtype",
                    fix="Read the words of random keys with jax.random.key_data; other extended "
                    "dtypes convert from and to the dtype that they are stored in.",
                )
            )
        return like(x, dtype=new_dtype, weak_type=weak_type, sharding=sharding)

    def axis_flow(self, x: Any, **_: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, *, new_dtype: Any, **_: Any) -> Any:
        if isinstance(new_dtype, dtypes.ExtendedDType):
            new_dtype = new_dtype.physical_dtype
        if new_dtype == dtypes.float0:
            return np.zeros(x.shape, dtypes.float0)
        return x if x.dtype == new_dtype else converted(x, new_dtype)

    def kernel(self, x: Any, *, new_dtype: Any, **_: Any) -> Callable[..., Any] | None:
        if x.dtype == new_dtype:
            return lambda v: v
        if isinstance(x.dtype, dtypes.ExtendedDType):
            return None
        if _native is not None and x.dtype.char in "fd" and new_dtype in _INTEGERS:
            return lambda v: _native.to_integer(v, new_dtype)
        return (lambda v: v.astype(new_dtype)) if _is_numpys(x.dtype, new_dtype) else None

    def fused(self, x: Any, *, new_dtype: Any, **_: Any) -> str | None:
        return f"{dtype_name(new_dtype)}_of_{dtype_name(x.dtype)}"

    def lower(self, b: Builder, out: Any, x: Value, **_: Any) -> Value:
        if out.dtype == x.aval.dtype:
            return x
        if out.dtype == dtypes.float0:
            return b.full(False, out)
        if isinstance(out.dtype, dtypes.ExtendedDType) or isinstance(
            x.aval.dtype, dtypes.ExtendedDType
        ):
            return b.op("stablehlo.convert", out, x)
        if x.aval.dtype.kind == "c" != out.dtype.kind:
            # XLA's compiler dies when it converts a complex constant itself.
            x = b.op("stablehlo.real", x.aval.update(dtype=np.empty(0, x.aval.dtype).real.dtype), x)
        if x.aval.dtype == bool and _has_arithmetic(out.dtype):
            # Of a product with a converted boolean XLA makes a choice, and loses NaN times 0.
            return b.op("stablehlo.select", out, x, b.full(1, out), b.full(0, out))
        return b.op("stablehlo.convert", out, x)

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value, **_: Any) -> loops.Value:
        dtype = b.dtype_of(out)
        if dtype == x.dtype:
            return x
        return b.elementwise(out, lambda v: loops.scalars.converted(b.writer, v, dtype), x)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = self.bind(*primals, **params)
        tangent_aval = out.aval.to_tangent_aval()
        if is_zero(tangents[0]) or tangent_aval.dtype == dtypes.float0:
            return out, Zero(tangent_aval)
        if isinstance(out.dtype, dtypes.ExtendedDType):  # tangents may be of another dtype
            params = params | {"new_dtype": tangent_aval.dtype}
        return out, self.bind(*tangents, **params)

    def transpose(self, ct: Any, x: Any, **_: Any) -> list[Any]:
        return [convert(ct, x.aval.dtype, x.aval.weak_type)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(operands[0], **params), dims[0]


def _has_arithmetic(dtype: Any) -> bool:
    """Whether numbers are computed with in it: of some formats of 8 bits there is no 0."""
    return dtypes.issubdtype(dtype, np.inexact) and dtypes.itemsize_bits(dtype) >= 16


def _is_numpys(old: Any, new: Any) -> bool:
    """Whether NumPy converts as XLA does."""
    if not {old, new} <= _OF_NUMPY:
        return False
    return not (old.kind == "c" != new.kind or (old.kind == "f" and new.kind in "iu"))


_native: Any = part("kernels")
_INTEGERS = {np.dtype(kind) for kind in "bhilBHIL"}
_OF_NUMPY = {np.dtype(kind) for kind in "?bhilqBHILQfdFD"}


@final
class BitcastConvertType(Primitive):
    """The bits of the operand, read as numbers of `new_dtype`.

    Where the widths differ, the parts of a wider number lie along a last axis, low bits first.
    """

    name = "bitcast_convert_type"
    transpose = not_linear()
    narrow_in_loops = "kept"

    def abstract_eval(self, x: Any, *, new_dtype: Any) -> ShapedArray:
        old, new = map(_bits_of_numbers, (x.dtype, new_dtype))
        if x.dtype == new_dtype:
            return like(shape=x.shape, dtype=new_dtype)
        if old is None or new is None:
            raise TypeError(_bitcast_message(x, new_dtype, "integer and floating dtypes"))
        if old >= new:
            shape = x.shape if old == new else (*x.shape, old // new)
            return like(shape=shape, dtype=new_dtype)
        if x.shape[-1:] != (new // old,):
            raise ValueError(_bitcast_message(x, new_dtype, f"a last axis of size {new // old}"))
        return like(shape=x.shape[:-1], dtype=new_dtype)

    def axis_flow(self, x: Any, *, new_dtype: Any) -> AxisFlow:
        old, new = [_bits_of_numbers(dtype) or 0 for dtype in (x.dtype, new_dtype)]
        if old == new:
            return same_axes(x)
        numbers = tuple(range(x.ndim if old > new else x.ndim - 1))
        parts = (*numbers, None)
        return AxisFlow((numbers,), (parts,)) if old > new else AxisFlow((parts,), (numbers,))

    def kernel(self, x: Any, *, new_dtype: Any) -> Callable[..., Any] | None:
        widths = [_bits_of_numbers(d) or 0 for d in (x.dtype, new_dtype)]
        return methodcaller("view", new_dtype) if widths[0] == widths[1] >= 8 else None

    def fused(self, x: Any, *, new_dtype: Any) -> str | None:
        return f"{dtype_name(new_dtype)}_as_{dtype_name(x.dtype)}"

    def evaluate(self, x: Any, *, new_dtype: Any) -> Any:
        if isinstance(new_dtype, dtypes.ExtendedDType):
            return x
        old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
        shape = x.shape if old == new else (*x.shape, old // new) if old > new else x.shape[:-1]
        if old == new or min(old, new) >= 8:
            whole = x if old <= new else x.reshape(*x.shape, 1)
            return np.array(whole, order="C").view(new_dtype).reshape(shape)
        octets = x.reshape(*x.shape, 1).view(np.uint8)
        bits = np.unpackbits(octets[..., None], axis=-1, bitorder="little")[..., : min(old, 8)]
        octets = np.packbits(bits.reshape(-1, min(new, 8)), axis=-1, bitorder="little")
        return octets.reshape(-1).view(new_dtype).reshape(shape)

    def lower(self, b: Builder, out: Any, x: Value, *, new_dtype: Any) -> Value:
        if x.aval.dtype == new_dtype:
            return x
        return b.bitcast(x, out)

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value, **_: Any) -> loops.Value:
        return loops.bits.reinterpreted(b, out, x)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return without_derivative(self, primals, params)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(moved_axis(operands[0], dims[0], 0), **params), 0


def _bits_of_numbers(dtype: Any) -> int | None:
    """The width of an integer or real dtype; `None` for others."""
    real = any(dtypes.issubdtype(dtype, kind) for kind in (np.integer, np.floating))
    return dtypes.itemsize_bits(dtype) if real else None


def _bitcast_message(x: Any, new_dtype: Any, expected: str) -> str:
    return message(
        "lax.bitcast_convert_type",
        given=f"{x.str_short(short_dtypes=False)} with new_dtype={new_dtype}",
        expected=expected,
        fix="Choose a dtype of equal width, or reshape so that the parts of a number are last.",
    )


convert_element_type_p = ConvertElementType()
bitcast_convert_type_p = BitcastConvertType()


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """`x`, an array or tracer, in `dtype` (canonical); `x` itself if nothing changes."""
    aval = aval_of(x)
    if isinstance(x, (Array, Tracer)) and aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def convert_as_asked(where: str, x: Any, dtype: Any) -> Any:
    """`x` in the dtype that a caller names, who is warned if that takes imaginary parts away."""
    _check_parts(where, aval_of(x), dtype)
    return convert(x, dtype)


def _check_parts(where: str, aval: Any, dtype: Any) -> None:
    if dtypes.issubdtype(aval.dtype, np.complexfloating) and dtype != np.bool_:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            warn_of_lost_parts(where, aval.str_short(), dtype)


def as_weak_as(x: Any, aval: Any) -> Any:
    """`x`, which differs from `aval` by its weak type at most, with that of `aval`."""
    is_weak = aval_of(x).weak_type
    return x if is_weak == aval.weak_type else convert(x, aval.dtype, aval.weak_type)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` in `new_dtype`, converted by value.

    Floats are truncated toward zero and saturate at the ends of an integer dtype, NaN becomes 0;
    integers wrap around; the imaginary part of a complex number is dropped.

    Args:
        operand: array (...).
        new_dtype: anything that names a dtype; ``float`` and ``int`` ask for the default width.

    Returns:
        Array (...) of `new_dtype`, never weakly typed.

    Raises:
        ValueError: `new_dtype` is `None`.
        TypeError: only one of the two dtypes is that of random keys, or `operand` is a Python
            complex number and the dtype is real.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.convert_element_type(jnp.array([-1.5, 300.0]), jnp.int8)
        Array([ -1, 127], dtype=int8)
    """
    dtype = _named_dtype(new_dtype, "lax.convert_element_type, argument new_dtype")
    if hasattr(operand, "__jax_array__"):
        operand = operand.__jax_array__()
    if isinstance(operand, (Array, Tracer)) or isinstance(dtype, dtypes.ExtendedDType):
        return convert_as_asked("lax.convert_element_type", operand, dtype)
    # A number that is known while tracing is a constant of the program, not an operation in it.
    aval = aval_of(operand)
    if type(operand) is complex:
        operand = host_scalar("lax.convert_element_type, argument operand", operand, dtype)
    else:
        _check_parts("lax.convert_element_type", aval, dtype)
    with np.errstate(all="ignore"):
        host = converted(np.asarray(operand), dtype)
    return at_default_place(Array(ShapedArray(host.shape, dtype), host))


def _named_dtype(new_dtype: Any, where: str) -> Any:
    if new_dtype is None:
        raise ValueError(
            message(
                where,
                given="None",
                expected="a dtype, or the name of one",
                fix="Pass for instance jnp.float32.",
            )
        )
    return dtypes.requested(new_dtype, where)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of `operand`, read as numbers of `new_dtype`.

    Args:
        operand: array (...); of shape (..., k) if `new_dtype` is k times as wide as its dtype.
        new_dtype: the dtype to read the bits as.

    Returns:
        Array (...); of shape (..., k) if `new_dtype` is a k-th as wide, low bits first.

    Raises:
        TypeError: one dtype is boolean or complex, and the other is not the same.
        ValueError: the last axis has not the size of the ratio of the widths.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.bitcast_convert_type(jnp.float32(1.0), jnp.uint32)
        Array(1065353216, dtype=uint32)
    """
    # An array of 64 bits may be where others are narrowed: its bits are 64 there too.
    is_wide = new_dtype is not None and aval_of(operand).dtype in NARROW
    dtype = dtypes.dtype(new_dtype) if is_wide else None
    if dtype not in NARROW:
        dtype = _named_dtype(new_dtype, "lax.bitcast_convert_type, argument new_dtype")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)
