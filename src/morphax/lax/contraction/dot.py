"""Products of matrices, and their generalisation to any axes.

``dot_general`` sums products over pairs of *contracting* axes, for each index of pairs of *batch*
axes; the other axes are *free* (see `contraction`).

Sums of floats narrower than 32 bits are taken in float32 and rounded once.  Integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from ... import dtypes
from ...core import (
    AbstractSharding,
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    aval_of,
    is_undefined_primal,
    like,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.device import GPUS
from ...util.messages import message
from ..ground.axes import integer_tuple
from ..ground.axis_flows import contracted_axes
from ..ground.families import bilinear_jvp
from ..ground.kinds import BOOLEAN, NUMBER
from ..ground.linear_structure import transpose_p
from ..ground.out_sharding import names_along, puts_off_sums, split_beside, unsummed
from ..shape.resharding import split_as
from .matrix_products import (
    accumulator,
    are_short_rows,
    check_axes,
    checked_preference,
    contract,
    free_axes,
    integer_product,
    is_large,
    narrowed,
    native_product,
    product_dtype,
    stacked_product,
)
from .precision import (
    PrecisionLike,
    algorithm_attribute,
    canonical_precision,
    output_dtype,
    precision_attribute,
)
from .product_sizes import is_for_libraries
from .small_products import small_product

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
"""``((lhs contracting, rhs contracting), (lhs batch, rhs batch))`` axes."""

_SUMMABLE = NUMBER | BOOLEAN
# Of complex numbers it makes NaN where they are infinite (see `contraction.matrix_product`).
_BY_BLAS = frozenset(map(np.dtype, (np.float32, np.float64)))


@final
class DotGeneral(Primitive):
    """Sum of products over contracting axes, for each index of the batch axes."""

    name = "dot_general"
    linear_sets = ((0,), (1,))
    narrow_in_loops = "rounded"
    # Larger products of complex numbers are better made by a library, which loops do not call.
    most_by_loops = 1 << 12

    def size_by_loops(self, x: Any, y: Any) -> int:
        """The elements of the smaller matrix, if they are complex."""
        size: int = min(x.size, y.size)
        return size if "c" in (x.dtype.kind, y.dtype.kind) else 0

    def is_much_for_loops(
        self, x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any, **_: Any
    ) -> bool:
        """Whether a library would use several threads, or XLA's is faster."""
        return is_for_libraries(x, y, dimension_numbers, preferred_element_type or x.dtype)

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        (lhs, rhs), (lhs_batch, rhs_batch) = params["dimension_numbers"]
        lists = (list(lhs), list(rhs)), (list(lhs_batch), list(rhs_batch))
        shown = sorted((dict(params) | {"dimension_numbers": lists}).items())
        return {name: value for name, value in shown if value is not None}

    def abstract_eval(
        self,
        x: Any,
        y: Any,
        *,
        dimension_numbers: Any,
        precision: Any,
        preferred_element_type: Any,
        out_sharding: Any,
    ) -> ShapedArray:
        _SUMMABLE.check(self.name, 0, x)
        _SUMMABLE.check(self.name, 1, y)
        check_axes(x, y, dimension_numbers)
        dtype = product_dtype(x.dtype, y.dtype)
        if preferred_element_type is not None:
            dtype = checked_preference(dtype, preferred_element_type)
        (_, _), (lhs_batch, _) = dimension_numbers
        lhs_free, rhs_free = free_axes(x.ndim, y.ndim, dimension_numbers)
        shape = (
            *[x.shape[i] for i in (*lhs_batch, *lhs_free)],
            *[y.shape[i] for i in rhs_free],
        )
        return like(x, y, shape=shape, dtype=dtype, sharding=out_sharding)

    def axis_flow(self, x: Any, y: Any, *, dimension_numbers: Any, **_: Any) -> AxisFlow:
        return contracted_axes(x, y, dimension_numbers)

    def evaluate(
        self, x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any, **_: Any
    ) -> Any:
        product = product_dtype(x.dtype, y.dtype)
        out = product if preferred_element_type is None else preferred_element_type
        wide = accumulator(product, out)
        summed = contract(x.astype(wide, copy=False), y.astype(wide, copy=False), dimension_numbers)
        return np.asarray(narrowed(summed, out), order="C")

    def kernel(
        self, x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any, **_: Any
    ) -> Callable[..., Any] | None:
        # Matrices and vectors of one float dtype, as they lie, are NumPy's own product.
        (lhs, rhs), (batch, _batch) = dimension_numbers
        product = product_dtype(x.dtype, y.dtype)
        out = product if preferred_element_type is None else preferred_element_type
        if all([d.kind in "iu" for d in (x.dtype, y.dtype, out)]):
            return integer_product(x, y, dimension_numbers, out)
        alike = x.dtype == y.dtype == out
        in_order = not batch and lhs == (x.ndim - 1,) and rhs == (0,) and x.ndim <= 2 >= y.ndim
        if not alike or x.dtype not in _BY_BLAS:
            return None
        large = is_large(x.shape, y.shape, dimension_numbers)
        if in_order and not large:
            return np.dot
        is_native = large or are_short_rows(x.shape, y.shape, dimension_numbers)
        multiply = native_product if is_native else np.matmul
        return stacked_product(x.shape, y.shape, dimension_numbers, multiply)

    def lower(
        self,
        b: Builder,
        out: Any,
        x: Value,
        y: Value,
        *,
        dimension_numbers: Any,
        precision: Any,
        **_: Any,
    ) -> Value:
        if x.aval.dtype != y.aval.dtype and not _both_8_bit_floats(x.aval.dtype, y.aval.dtype):
            wide = accumulator(product_dtype(x.aval.dtype, y.aval.dtype), out.dtype)
            x, y = (b.convert(v, wide) for v in (x, y))
        if precision is None or isinstance(precision, tuple):
            if _is_summed_wider(x.aval.dtype, out.dtype) and b.module.platform in GPUS:
                x, y = (b.convert(v, out.dtype) for v in (x, y))
            small = small_product(b, out, x, y, dimension_numbers)
            if small is not None:
                return small
        dtypes_in = (x.aval.dtype, y.aval.dtype)
        result = out.update(dtype=output_dtype(precision, *dtypes_in, out.dtype))
        algorithm = algorithm_attribute(precision, *dtypes_in)
        product = b.op(
            "stablehlo.dot_general",
            result,
            x,
            y,
            dot_dimension_numbers=_dimension_attribute(dimension_numbers),
            precision_config=precision_attribute(precision),
            **({} if algorithm is None else {"algorithm": algorithm}),
        )
        return b.convert(product, out.dtype)

    def to_loops(
        self,
        b: loops.Builder,
        out: Any,
        x: loops.Value,
        y: loops.Value,
        *,
        dimension_numbers: Any,
        **_: Any,
    ) -> loops.Value:
        return loops.contraction.contracted(b, out, x, y, *dimension_numbers)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return bilinear_jvp(self, primals, tangents, params)

    def transpose(
        self, ct: Any, x: Any, y: Any, *, dimension_numbers: Any, precision: Any, **_: Any
    ) -> list[Any]:
        if is_undefined_primal(x):
            return [_transposed(ct, x.aval, y, dimension_numbers, precision, swap=False), None]
        (contracting, batch) = dimension_numbers
        swapped = (contracting[::-1], batch[::-1])
        return [None, _transposed(ct, y.aval, x, swapped, precision, swap=True)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        dimension_numbers: Any,
        out_sharding: Any,
        **params: Any,
    ) -> tuple[Any, int]:
        (contracting, batch) = dimension_numbers
        shifted = tuple(
            tuple([a + (d is not None and a >= d) for a in side])
            for sides in (contracting, batch)
            for side, d in zip(sides, dims, strict=True)
        )
        lhs_contracting, rhs_contracting, lhs_batch, rhs_batch = shifted
        if None not in dims:
            lhs_batch, rhs_batch = (dims[0], *lhs_batch), (dims[1], *rhs_batch)
        numbers = ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))
        lhs, rhs = operands
        ranks = aval_of(lhs).ndim, aval_of(rhs).ndim
        place = _position_of_batch(ranks, dims, numbers)
        split = out_sharding and out_sharding.with_axis(place, axes.sharding)
        return self.bind(*operands, dimension_numbers=numbers, out_sharding=split, **params), place


