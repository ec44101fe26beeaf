"""Running combination by any associative operation, in logarithmic depth.

Neighbours are combined in pairs, the half as long sequence of pairs is scanned by the same means,
which gives every other result, and one more combination gives those between.  The work is linear.

Reference: Ladner and Fischer, "Parallel prefix computation", Journal of the ACM 27 (1980).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...core import aval_of, frames_hidden
from ...errors import ShapeError
from ...util.messages import message
from ..ground.axes import canonical_axis, check_callable
from ..shape.joining import concatenate
from ..shape.shape_operations import expand_dims, reshape, rev
from ..shape.slicing import slice_in_dim

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


@frames_hidden
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Running combination ``y[i] = x[0] ∘ x[1] ∘ … ∘ x[i]`` along an axis.

    Args:
        fn: the associative operation ∘ on trees like `elems`; it gets arrays of many elements at
            once and acts on each by itself.
        elems: array or tree of arrays, of one size along `axis`.
        reverse: run from the end: ``y[i] = x[i] ∘ … ∘ x[n − 1]``, operands of ∘ in the order from
            the end.
        axis: the axis to run along, the same in all arrays.

    Returns:
        A tree like `elems`.

    Raises:
        TypeError: if `fn` is not callable.
        ValueError: if sizes along `axis` differ.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.associative_scan(jnp.add, jnp.arange(4))
        Array([0, 1, 3, 6], dtype=int32)
    """
    check_callable("lax.associative_scan, argument fn", fn)
    leaves, structure = tree.flatten(elems)
    if any(_rank(x) == 0 for x in leaves):
        raise ShapeError(
            message(
                "lax.associative_scan, argument elems",
                given=", ".join([str(aval_of(x)) for x in leaves]),
                expected="arrays with an axis to run along",
                fix="Pass the elements as one array along an axis.",
            )
        )
    axes = [canonical_axis("lax.associative_scan, argument axis", axis, _rank(x)) for x in leaves]
    sizes = {aval_of(x).shape[a] for x, a in zip(leaves, axes, strict=True)}
    if len(sizes) > 1:
        raise ShapeError(
            message(
                "lax.associative_scan, argument elems",
                given=f"sizes {sorted(sizes)} along axis {axis}",
                expected="arrays of one size along the axis",
                fix="Give all arrays the same number of elements along the axis.",
            )
        )

    def combine(x: Sequence[Any], y: Sequence[Any]) -> Sequence[Any]:
        result = fn(structure.unflatten(x), structure.unflatten(y))
        return tree.leaves(result)

    if reverse:
        leaves = [rev(x, (a,)) for x, a in zip(leaves, axes, strict=True)]
    scanned = scan_elements(combine, leaves, axes)
    if reverse:
        scanned = [rev(x, (a,)) for x, a in zip(scanned, axes, strict=True)]
    return structure.unflatten(scanned)


def _rank(x: Any) -> int:
    return int(aval_of(x).ndim)


def scan_elements(combine: Combine, elements: Sequence[Any], axes: Sequence[int]) -> Sequence[Any]:
    """Running combination of the arrays `elements`, each along its axis."""
    size = aval_of(elements[0]).shape[axes[0]] if elements else 0
    if size < 2:
        return elements

    def every_other(xs: Sequence[Any], start: int, stop: int) -> list[Any]:
        return [slice_in_dim(x, start, stop, 2, a) for x, a in zip(xs, axes, strict=True)]

    def first(xs: Sequence[Any], count: int) -> list[Any]:
        return [_first(x, count, a) for x, a in zip(xs, axes, strict=True)]

    pairs = combine(every_other(elements, 0, size - 1), every_other(elements, 1, size))
    odd = scan_elements(combine, pairs, axes)
    even = every_other(elements, 0, 1)
    if size > 2:
        between = combine(first(odd, (size - 1) // 2), every_other(elements, 2, size))
        even = [concatenate(v, a) for *v, a in zip(even, between, axes, strict=True)]
    return [_interleaved(x, y, a) for x, y, a in zip(even, odd, axes, strict=True)]


def _first(x: Any, count: int, axis: int) -> Any:
    """The first elements along an axis."""
    return x if aval_of(x).shape[axis] == count else slice_in_dim(x, 0, count, 1, axis)


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """Elements of `even` and `odd` in turn along `axis`; `even` may have one more."""
    shape = aval_of(odd).shape
    count = shape[axis]
    paired = [expand_dims(x, (axis + 1,)) for x in (_first(even, count, axis), odd)]
    sizes = (*shape[:axis], 2 * count, *shape[axis + 1 :])
    joined = reshape(concatenate(paired, axis + 1), sizes)
    if aval_of(even).shape[axis] == count:
        return joined
    return concatenate([joined, slice_in_dim(even, count, count + 1, 1, axis)], axis)
