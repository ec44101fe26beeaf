"""`jax.interpreters.batching`: rules of `vmap`.

A **batching rule** takes the operands as a sequence, their batch axes as a sequence (`not_mapped`
where an operand is the same for all members of the batch) and the parameters, and returns the
result and its batch axis (lists of them if the primitive has multiple results).

A rule in `fancy_primitive_batchers` takes before these the mapped axis, with its `size` and
`name`; one in `axis_primitive_batchers` takes size, name and a third argument that is `None`.
They also run for operands that are not mapped, where the parameters `axes`, `axis_name` or
`axis_names` of the operation hold the name of the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ..core import BatchAxes, Primitive, aval_of
from ..extend.core.rules import set_rule
from ..lax.ground.families import aligned_batch
from ..lax.ground.linear_structure import batch_reduction, batched_first
from ..transforms.batching import to_axis
from ..transforms.vmappable import register_vmappable, unregister_vmappable
from ..util.messages import message
from ..util.records import dataclass
from .rule_table import RuleTable

__all__ = [
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]

not_mapped = None


@final
@dataclass(frozen=True, slots=True)
class _Adopted:
    """A rule of the user under our calling convention; `leading` picks what it takes first."""

    rule: Callable[..., Any]
    leading: Callable[[BatchAxes], tuple[Any, ...]]

    def __call__(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> Any:
        return self.rule(*self.leading(axes), operands, dims, **params)


def _plain(axes: BatchAxes) -> tuple[Any, ...]:
    return ()


def _size_and_name(axes: BatchAxes) -> tuple[Any, ...]:
    return axes.size, axes.name, None


def _shown(primitive: Primitive) -> Callable[..., Any]:
    """A batching rule without the leading argument."""
    rule = primitive.batch
    if isinstance(rule, _Adopted) and rule.leading is _plain:
        return rule.rule

    def batcher(operands: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return rule(BatchAxes(_batch_size(operands, dims)), operands, dims, **params)

    return batcher


def _batch_size(operands: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [aval_of(x).shape[d] for x, d in zip(operands, dims, strict=True) if d is not None]
    return sizes[0]


@final
class _AxisRules:
    """`table[primitive] = rule`, for rules that take size and name of the axis."""

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        fancy_primitive_batchers[primitive] = _Adopted(rule, _size_and_name)


def _named_axes(**params: Any) -> tuple[Any, ...]:
    """Names of mapped axes among the parameters of an operation."""
    named = [params[key] for key in ("axes", "axis_name", "axis_names") if key in params]
    each = [axis for value in named for axis in (value if isinstance(value, tuple) else (value,))]
    return tuple([axis for axis in each if not isinstance(axis, int)])


primitive_batchers = RuleTable("batch", lambda rule: {"batch": _Adopted(rule, _plain)}, _shown)
fancy_primitive_batchers = RuleTable(
    "batch", lambda rule: {"batch": rule, "collect": rule, "axis_names": _named_axes}
)
axis_primitive_batchers = _AxisRules()


def defvectorized(prim: Primitive) -> None:
    """Let `prim`, which acts on each element by itself, apply to whole batches.

    All operands are mapped, along the same axis.
    """

    def batch(axes: BatchAxes, operands: Sequence[Any], dims: Any, **params: Any) -> Any:
        if len(set(dims)) > 1:
            raise ValueError(
                message(
                    f"batching of {prim}",
                    given=f"operands with the batch axes {tuple(dims)}",
                    expected="the same batch axis for all operands (defvectorized)",
                    fix="Register the primitive with defbroadcasting.",
                )
            )
        return _everywhere(prim, prim.bind(*operands, **params), dims[0])

    set_rule(prim, "batch", batch)


def defbroadcasting(prim: Primitive) -> None:
    """Like `defvectorized`, for operands that are mapped along any axis, or are not mapped.

    Operands get the shape of the batch, except those of rank 0 that are not mapped: the primitive
    takes these as they are.
    """

    def batch(axes: BatchAxes, operands: Sequence[Any], dims: Any, **params: Any) -> Any:
        if len(set(dims)) == 1:
            return _everywhere(prim, prim.bind(*operands, **params), dims[0])
        aligned = aligned_batch(axes, operands, dims)
        return _everywhere(prim, prim.bind(*aligned, **params), 0)

    set_rule(prim, "batch", batch)


def defreducer(prim: Primitive) -> None:
    """Let `prim`, which reduces the axes of its parameter `axes`, apply to batches."""

    def batch(axes_: BatchAxes, operands: Sequence[Any], dims: Any, **params: Any) -> Any:
        return batch_reduction(prim, operands[0], dims[0], **params)

    set_rule(prim, "batch", batch)


def _everywhere(prim: Primitive, outs: Any, dim: int) -> tuple[Any, Any]:
    """Results that all have their batch axis at `dim`."""
    return (outs, [dim] * len(outs)) if prim.multiple_results else (outs, dim)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any) -> Any:
    """`x`, repeated `sz` times along a new axis."""
    return to_axis(BatchAxes(sz), x, None, axis)


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """A batch of `size` members with its batch axis in front; made by repetition if not mapped.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.interpreters import batching
        >>> batching.bdim_at_front(jnp.ones((2, 5)), 1, 5).shape
        (5, 2)
    """
    return batched_first(BatchAxes(size), x, bdim)
