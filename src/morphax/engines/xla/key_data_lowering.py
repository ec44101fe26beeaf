"""Operations on keys that a program holds as key data, rows of words.

Such an array of keys is a *batch* of arrays of words, along the axis of the words: what moves,
repeats or selects keys does so with each word.  So the batching rule of the operation tells what to
do, and its lowering rule is never asked about an axis that it knows nothing of.  An operation that
looks into keys, or holds a program, copes by itself (`Primitive.lowers_key_data`).

Reference: docs/design/keys.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import BatchAxes, Jaxpr, Primitive, ShapedArray, stage_closed
from ...dtypes import KeyType
from ...util.memo import memoize
from .literals import held_as_key_data, physical_aval

if TYPE_CHECKING:
    from .stablehlo import Builder, Value


def takes_key_data(operands: Sequence[Value]) -> bool:
    """Whether some operands are keys held as key data; called for each equation."""
    for value in operands:
        aval = value.aval
        if type(aval) is ShapedArray and type(aval.dtype) is KeyType and held_as_key_data(aval):
            return True
    return False


def lower_on_key_data(
    b: Builder,
    primitive: Primitive,
    params: dict[str, Any],
    outs: Sequence[Any],
    operands: Sequence[Value],
) -> list[Value]:
    """Write an operation on key data for one on keys.

    Args:
        b: the block that is written.
        primitive: the operation.
        params: its parameters.
        outs: avals of its results.
        operands: of which some are keys.
    """
    keys = tuple([held_as_key_data(v.aval) for v in operands])
    words = [
        v.seen_as(physical_aval(v.aval)) if is_key else v
        for v, is_key in zip(operands, keys, strict=True)
    ]
    avals = tuple([v.aval for v in words])
    program, dims = _on_key_data(primitive, tuple(params.items()), avals, keys)
    results = b.inline(program, *words)
    return [_in_layout_of(b, *each) for each in zip(results, dims, outs, strict=True)]


@memoize
def _on_key_data(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    keys: tuple[bool, ...],
) -> tuple[Jaxpr, list[int | None]]:
    """The operation on words, and the axis of the words in each of its results."""
    dims = [len(aval.shape) - 1 if k else None for aval, k in zip(avals, keys, strict=True)]
    axes = BatchAxes(avals[keys.index(True)].shape[-1])
    out_dims: list[int | None] = []

    def function(*operands: Any) -> list[Any]:
        outs, where = primitive.batch(axes, operands, dims, **dict(params))
        out_dims.extend(where if primitive.multiple_results else [where])
        return list(outs) if primitive.multiple_results else [outs]

    return stage_closed(function, avals), out_dims


def _in_layout_of(b: Builder, x: Value, dim: int | None, out: Any) -> Value:
    """A result as `out` says: words on the last axis for keys, no such axis for anything else."""
    if dim is None:
        return x
    if not held_as_key_data(out):
        return _first(b, x, dim, out)
    last = len(out.shape)
    if dim != last:
        order = [i for i in range(last + 1) if i != dim] + [dim]
        held = physical_aval(out)
        x = b.transpose(x, held, order)
    return x.seen_as(out)


def _first(b: Builder, x: Value, dim: int, out: Any) -> Value:
    """The first member of a batch whose members are equal, for they do not depend on words."""
    return b.reshape(b.slice_along(x, dim, 0, 1), out)
