"""Collectives over the named axes of `vmap`: sums, extremes and positions of members.

Under `vmap(…, axis_name="i")` a collective over "i" becomes an ordinary reduction over the batch
axis.  Reference: the transpose of a sum over members is again a sum over members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from .. import tree
from ..core import (
    BatchAxes,
    NoRule,
    Primitive,
    ShapedArray,
    aval_of,
    is_zero,
    not_differentiable,
    not_linear,
)
from ..core import (
    axis_size as size_in_scope,
)
from ..lax.arithmetic import div, mul
from ..lax.filling import iota
from ..lax.reductions import reduce_max, reduce_min
from ..lax.spine import instantiate, reduce_sum
from ..transforms.flattening import check_values
from ..util.messages import message

_NO_MEMBERS = "its axis is mapped by vmap, which replaces it before anything is computed"


class Collective(Primitive):
    """Combine the values of all members along named axes.

    Params:
        axes: names of the axes.
        axis_index_groups: always `None`: all members form one group.
    """

    multiple_results = True

    evaluate = NoRule("evaluate", _NO_MEMBERS)
    lower = NoRule("lower", _NO_MEMBERS)

    @staticmethod
    def over_batch(x: Any, dim: int) -> Any:
        """Combine a whole batch along its batch axis."""
        raise AssertionError("a collective defines over_batch")

    @staticmethod
    def over_equal(x: Any, size: int) -> Any:
        """Combine `size` members that all have the value `x`."""
        return x

    def abstract_eval(self, *avals: Any, **params: Any) -> Sequence[Any]:
        return avals

    def axis_names(self, *, axes: tuple[Any, ...], **_: Any) -> tuple[Any, ...]:
        return axes

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], /, **params: Any
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        return self.bind(*operands, **params), dims

    def collect(
        self,
        batch: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[int | None],
        *,
        axes: tuple[Any, ...],
        axis_index_groups: None,
    ) -> tuple[Sequence[Any], Sequence[None]]:
        outs = [
            self.over_equal(x, batch.size) if d is None else self.over_batch(x, d)
            for x, d in zip(operands, dims, strict=True)
        ]
        others = tuple([name for name in axes if name != batch.name])
        if others:
            outs = self.bind(*outs, axes=others, axis_index_groups=axis_index_groups)
        return outs, [None] * len(outs)


@final
class PSum(Collective):
    """Sum over all members."""

    name = "psum"
    linear = True

    @staticmethod
    def over_batch(x: Any, dim: int) -> Any:
        return reduce_sum(x, (dim,))

    @staticmethod
    def over_equal(x: Any, size: int) -> Any:
        return mul(x, np.asarray(size, aval_of(x).dtype)[()])

    def transpose(self, cts: Sequence[Any], *operands: Any, **params: Any) -> Sequence[Any]:
        return self.bind(*[instantiate(ct) if is_zero(ct) else ct for ct in cts], **params)  # type: ignore[no-any-return]


@final
class PMax(Collective):
    """Largest value of all members."""

    name = "pmax"
    jvp = not_differentiable("the maximum over members has no derivative rule in JAX either")
    transpose = not_linear()

    @staticmethod
    def over_batch(x: Any, dim: int) -> Any:
        return reduce_max(x, (dim,))


@final
class PMin(Collective):
    """Smallest value of all members."""

    name = "pmin"
    jvp = not_differentiable("the minimum over members has no derivative rule in JAX either")
    transpose = not_linear()

    @staticmethod
    def over_batch(x: Any, dim: int) -> Any:
        return reduce_min(x, (dim,))


@final
class AxisIndex(Primitive):
    """The position of a member along the axis `axis_name`."""

    name = "axis_index"

    evaluate = NoRule("evaluate", _NO_MEMBERS)
    lower = NoRule("lower", _NO_MEMBERS)
    jvp = not_differentiable("it has no operands")
    transpose = not_linear("it has no operands")
    batch = NoRule("batch", "it has no operands")

    def abstract_eval(self, *, axis_name: Any) -> ShapedArray:
        return ShapedArray((), np.int32)

    def axis_names(self, *, axis_name: Any) -> tuple[Any, ...]:
        return (axis_name,)

    def collect(
        self, batch: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, axis_name: Any
    ) -> tuple[Any, int]:
        return iota(np.int32, batch.size), 0


psum_p = PSum()
pmax_p = PMax()
pmin_p = PMin()
axis_index_p = AxisIndex()


def psum(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Sum of `x` over all members along a named axis.

    Args:
        x: array or tree.
        axis_name: name of the axis, or a tuple of names.
        axis_index_groups: must be `None`.

    Returns:
        The sum, the same for all members.  The sum of a Python number is its product with the
        size of the axis.

    Raises:
        NameError: no axis of that name is in scope.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
        Array([0.25, 0.75], dtype=float32)
    """
    names = _names("psum", axis_name, axis_index_groups)
    leaves, structure = tree.flatten(x)
    if all(type(leaf) in (int, float, bool) for leaf in leaves):
        return structure.unflatten([leaf * axis_size(names) for leaf in leaves])
    return _combine(psum_p, "psum", leaves, structure, names)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Mean of `x` over all members along a named axis."""
    size = axis_size(_names("pmean", axis_name, axis_index_groups))
    return tree.map(lambda total: div(total, size), psum(x, axis_name))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Largest value of `x` of all members along a named axis, element by element."""
    names = _names("pmax", axis_name, axis_index_groups)
    return _combine(pmax_p, "pmax", *tree.flatten(x), names)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Smallest value of `x` of all members along a named axis, element by element."""
    names = _names("pmin", axis_name, axis_index_groups)
    return _combine(pmin_p, "pmin", *tree.flatten(x), names)


def axis_index(axis_name: Any) -> Any:
    """The position of this member along a named axis, as an int32.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: x + jax.lax.axis_index("i"), axis_name="i")(jnp.zeros(3))
        Array([0., 1., 2.], dtype=float32)
    """
    size_in_scope(axis_name)
    return axis_index_p.bind(axis_name=axis_name)


def axis_size(axis_name: Any) -> int:
    """The size of a named axis, or the product of the sizes of several."""
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    return int(np.prod([size_in_scope(name) for name in names]))


def _names(where: str, axis_name: Any, groups: Any) -> tuple[Any, ...]:
    if groups is not None:
        raise ValueError(
            message(
                f"lax.{where}, argument axis_index_groups",
                given=f"{groups!r}",
                expected="None: under vmap all members form one group",
                fix="Split the axis in two and name the inner one.",
            )
        )
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    for name in names:
        size_in_scope(name)
    return names


def _combine(
    primitive: Collective, where: str, leaves: Sequence[Any], structure: Any, names: Sequence[Any]
) -> Any:
    label: Callable[[], Sequence[str]] = lambda: ["x"] * len(leaves)  # noqa: E731
    check_values(f"lax.{where}", label, leaves)
    return structure.unflatten(primitive.bind(*leaves, axes=tuple(names), axis_index_groups=None))
