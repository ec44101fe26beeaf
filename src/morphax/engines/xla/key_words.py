"""Operations on keys that are rows of words in a program.

Such an array of keys is a *batch* of arrays of words, along the axis of the words: what moves,
repeats or selects keys does so with each word.  So the batching rule of the operation tells what to
do, and its lowering rule is never asked about an axis that it knows nothing of.  An operation that
looks into keys, or holds a program, copes by itself (`Primitive.knows_words`).

Reference: docs/design/keys.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import BatchAxes, Jaxpr, Primitive, ShapedArray, stage_closed
from ...dtypes import KeyType
from ...util.memo import memoize
from .literals import lies_in_words, physical_aval

if TYPE_CHECKING:
    from .stablehlo import Builder, Value


def takes_words(operands: Sequence[Value]) -> bool:
    """Whether some operands are keys that are rows of words; asked for each equation."""
    for value in operands:
        aval = value.aval
        if type(aval) is ShapedArray and type(aval.dtype) is KeyType and lies_in_words(aval):
            return True
    return False


def lower_on_words(
    b: Builder,
    primitive: Primitive,
    params: dict[str, Any],
    outs: Sequence[Any],
    operands: Sequence[Value],
) -> list[Value]:
    """Write an operation on words for one on keys.

    Args:
        b: the block that is written.
        primitive: the operation.
        params: its parameters.
        outs: avals of its results.
        operands: of which some are keys.
    """
    keys = tuple([lies_in_words(v.aval) for v in operands])
    words = [
        v.seen_as(physical_aval(v.aval)) if is_key else v
        for v, is_key in zip(operands, keys, strict=True)
    ]
    avals = tuple([v.aval for v in words])
    program, dims = _on_words(primitive, tuple(params.items()), avals, keys)
    results = b.inline(program, *words)
    return [_settled(b, *each) for each in zip(results, dims, outs, strict=True)]


@memoize
def _on_words(
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


def _settled(b: Builder, x: Value, dim: int | None, out: Any) -> Value:
    """A result as `out` says: words on the last axis for keys, no such axis for anything else."""
    if dim is None:
        return x
    if not lies_in_words(out):
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