dot_general_p = DotGeneral()


def _position_of_batch(ranks: tuple[int, int], dims: Sequence[Any], numbers: Any) -> int:
    """Where the batch axis is in the result: in front, or among the free axes of its operand."""
    lhs_free, rhs_free = free_axes(*ranks, numbers)
    if None not in dims:
        return 0
    before = len(numbers[1][0])
    if dims[1] is None:
        return before + lhs_free.index(dims[0])
    return before + len(lhs_free) + rhs_free.index(dims[1])


def _transposed(ct: Any, aval: Any, other: Any, numbers: Any, precision: Any, *, swap: bool) -> Any:
    """The cotangent of one operand, of aval `aval`, given the other one.

    The dimension numbers have those of the wanted operand first; `swap` tells that it is the right
    one, whose free axes come last in `ct`.
    """
    (contracting, other_contracting), (batch, other_batch) = numbers
    free, other_free = free_axes(aval.ndim, aval_of(other).ndim, numbers)
    count = len(batch)
    start = count if swap else count + len(free)
    ct_contracting = tuple(range(start, start + len(other_free)))
    ct_batch = tuple(range(count))
    # The axes of `product` are the batch axes, the free ones, then the contracting ones in the
    # order in which they stand in the other operand.
    last = [contracting[i] for i in np.argsort(other_contracting)]
    axes = [*batch, *free, *last]
    split = split_beside(aval, ct, other)
    product = dot_general_p.bind(
        ct,
        other,
        dimension_numbers=((ct_contracting, other_free), (ct_batch, other_batch)),
        precision=precision[::-1] if swap and isinstance(precision, tuple) else precision,
        preferred_element_type=aval.dtype,
        out_sharding=split and split.permuted(axes),
    )
    order = np.argsort(axes).tolist()
    if order == list(range(aval.ndim)):
        return product
    return transpose_p.bind(product, permutation=tuple(order))


