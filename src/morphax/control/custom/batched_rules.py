"""Rules of one member run for a batch: the trace they run in, and the batch axes of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import zip_longest
from typing import Any, final

from ...core import BatchAxes, Operand, current_trace, is_zero, new_trace, set_current_trace
from ...lax.ground.linear_structure import batched_first
from ...transforms.batching import BatchTrace, SameAxis

# A context that enters the trace in which the rule of one member is run for a batch.
TraceOfMembers = Callable[[], AbstractContextManager[BatchTrace]]


@contextmanager
def trace_of_members(
    mapped: Callable[[], BatchTrace | None] | None, axes: BatchAxes
) -> Iterator[BatchTrace]:
    """Context in which the rule of one member is run for a batch.

    A rule may close over values of the mapped function, so as long as that runs its own trace is
    entered again, on top of the trace that is current now.
    """
    origin = None if mapped is None else mapped()
    if origin is None or not origin.live:
        trace = BatchTrace(current_trace(), axes)
        with new_trace(trace):
            yield trace
        return
    parent, origin.parent = origin.parent, current_trace()
    try:
        with set_current_trace(origin):
            yield origin
    finally:
        origin.parent = parent


@final
class BatchedResults:
    """Where the results of a call on batches have their batch axis: all in front, or none has one.

    They all have one if one of them has.  A result that has none gets one summed cotangent, while
    the pullback may give each member another share of it, and sums up what it gives.

    Args:
        batched: whether all results must have a batch axis.
    """

    __slots__ = ("batched", "out_dims")

    def __init__(self, batched: bool) -> None:
        self.batched = batched
        self.out_dims: Sequence[int | None] = ()

    def values(
        self, trace: BatchTrace, outs: Sequence[Any], tangents: Sequence[Operand] = ()
    ) -> list[Any]:
        """The results, or results and tangents, of one member as batches; notes their axes."""
        pairs = [trace.split(x) for x in (*outs, *[t for t in tangents if not is_zero(t)])]
        self.batched = self.batched or any([d is not None for _, d in pairs])
        if not self.batched:
            self.out_dims = (None,) * len(outs)
            return [x for x, _ in pairs]
        dims = [trace.out_dim(x) for x in outs]
        tangent_dims = [None if is_zero(t) else trace.out_dim(t) for t in tangents]
        differs = [int in (type(d), type(t)) for d, t in zip_longest(dims, tangent_dims)]
        self.out_dims = tuple([0 if on else SameAxis(0) for on in differs])
        return [batched_first(trace.axes, x, d) for x, d in pairs]
