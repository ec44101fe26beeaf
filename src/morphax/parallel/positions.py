"""Where a member stands along named axes, and how many members there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from ..core import (
    AxisFlow,
    BatchAxes,
    NoRule,
    Primitive,
    ShapedArray,
    not_differentiable,
    not_linear,
)
from ..core import axis_size as size_in_scope
from ..core.axes import named_axis
from ..engines.xla.members import position_along
from ..engines.xla.stablehlo import Builder, Value
from ..lax.elementwise.arithmetic import add, mul
from ..lax.shape.filling import iota
from .axis_names import joint_size, named_axes
from .collective import NO_MEMBERS


@final
class AxisIndex(Primitive):
    """The position of a member along the axis `axis_name`.

    Params:
        axis_name: of the axis.
        in_types: whether types say that the position varies over it.
    """

    name = "axis_index"

    evaluate = NoRule("evaluate", NO_MEMBERS)
    jvp = not_differentiable("it has no operands")
    transpose = not_linear("it has no operands")
    batch = NoRule("batch", "it has no operands")

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The name; whether types speak of the axis is seen from the type."""
        return {"axis_name": params["axis_name"]}

    def abstract_eval(self, *, axis_name: Any, in_types: bool) -> ShapedArray:
        return ShapedArray((), np.int32, vma=frozenset([axis_name] if in_types else []))

    def axis_flow(self, **_: Any) -> AxisFlow:
        return AxisFlow((), ((),))

    def lower(self, b: Builder, out: Any, *, axis_name: Any, **_: Any) -> Value:
        return position_along(b, axis_name, out)

    def axis_names(self, *, axis_name: Any, **_: Any) -> tuple[Any, ...]:
        return (axis_name,)

    def collect(
        self, batch: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **_: Any
    ) -> tuple[Any, int]:
        return iota(np.int32, batch.size), 0


axis_index_p = AxisIndex()


def axis_index(axis_name: Any) -> Any:
    """The position of this member along a named axis, as an int32.

    Args:
        axis_name: name of the axis; of several, the first counts slowest.

    Raises:
        NameError: no axis of that name is in scope.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: x + jax.lax.axis_index("i"), axis_name="i")(jnp.zeros(3))
        Array([0., 1., 2.], dtype=float32)
    """
    first, *others = named_axes("lax.axis_index", axis_name) or (None,)
    if first is None:
        return np.int32(0)
    index = _index_along(first)
    for name in others:
        index = add(mul(index, size_in_scope(name)), _index_along(name))
    return index


def _index_along(name: Any) -> Any:
    return axis_index_p.bind(axis_name=name, in_types=named_axis(name).in_types)


def axis_size(axis_name: Any) -> int:
    """The size of a named axis, or the product of the sizes of several.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> share = jax.vmap(lambda x: x / jax.lax.axis_size("i"), axis_name="i")
        >>> share(jnp.array([3.0, 6.0, 9.0]))
        Array([1., 2., 3.], dtype=float32)
    """
    return joint_size(named_axes("lax.axis_size", axis_name))
