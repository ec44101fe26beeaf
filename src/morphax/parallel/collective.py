"""The contract of operations that communicate between the members along named axes.

Under `vmap(…, axis_name="i")` all members of a batch lie in one array, so a collective over "i" is
an ordinary operation on that array: `over_batch`.  What is left, collectives over groups of members
and over several axes at once, is written in terms of that.  Where members are devices of a mesh,
the collective stays what it is, and is compiled to an operation between devices: `over_devices`.
A collective is linear unless it says otherwise, and its transpose is a collective too.  See
``docs/design/collectives.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, NoReturn

import numpy as np

from .. import tree
from ..core import (
    AxisFlow,
    BatchAxes,
    NoRule,
    Primitive,
    ShapedArray,
    aval_of,
    axes_in_types,
    current_trace,
    new_trace,
)
from ..core.axis_flow import same_axes
from ..core.varying import varying_over
from ..engines.xla.members import mesh_axes
from ..engines.xla.stablehlo import Builder, Value
from ..lax.elementwise.arithmetic import mul
from ..lax.ground.linear_structure import moved_axis, reduce_sum
from ..transforms.batching import BatchTrace
from ..transforms.flattening import check_values
from .axis_names import axis_tuple
from .groups import by_groups

NO_MEMBERS = "NumPy computes for one member; vmap replaces it before anything is computed"


class Collective(Primitive):
    """An operation of one operand over the named axes that the parameter `names_param` lists."""

    names_param: ClassVar[str] = "axis_name"
    linear = True

    evaluate = NoRule("evaluate", NO_MEMBERS)

    def lower(self, b: Builder, out: Any, x: Value, **params: Any) -> Value:
        axes = mesh_axes(b, self.name)
        groups = axes.groups(self.axis_names(**params), params.get("axis_index_groups"))
        return self.over_devices(b, out, x, groups, **params)

    def axis_flow(self, x: ShapedArray, **params: Any) -> AxisFlow:
        return same_axes(x)

    def over_devices(
        self, b: Builder, out: Any, x: Value, groups: list[list[int]], **params: Any
    ) -> Value:
        """Write the operation between the devices of each group, in the order of members."""
        self._lacks("over_devices")

    def over_batch(self, batch: BatchAxes, x: Any, dim: int | None, **params: Any) -> Any:
        """Whole batch and batch axis → result and its batch axis, for one name and no groups."""
        self._lacks("over_batch")

    def over_several(self, x: Any, names: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """What one member does, in terms of collectives over one name each."""
        self._lacks("over_several")

    def _lacks(self, method: str) -> NoReturn:
        raise AssertionError(f"the collective {self.name} defines {method}")

    def axis_names(self, **params: Any) -> tuple[Any, ...]:
        return axis_tuple(params[self.names_param])

    def collect(self, batch: BatchAxes, operands: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = operands, dims
        names = self.axis_names(**params)
        if len(names) > 1:
            return as_member(batch, x, dim, lambda m: self.over_several(m, names, params))
        groups = params.get("axis_index_groups")
        if groups is None:
            return self.over_batch(batch, x, dim, **params)
        in_one_group = params | {"axis_index_groups": None}
        return by_groups(lambda m: self.bind(m, **in_one_group), batch, x, dim, groups), 0


class AlongAxes(Collective):
    """A collective that parts axes of its operand or joins them; `axis_params` number these."""

    axis_params: ClassVar[tuple[str, ...]]

    def batch(self, batch: BatchAxes, operands: Any, dims: Any, **params: Any) -> tuple[Any, int]:
        x = moved_axis(operands[0], dims[0], 0)
        behind = {name: params[name] + 1 for name in self.axis_params}
        return self.bind(x, **params | behind), 0


def as_member(
    batch: BatchAxes, x: Any, dim: int | None, program: Callable[[Any], Any]
) -> tuple[Any, int | None]:
    """Run a program for one member on a whole batch; the result and its batch axis."""
    trace = BatchTrace(current_trace(), batch)
    with new_trace(trace):
        return trace.split(program(trace.wrap(x, dim)))


def batch_sum(batch: BatchAxes, x: Any, dim: int | None) -> Any:
    """Sum over a batch, or over as many equal members."""
    if dim is not None:
        return reduce_sum(x, (dim,))
    return mul(x, np.asarray(batch.size, aval_of(x).dtype)[()])


def map_operands(
    where: str, function: Callable[[Any], Any], x: Any, names: Iterable[Hashable] = ()
) -> Any:
    """Apply `function` to each leaf of the first argument of a collective.

    Args:
        where: the collective, for error text.
        function: of a leaf.
        x: a tree.
        names: axes over which the leaves must vary, where types say whether they do.
    """
    leaves, structure = tree.flatten(x)
    check_values(where, lambda: [f"x{tree.keystr(p)}" for p, _ in tree.leaves_with_path(x)], leaves)
    in_types = axes_in_types(names)
    return structure.unflatten([function(varying_over(leaf, in_types)) for leaf in leaves])
