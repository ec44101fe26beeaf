"""What a general matrix product is: its axes, its dtype, its meaning in NumPy.

The axes of the result are the batch axes, then the free axes of the left operand, then those of the
right one, each group in the order of its operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...util.compiled import part
from ...util.host_memory import in_order
from ...util.memo import memoize
from ...util.messages import message
from ..elementwise.convert import converted
from ..ground.narrow import COMPUTED_IN

_Axes = tuple[int, ...]
_KINDS = (np.bool_, np.integer, np.floating, np.complexfloating)
# So few products of integers NumPy's plain loop has done before ours has begun.
_FEW_PRODUCTS = 512
_native: Any = part("products")
LARGE: Final = 1 << 18
"""Products of elements, from which on the BLAS divides them among threads that wait for others."""

_SHORT_ROW: Final = 16
"""Elements of a row that is long enough for vectors of its own."""

native_product: Any = getattr(_native, "product", None)
"""The product of two matrices, or of stacks, of floats or integers of 32 or 64 bits, by threads of
ours."""


@memoize
def free_axes(lhs_rank: int, rhs_rank: int, numbers: Any) -> tuple[_Axes, _Axes]:
    """The axes of each operand that are neither contracting nor batch axes."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    lhs = tuple([i for i in range(lhs_rank) if i not in lhs_contracting and i not in lhs_batch])
    rhs = tuple([i for i in range(rhs_rank) if i not in rhs_contracting and i not in rhs_batch])
    return lhs, rhs


def check_axes(x: Any, y: Any, numbers: Any) -> None:
    """Raise `TypeError` unless the axes exist, differ and pair up."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    for aval, contracting, batch in (
        (x, lhs_contracting, lhs_batch),
        (y, rhs_contracting, rhs_batch),
    ):
        named = (*contracting, *batch)
        if len(set(named)) != len(named) or not all([0 <= a < aval.ndim for a in named]):
            raise TypeError(
                _axes_message(x, y, numbers, "different axes of each operand, counted from 0")
            )
    pairs = ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))
    for kind, (lhs, rhs) in zip(("contracting", "batch"), pairs, strict=True):
        if [x.shape[a] for a in lhs] != [y.shape[a] for a in rhs]:
            raise TypeError(_axes_message(x, y, numbers, f"{kind} axes of equal number and sizes"))


def _axes_message(x: Any, y: Any, numbers: Any, expected: str) -> str:
    (contracting, batch) = numbers
    return message(
        "lax.dot_general",
        given=f"{x.str_short(short_dtypes=False)} and {y.str_short(short_dtypes=False)} with "
        f"contracting axes {contracting} and batch axes {batch}",
        expected=expected,
        fix="Give dimension_numbers=((lhs contracting, rhs contracting), (lhs batch, rhs batch)).",
    )


@memoize
def product_dtype(lhs: Any, rhs: Any) -> Any:
    """The dtype of a product: of the higher kind, then of the larger size, then of wider range."""
    return max(lhs, rhs, key=_height)


def _height(dtype: Any) -> tuple[Any, ...]:
    kind = next(i for i, k in enumerate(_KINDS) if dtypes.issubdtype(dtype, k))
    bits = dtypes.itemsize_bits(dtype)
    if _KINDS[kind] is np.floating:
        return kind, bits, float(dtypes.finfo(dtype).maxexp)
    return kind, bits, dtypes.issubdtype(dtype, np.signedinteger)


def checked_preference(dtype: Any, preferred: Any) -> Any:
    """`preferred`; `TypeError` if it is an integer dtype narrower than `dtype`."""
    integers = [dtypes.issubdtype(d, np.integer) for d in (dtype, preferred)]
    if all(integers) and dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(dtype):
        raise TypeError(
            message(
                "lax.dot_general, argument preferred_element_type",
                given=f"{preferred} for a product of {dtype}",
                expected="an integer dtype that is not narrower",
                fix=f"Ask for {dtype} and convert the result.",
            )
        )
    return preferred


@memoize
def accumulator(product: Any, out: Any) -> Any:
    """The dtype to multiply and add in: wide enough for operands and result."""
    higher = product_dtype(product, out)
    return COMPUTED_IN.get(higher, higher)


def narrowed(x: Any, dtype: Any) -> Any:
    """`x` in the dtype of the result; a real one drops the imaginary part."""
    return x if x.dtype == dtype else converted(np.asarray(x), np.dtype(dtype))


def contract(x: Any, y: Any, numbers: Any) -> Any:
    """The product of operands of one dtype, by matrix products."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    if not lhs_contracting and x.dtype.kind in "iufc":
        return products_of_pairs(x, y, numbers)
    if not lhs_batch and x.ndim <= 2 and y.ndim <= 2 and len(lhs_contracting) == 1:
        left = x if lhs_contracting[0] == x.ndim - 1 else x.T
        return matrix_product(left, y if rhs_contracting[0] == 0 else y.T)
    lhs_free, rhs_free = free_axes(x.ndim, y.ndim, numbers)
    batch = [x.shape[i] for i in lhs_batch]
    rows = [x.shape[i] for i in lhs_free]
    columns = [y.shape[i] for i in rhs_free]
    terms = [x.shape[i] for i in lhs_contracting]
    left = x.transpose(*lhs_batch, *lhs_free, *lhs_contracting)
    right = y.transpose(*rhs_batch, *rhs_contracting, *rhs_free)
    count, m, n, k = (int(np.prod(sizes)) for sizes in (batch, rows, columns, terms))
    product = matrix_product(left.reshape(count, m, k), right.reshape(count, k, n))
    return product.reshape((*batch, *rows, *columns))


