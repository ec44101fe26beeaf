"""`with_layout_constraint`: the identity, whose result lies in memory in the order of a layout.

It speaks to the compiler, of a value within a program; a result of the program that is one lies so.
Outside of programs the array is copied into that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ... import tree
from ...array import Array
from ...core import (
    AxisFlow,
    BatchAxes,
    Layout,
    Primitive,
    ShapedArray,
    aval_of,
    like,
    same_axes,
)
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.laid_out import laid_out
from ...util.messages import described, message

_WHERE = "with_layout_constraint"


@final
class LayoutConstraint(Primitive):
    """The operand, with its axes in memory in the order of `layout`.

    Params:
        layout: a `Layout`.
    """

    name = "layout_constraint"
    linear = True

    def abstract_eval(self, x: Any, **_: Any) -> ShapedArray:
        return like(x)

    def axis_flow(self, x: Any, **_: Any) -> AxisFlow:
        return same_axes(x)

    def execute(self, x: Array, *, layout: Layout) -> Array:
        return in_memory(x, layout)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return x

    def lower(self, b: Builder, out: Any, x: Value, *, layout: Layout) -> Value:
        return constrained(b, out, x, layout)

    def transpose(self, ct: Any, x: Any, *, layout: Layout) -> list[Any]:
        return [self.bind(ct, layout=layout)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, layout: Layout
    ) -> tuple[Any, int]:
        (x,), (dim,) = operands, dims
        return self.bind(x, layout=batched_layout(layout, dim)), dim


def in_memory(x: Array, layout: Layout) -> Array:
    """An array whose elements lie as a layout says."""
    place = laid_out(x.place, layout.order(_WHERE, x.ndim))
    return x if place is x.place else x.placed(place, x.committed)


def constrained(b: Builder, out: Any, x: Value, layout: Layout) -> Value:
    """A value of a program that the compiler lays out so."""
    axes = ", ".join(map(str, reversed(layout.major_to_minor)))
    count = len(layout.major_to_minor)
    order = f"[dense<[{axes}]> : tensor<{count}xindex>]"
    return b.op(
        "stablehlo.custom_call",
        out,
        x,
        call_target_name='"LayoutConstraint"',
        operand_layouts=order,
        result_layouts=order,
    )


def batched_layout(layout: Layout, dim: int) -> Layout:
    """Members lie one after the other, each as before."""
    order = (dim, *[axis + (axis >= dim) for axis in layout.major_to_minor])
    return layout.update(major_to_minor=order)


layout_constraint_p = LayoutConstraint()


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """`x`, whose arrays the compiler lays out in memory as `layouts` says.

    Args:
        x: an array or a tree of them.
        layouts: a `Layout` for each array, or a tree of them that is a prefix of `x`.

    Returns:
        A tree like `x` of arrays with the same shapes and dtypes.

    Raises:
        ValueError: if a leaf of `layouts` is no `Layout` or not of the axes of its array, or
            `layouts` is no prefix of `x`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.layout import Layout, with_layout_constraint
        >>> f = jax.jit(lambda x: with_layout_constraint(2 * x, Layout((1, 0))).sum(1))
        >>> f(jnp.ones((2, 3)))
        Array([6., 6.], dtype=float32)
    """
    leaves, structure = tree.flatten(x)
    wanted = tree.broadcast_prefix(
        layouts,
        x,
        lambda value: value is None,
        where=_WHERE,
        prefix_name="layouts",
        full_name="x",
    )
    for leaf, layout in zip(leaves, wanted, strict=True):
        _check(layout, leaf)
    each = zip(leaves, wanted, strict=True)
    return structure.unflatten([layout_constraint_p.bind(a, layout=layout) for a, layout in each])


def _check(layout: Any, x: Any) -> None:
    where = f"{_WHERE}, argument layouts"
    if not isinstance(layout, Layout):
        raise ValueError(
            message(
                where,
                given=described(layout),
                expected="a Layout for each array",
                fix="Write Layout((1, 0)), for instance.",
            )
        )
    layout.order(where, aval_of(x).ndim)
