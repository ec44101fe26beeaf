"""Products of small matrices as sums of products, for the compiler for the CPU.

XLA calls a library for each small matrix, which takes 0.1 to 0.4 µs however small it is, and whose
operands and result go through memory.  What is written here is fused with what is around it.
Measured on jaxlib 0.10.1 and 0.12, time relative to that of the library:

- one product of 4×4 to 8×8 in a loop, `_as_reduction`: 0.05 to 0.6; a Kalman filter of 4 states
  0.15 and 0.04;
- 1000 products of 4×4 to 8×8 of float32 or complex64, `_as_terms`: 0.02 to 0.6; of float64: 0.06 to
  0.9.

Other products are left as they are: those with vectors and of 3×3, which XLA writes as loops
itself; single ones outside of loops, where compiling a loop takes longer than calling a library
ever will; large ones.  Sums are taken in the order of the contracting axes, as a loop does, in the
dtype in which all products of matrices are computed, and are never -0, as those that begin with 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from ...core import ShapedArray
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import compare
from ..ground.narrow import COMPUTED_IN
from ..ground.sums import reduce_with
from .matrix_products import accumulator, free_axes, product_dtype

_LONGEST_SUM: Final = 16
_MOST_PRODUCTS: Final = 1024
"""Beyond so many the reductions of jaxlib 0.12 are calls of a library again, and slower ones."""
_WRITTEN_BY_XLA: Final = 27
"""Products of 3×3 and less, if they are real, are no call of a library but loops."""

_LONGEST_WRITTEN_SUM: Final = 8
_LARGEST_SIDE: Final = 16
_LEAST_MEMBERS: Final = 256
_LEAST_MEMBERS_IN_LOOPS: Final = 16

_COMPUTED: Final = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


@final
class _Sizes(NamedTuple):
    """How many members, rows, columns and terms there are."""

    members: int
    rows: int
    columns: int
    terms: int


def small_product(b: Builder, out: Any, x: Value, y: Value, numbers: Any) -> Value | None:
    """The general product of two operands, `None` if it is better left to the compiler.

    Args:
        b: the block that is written.
        out: aval of the result.
        x, y: the operands.
        numbers: contracting and batch axes, as in `lax.dot_general`.
    """
    module = b.module
    if not (module.may_call_kernels and module.written_for == "cpu"):
        return None
    avals = (x.aval, y.aval, out)
    if not all([aval.is_static for aval in avals]):
        return None
    wide = accumulator(product_dtype(x.aval.dtype, y.aval.dtype), out.dtype)
    if wide not in _COMPUTED or not all([_fits(aval.dtype, wide) for aval in avals]):
        return None
    (contracting, _), (batch, _) = numbers
    free = free_axes(x.aval.ndim, y.aval.ndim, numbers)
    groups = ((x, batch), (x, free[0]), (y, free[1]), (x, contracting))
    sizes = _Sizes(*[math.prod([v.aval.shape[i] for i in axes]) for v, axes in groups])
    if min(sizes.rows, sizes.columns, sizes.terms) < 2 or not sizes.members:
        return None
    count = math.prod(sizes)
    if count <= _WRITTEN_BY_XLA and wide.kind == "f":
        return None
    if module.repeats and count <= _MOST_PRODUCTS and sizes.terms <= _LONGEST_SUM:
        write = _as_reduction
    elif _are_many(sizes, repeats=module.repeats):
        write = _as_terms
    else:
        return None
    wider = out.update(dtype=wide)
    return b.convert(write(b, wider, b.convert(x, wide), b.convert(y, wide), numbers), out.dtype)


def _fits(dtype: Any, wide: Any) -> bool:
    return dtype == wide or COMPUTED_IN.get(dtype) == wide


def _are_many(sizes: _Sizes, *, repeats: bool) -> bool:
    members, rows, columns, terms = sizes
    if members < (_LEAST_MEMBERS_IN_LOOPS if repeats else _LEAST_MEMBERS):
        return False
    return terms <= _LONGEST_WRITTEN_SUM and max(rows, columns) <= _LARGEST_SIDE


def _places(x: ShapedArray, y: ShapedArray, numbers: Any) -> tuple[list[int], list[int]]:
    """For each operand, where its axes are among: batch, rows, columns, terms."""
    (x_terms, y_terms), (x_batch, y_batch) = numbers
    x_free, y_free = free_axes(x.ndim, y.ndim, numbers)
    rows = len(x_batch) + len(x_free)
    columns = range(rows, rows + len(y_free))
    x_order, y_order = [*x_batch, *x_free, *x_terms], [*y_batch, *y_free, *y_terms]
    terms = range(columns.stop, columns.stop + len(x_terms))
    x_places = [*range(rows), *terms]
    y_places = [*range(len(y_batch)), *columns, *terms]
    return (
        [x_places[x_order.index(i)] for i in range(x.ndim)],
        [y_places[y_order.index(i)] for i in range(y.ndim)],
    )


def _as_reduction(b: Builder, out: Any, x: Value, y: Value, numbers: Any) -> Value:
    """All products as one array, and its sum over the axes of terms."""
    terms = tuple([x.aval.shape[i] for i in numbers[0][0]])
    whole = out.update(shape=(*out.shape, *terms))
    factors = [
        _spread(b, v, whole, places)
        for v, places in zip((x, y), _places(x.aval, y.aval, numbers), strict=True)
    ]
    products = b.op("stablehlo.multiply", whole, *factors)
    axes = range(len(out.shape), len(whole.shape))
    return reduce_with(b, "stablehlo.add", 0, out, products, axes)


def _as_terms(b: Builder, out: Any, x: Value, y: Value, numbers: Any) -> Value:
    """An array for each term, and their sum."""
    (x_axes, y_axes), _ = numbers
    places = _places(x.aval, y.aval, numbers)
    total: Value | None = None
    for index in itertools.product(*[range(x.aval.shape[i]) for i in x_axes]):
        factors = [
            _spread(b, _at(b, v, axes, index), out, [p for p in own if p < len(out.shape)])
            for v, axes, own in zip((x, y), (x_axes, y_axes), places, strict=True)
        ]
        term = b.op("stablehlo.multiply", out, *factors)
        total = term if total is None else b.op("stablehlo.add", out, total, term)
    assert total is not None, "a product has terms"
    # As if it began with 0, which the compiler would leave out.
    scalar = out.update(shape=())
    zero = b.broadcast(b.constant(0, scalar), out, ())
    is_zero = compare(b, out.update(dtype=np.dtype(bool)), "EQ", total, zero)
    return b.op("stablehlo.select", out, is_zero, zero, total)


def _at(b: Builder, x: Value, axes: Sequence[int], index: Sequence[int]) -> Value:
    """The elements of `x` at an index along some axes."""
    shape = x.aval.shape
    start = [index[axes.index(i)] if i in axes else 0 for i in range(len(shape))]
    limit = [s + 1 if i in axes else shape[i] for i, s in enumerate(start)]
    cut = tuple([1 if i in axes else size for i, size in enumerate(shape)])
    rest = tuple([size for i, size in enumerate(shape) if i not in axes])
    whole = b.slice(x, x.aval.update(shape=cut), start, limit)
    return b.reshape(whole, x.aval.update(shape=rest))


def _spread(b: Builder, x: Value, out: Any, places: Sequence[int]) -> Value:
    """`x`, whose axes become the axes `places` of the result, repeated along the others."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    if order != list(range(len(order))):
        shape = tuple([x.aval.shape[i] for i in order])
        x = b.transpose(x, x.aval.update(shape=shape), order)
    return b.broadcast(x, out, sorted(places))
