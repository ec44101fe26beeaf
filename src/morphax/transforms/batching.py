"""Batching: run a program on many operands at once, without a loop.

A batched value is an array with one more axis, the *batch axis*; the trace tracks where it is
(`None`: the value is the same for all members of the batch and is not a tracer of this trace).  The
rule of each primitive is staged once per signature into a fragment and spliced into the parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

from ..core import (
    BatchAxes,
    Jaxpr,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    aval_of,
    close,
    current_trace,
    stage,
)
from ..lax.spine import batched_first, moved_axis
from ..util.memo import memoize, memoize_if_hashable


class BatchFragment(NamedTuple):
    """A batched program, and where its results have their batch axis."""

    jaxpr: Jaxpr
    out_dims: tuple[int | None, ...]


def unbatched_aval(aval: Any, dim: int) -> ShapedArray:
    """The aval of one member of a batch."""
    shape = aval.shape
    return ShapedArray(shape[:dim] + shape[dim + 1 :], aval.dtype, aval.weak_type)


@final
class BatchTracer(Tracer):
    """One member, standing for all, of the batch `value` along axis `dim`."""

    __slots__ = ("aval", "dim", "value")

    def __init__(self, trace: BatchTrace, value: Any, dim: int) -> None:
        self._trace = trace
        self.value = value
        self.dim = dim
        self.aval = unbatched_aval(aval_of(value), dim)

    def origin(self) -> str:
        return "a value under vmap (one member of a batch)"


@final
class BatchTrace(Trace):
    """Applies each operation to whole batches."""

    __slots__ = ("axes",)
    parent: Trace

    def __init__(self, parent: Trace, axes: BatchAxes) -> None:
        super().__init__(parent)
        self.axes = axes

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        dims = tuple(
            [x.dim if type(x) is BatchTracer and x._trace is self else None for x in operands]
        )
        if not self._concerns(primitive, dims, params):
            return self.parent.process(primitive, operands, params)
        if primitive.process_batch is not None:
            return primitive.process_batch(self, operands, params)
        values = [x if d is None else x.value for x, d in zip(operands, dims, strict=True)]
        fragment = batch_fragment(
            primitive, tuple(params.items()), tuple(map(aval_of, values)), dims, self.axes
        )
        results = self.parent.splice(fragment.jaxpr, values)
        outs = [self.wrap(x, d) for x, d in zip(results, fragment.out_dims, strict=True)]
        return outs if primitive.multiple_results else outs[0]

    def _concerns(
        self, primitive: Primitive, dims: Sequence[int | None], params: dict[str, Any]
    ) -> bool:
        if any([d is not None for d in dims]):
            return True
        name = self.axes.name
        return name is not None and name in primitive.axis_names(**params)

    def wrap(self, value: Any, dim: int | None) -> Any:
        return value if dim is None else BatchTracer(self, value, dim)

    def split(self, x: Any) -> tuple[Any, int | None]:
        """Batched value and batch axis."""
        if type(x) is BatchTracer and x._trace is self:
            return x.value, x.dim
        return x, None


@memoize_if_hashable
def batch_fragment(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    dims: tuple[int | None, ...],
    axes: BatchAxes,
) -> BatchFragment:
    """The fragment of one primitive for one signature."""
    named = dict(params)
    out_dims: list[int | None] = []

    def function(*operands: Any) -> list[Any]:
        communicates = axes.name is not None and axes.name in primitive.axis_names(**named)
        rule = primitive.collect if communicates else primitive.batch
        outs, where = rule(axes, operands, dims, **named)
        out_dims.extend(where if primitive.multiple_results else [where])
        return list(outs) if primitive.multiple_results else [outs]

    jaxpr, consts = stage(function, avals)
    return BatchFragment(close(jaxpr, consts), tuple(out_dims))


@memoize
def batch_jaxpr(
    jaxpr: Jaxpr,
    dims: tuple[int | None, ...],
    axes: BatchAxes,
    out_batched: tuple[bool, ...] | None = None,
) -> BatchFragment:
    """The program that computes `jaxpr` for every member of a batch.

    Args:
        jaxpr: the program for one member.
        dims: batch axis of each operand.
        axes: size and name of the mapped axis.
        out_batched: results that must have their batch axis in front even if they do not depend on
            a batched operand; the others keep the axis that they happen to have.
    """
    out_dims: list[int | None] = []

    def function(*operands: Any) -> list[Any]:
        trace = BatchTrace(current_trace(), axes)
        inputs = [trace.wrap(x, d) for x, d in zip(operands, dims, strict=True)]
        outs = [trace.split(x) for x in trace.splice(jaxpr, inputs)]
        if out_batched is not None:
            outs = [
                (batched_first(axes, x, d), 0) if must else (x, d)
                for (x, d), must in zip(outs, out_batched, strict=True)
            ]
        out_dims.extend([d for _, d in outs])
        return [x for x, _ in outs]

    in_avals = [
        v.aval if d is None else batched_aval(v.aval, d, axes)
        for v, d in zip(jaxpr.invars, dims, strict=True)
    ]
    batched, consts = stage(function, in_avals, jaxpr.debug_info)
    return BatchFragment(close(batched, consts), tuple(out_dims))


def batched_aval(aval: Any, dim: int, axes: BatchAxes) -> ShapedArray:
    """The aval of a batch, from that of one member."""
    shape = aval.shape
    return ShapedArray((*shape[:dim], axes.size, *shape[dim:]), aval.dtype, aval.weak_type)


def to_axis(axes: BatchAxes, x: Any, dim: int | None, destination: int) -> Any:
    """A batch with its batch axis moved (or made, by repetition) at `destination`."""
    return moved_axis(batched_first(axes, x, dim), 0, destination)