def _is_summed_wider(dtype: Any, wanted: Any) -> bool:
    """Whether numbers are converted before the products, where XLA does so on a CPU only."""
    if wanted.kind not in "fc" or dtype == wanted:
        return False
    return dtype.kind in "biu" or wanted.type(0).real.itemsize == np.dtype(np.float64).itemsize


def _both_8_bit_floats(lhs: Any, rhs: Any) -> bool:
    return all([d.itemsize == 1 and dtypes.issubdtype(d, np.floating) for d in (lhs, rhs)])


def _dimension_attribute(numbers: Any) -> str:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    return (
        f"#stablehlo.dot<lhs_batching_dimensions = {list(lhs_batch)}, "
        f"rhs_batching_dimensions = {list(rhs_batch)}, "
        f"lhs_contracting_dimensions = {list(lhs_contracting)}, "
        f"rhs_contracting_dimensions = {list(rhs_contracting)}>"
    )


def _checked_numbers(dimension_numbers: Any) -> Any:
    """Pairs of contracting and of batch axes as plain tuples, which can be hashed."""
    try:
        (contract_l, contract_r), (batch_l, batch_r) = dimension_numbers
    except (TypeError, ValueError):
        raise TypeError(
            message(
                "lax.dot_general, argument dimension_numbers",
                given=f"{dimension_numbers!r:.80}",
                expected="((contracting of lhs, of rhs), (batch of lhs, of rhs))",
                fix="Write (((1,), (0,)), ((), ())) for a product of matrices.",
            )
        ) from None
    where = "lax.dot_general, argument dimension_numbers"
    pairs = ((contract_l, contract_r), (batch_l, batch_r))
    return tuple([tuple([integer_tuple(where, side) for side in pair]) for pair in pairs])


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Sum of products over contracting axes, for each index of the batch axes.

    With contracting index k and batch index b, ``out[b, i, j] = Σₖ lhs[b, i, k] · rhs[b, k, j]``.

    Args:
        lhs: array of number or boolean dtype.
        rhs: the same; its dtype may be another one.
        dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``, each a
            sequence of axes; paired axes have equal sizes.
        precision: a `Precision`, its name, a pair of these, or a `DotAlgorithm` or its preset.
        preferred_element_type: dtype of the sum and of the result.
        out_sharding: sharding of the result.

    Returns:
        Array whose axes are the batch axes, the free axes of `lhs`, the free axes of `rhs`.

    Raises:
        TypeError: if axes do not pair up, or `preferred_element_type` is too narrow.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))
        >>> jax.lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
        (5, 2, 4)
    """
    if out_sharding is not None and not puts_off_sums(out_sharding):
        product = partial(
            dot_general,
            dimension_numbers=dimension_numbers,
            precision=precision,
            preferred_element_type=preferred_element_type,
        )
        return split_as("lax.dot_general", out_sharding, product, lhs, rhs)
    numbers, split = _checked_numbers(dimension_numbers), None
    if out_sharding is not None:
        split = _unsummed(aval_of(lhs), aval_of(rhs), numbers, out_sharding)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested(
            preferred_element_type, "lax.dot_general, argument preferred_element_type"
        )
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=numbers,
        precision=canonical_precision("lax.dot_general", precision),
        preferred_element_type=preferred_element_type,
        out_sharding=split,
    )


def _unsummed(x: Any, y: Any, numbers: Any, out_sharding: Any) -> AbstractSharding:
    """The type of a product whose sum over devices is put off."""
    check_axes(x, y, numbers)
    (contract_x, contract_y), (batch, _) = numbers
    free_x, free_y = free_axes(x.ndim, y.ndim, numbers)
    result = x.update((*[x.shape[i] for i in (*batch, *free_x)], *[y.shape[i] for i in free_y]))
    over = names_along(x, contract_x), names_along(y, contract_y)
    return unsummed("lax.dot_general", out_sharding, result, *over)
