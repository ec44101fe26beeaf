"""Products of which each device of a mesh has a summand, and the sum is put off.

Where what is summed is split over an axis of the mesh, the product is Σₖ f(aₖ, bₖ) with the parts
aₖ and bₖ of the devices at place k.  So it is the sum along an axis that is split over the mesh, of
the products of parts; and of a sum types can say that it is still to be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from ..core import ShapedArray, aval_of, stage_closed
from ..lax.reduction.reductions import reduce_sum
from ..lax.shape.resharding import resharded, split_as
from ..lax.shape.shape_operations import reshape
from ..transforms.vmap import vmap
from ..util.messages import message

Split = tuple[Hashable, ...]


def product_as(where: str, out_sharding: Any, product: Callable[..., Any], *operands: Any) -> Any:
    """A product of arrays, split as the argument `out_sharding` says.

    Args:
        where: the operation, for error text.
        out_sharding: a `jax.P` over the current mesh, or a `jax.NamedSharding`.
        product: of arrays, linear in each.
        *operands: the arrays.

    Raises:
        TypeError: if a sum is to be put off over other axes than those that what is summed is
            split over, in all operands that are summed over there.
    """
    unreduced = getattr(getattr(out_sharding, "spec", out_sharding), "unreduced", None)
    if not unreduced:
        return split_as(where, out_sharding, product, *operands)
    every = [split for x in operands for split in _splits(x) if unreduced.issuperset(split)]
    splits = [split for split in dict.fromkeys(every) if split]
    untyped = [_without_types(x) for x in operands]
    (whole,) = stage_closed(lambda *given: [product(*given)], untyped).out_avals
    if frozenset([name for split in splits for name in split]) == unreduced:
        parts = _of_parts(product, splits)(*operands)
        aval = aval_of(parts)
        if aval.shape[len(splits) :] == whole.shape:
            return reduce_sum(parts, range(len(splits)), out_sharding=out_sharding)
    raise TypeError(
        message(
            f"{where}, argument out_sharding",
            given=f"{out_sharding} for {', '.join([str(aval_of(x)) for x in operands])}",
            expected="unreduced axes that are those over which what is summed is split",
            fix="Split operands alike along the axes that are summed, or leave unreduced out.",
        )
    )


def _of_parts(product: Callable[..., Any], splits: Sequence[Split]) -> Callable[..., Any]:
    """The products of parts, along a new leading axis for each of `splits`."""
    if not splits:
        return product
    inner = _of_parts(product, splits[1:])

    def function(*operands: Any) -> Any:
        axes = [_axis(x, splits[0]) for x in operands]
        parts = [x if a is None else _in_parts(x, a) for x, a in zip(operands, axes, strict=True)]
        return vmap(inner, in_axes=tuple(axes))(*parts)

    return function


def _in_parts(x: Any, axis: int) -> Any:
    """The array with an axis before `axis`, along which its parts lie on different devices."""
    aval = aval_of(x)
    split = aval.split
    count = split.mesh.parts(split.spec[axis])
    shape = (*aval.shape[:axis], count, aval.shape[axis] // count, *aval.shape[axis + 1 :])
    spec = (*split.spec[: axis + 1], (), *split.spec[axis + 1 :])
    return resharded(reshape(x, shape), replace(split, spec=spec))


def _axis(x: Any, split: Split) -> int | None:
    splits = _splits(x)
    return splits.index(split) if split in splits else None


def _splits(x: Any) -> Sequence[Split]:
    split = aval_of(x).split
    return () if split is None else split.spec


def _without_types(x: Any) -> ShapedArray:
    aval = aval_of(x)
    return ShapedArray(aval.shape, aval.dtype)