def products_of_pairs(x: Any, y: Any, numbers: Any) -> Any:
    """The product of operands without contracting axes: nothing is added, so −0 stays."""
    lhs_free, rhs_free = free_axes(x.ndim, y.ndim, numbers)
    _, (lhs_batch, rhs_batch) = numbers
    right = y.transpose(*rhs_batch, *rhs_free)
    batch, free = right.shape[: len(rhs_batch)], right.shape[len(rhs_batch) :]
    left = x.transpose(*lhs_batch, *lhs_free)
    left = left.reshape((*left.shape, *[1] * len(rhs_free)))
    product = np.asarray(np.multiply(left, right.reshape((*batch, *[1] * len(lhs_free), *free))))
    # NumPy has written it in the order of its operands.
    return in_order(product)


def matrix_product(x: Any, y: Any) -> Any:
    """``x @ y``, of integers of up to 32 bits in int32."""
    if x.dtype.kind in "iu":
        return _product_of_integers(x, y)
    product = np.asarray(np.matmul(x, y))
    if product.dtype.kind == "c" and not np.isfinite(product).all():
        # BLAS scales by the complex number 1, which makes NaN of an infinity.
        product.real = np.matmul(x.real, y.real) - np.matmul(x.imag, y.imag)
        product.imag = np.matmul(x.real, y.imag) + np.matmul(x.imag, y.real)
    return product


def is_large(x: tuple[int, ...], y: tuple[int, ...], numbers: Any) -> bool:
    """Whether threads of ours share each product of float matrices of operands of two shapes."""
    (lhs, _), (batch, _) = numbers
    stacked, shared = (math.prod([x[i] for i in axes]) for axes in (batch, lhs))
    return native_product is not None and math.prod(x) * math.prod(y) > LARGE * shared * stacked**2


def are_short_rows(x: tuple[int, ...], y: tuple[int, ...], numbers: Any) -> bool:
    """Whether operands of two shapes are rows of a few numbers, each for one row of the other.

    The BLAS is called for each pair of them.
    """
    (lhs, _), (batch, _) = numbers
    stacked, terms = (math.prod([x[i] for i in axes]) for axes in (batch, lhs))
    are_pairs = bool(batch) and math.prod(x) == math.prod(y) == stacked * terms
    return native_product is not None and are_pairs and terms < _SHORT_ROW


def integer_product(x: Any, y: Any, numbers: Any, out: Any) -> Callable[..., Any]:
    """The product of integer operands of two avals, modulo the number of integers of `out`."""
    wide = _in_products(out)
    is_narrow = x.dtype == y.dtype and x.dtype.itemsize < 4 == wide.itemsize and any(numbers[0])
    narrow = partial(_product_of_narrow, out.itemsize > 2)
    multiply = narrow if is_narrow and native_product else _product_of_integers
    stacked = stacked_product(x.shape, y.shape, numbers, multiply)

    def product(x: Any, y: Any) -> Any:
        if multiply is _product_of_integers:
            x, y = x.astype(wide, copy=False), y.astype(wide, copy=False)
        return narrowed(stacked(x, y), out)

    return product


def _product_of_narrow(is_wide: bool, x: Any, y: Any) -> Any:
    """``x @ y`` of stacks of integers of 8 or 16 bits, modulo 2³² if it is wide, or else 2¹⁶."""
    if len(x) == 1 and 1 in (x.shape[1], y.shape[2]):
        product = _native.narrow_product(x[0], y[0], is_wide)
        if product is not None:
            return product[None]
    return _product_of_integers(x, y)


def _product_of_integers(x: Any, y: Any) -> Any:
    """``x @ y``, modulo 2⁶⁴ if they have 64 bits, or else 2³²."""
    wide = _in_products(x.dtype)
    x, y = x.astype(wide, copy=False), y.astype(wide, copy=False)
    # NumPy multiplies floating matrices by BLAS, integer ones by a plain loop.
    is_few = x.size * y.shape[-1] <= _FEW_PRODUCTS or x.ndim != y.ndim or x.ndim == 1
    return np.asarray(np.matmul(x, y)) if is_few or not native_product else native_product(x, y)


def _in_products(dtype: Any) -> Any:
    return np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)


def stacked_product(
    x: tuple[int, ...], y: tuple[int, ...], numbers: Any, multiply: Callable[..., Any]
) -> Callable[..., Any]:
    """The product of operands of two shapes, by that of stacks of matrices (`contract`)."""
    (lhs, rhs), (lhs_batch, rhs_batch) = numbers
    if not lhs:
        return lambda x, y: products_of_pairs(x, y, numbers)
    lhs_free, rhs_free = free_axes(len(x), len(y), numbers)
    left, right = (*lhs_batch, *lhs_free, *lhs), (*rhs_batch, *rhs, *rhs_free)
    batch, rows, columns, terms = (
        [shape[i] for i in axes]
        for shape, axes in ((x, lhs_batch), (x, lhs_free), (y, rhs_free), (x, lhs))
    )
    count, m, n, k = (math.prod(sizes) for sizes in (batch, rows, columns, terms))
    shape = (*batch, *rows, *columns)

    def product(x: Any, y: Any) -> Any:
        matrices = x.transpose(left).reshape(count, m, k)
        return multiply(matrices, y.transpose(right).reshape(count, k, n)).reshape(shape)

    return product
