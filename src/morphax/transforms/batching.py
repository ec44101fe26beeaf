"""Batching: run a program on many operands at once, without a loop.

A batched value is an array with one more axis, the *batch axis*; the trace tracks where it is
(`None`: the value is the same for all members of the batch and is not a tracer of this trace).  The
rule of each primitive is staged once per signature into a fragment and spliced into the parent.

The results of a call with custom rules have a batch axis even where they are the same for all
members, for the derivative that the user defines may differ.  The trace knows of these too: they
may be returned with ``out_axes=None``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from ..core import (
    AbstractValue,
    BatchAxes,
    DebugInfo,
    Jaxpr,
    Operand,
    Param,
    Primitive,
    ShapedArray,
    StagingTrace,
    Tracer,
    aval_of,
    axis_env,
    check_closed,
    close_open,
    memoize_fragment,
    new_trace,
    without_references,
)
from ..core.axes import AxisEnv
from ..core.debug_info import unknown_function
from ..core.trace import Trace
from ..lax.ground.linear_structure import batched_first, moved_axis

if TYPE_CHECKING:
    from ..core.call_with_rules import CallWithRules

# The bit of `BatchTracer.sources` that says that members may differ.
_DIFFERS: Final = 1


@final
class SameAxis(int):
    """The batch axis of a result that is the same for all members."""

    __slots__ = ()


class BatchFragment(NamedTuple):
    """A batched program: where its results have their batch axis, and the avals of one member."""

    jaxpr: Jaxpr
    out_dims: tuple[int | None, ...]
    member_avals: tuple[Any, ...]

    @classmethod
    def of(cls, jaxpr: Jaxpr, out_dims: Sequence[int | None]) -> BatchFragment:
        """The fragment of a program whose results have these batch axes."""
        avals = zip(jaxpr.out_avals, out_dims, strict=True)
        member_avals = tuple([a if d is None else unbatched_aval(a, d) for a, d in avals])
        return cls(jaxpr, tuple(out_dims), member_avals)


def unbatched_aval(aval: ShapedArray, dim: int) -> ShapedArray:
    """The aval of one member of a batch."""
    return aval.without_axis(dim)


@final
class BatchTracer(Tracer):
    """One member, standing for all, of the batch `value` along axis `dim`.

    `sources` has bit i + 1 set if the value depends on argument i of the mapped function, and bit 0
    unless it is known to be the same for all members.
    """

    __slots__ = ("dim", "sources", "value")

    _trace: BatchTrace

    def __init__(
        self, trace: BatchTrace, value: Operand, dim: int, aval: AbstractValue, sources: int
    ) -> None:
        self._trace = trace
        self.value = value
        self.dim = dim
        self.aval = aval
        self.sources = sources

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={aval_of(self.value)})"

    def get_referent(self) -> Any:
        return self.value.get_referent() if isinstance(self.value, Tracer) else self.value

    def origin(self) -> str:
        return self._trace.describe(self)

    def dependence(self) -> str:
        return self._trace.describe_sources(self)


@final
class BatchTrace(Trace):
    """Applies each operation to whole batches.

    Args:
        parent: the trace that operations on batches go to.
        axes: the mapped axis.
        whose: tells, for error text, which function is mapped.
    """

    __slots__ = ("arguments", "axes", "whose")
    maps = passes_numbers = True
    parent: Trace

    def __init__(
        self,
        parent: Trace,
        axes: BatchAxes,
        whose: Callable[[], DebugInfo] = lambda: unknown_function,
    ) -> None:
        super().__init__(parent)
        self.axes = axes
        self.whose = whose
        # Their identities, for the tracers hold the trace: a cycle would keep batches alive.
        self.arguments: list[int] = []

    def new_argument(self, value: Operand, dim: int | None) -> Any:
        """A leaf of the arguments of the mapped function, in their order."""
        tracer = self.wrap(value, dim, _DIFFERS | 2 << len(self.arguments))
        self.arguments.append(id(tracer))
        return tracer

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        dims: list[int | None] = []
        values: list[Any] = []
        sources = 0
        batched = False
        for x in operands:
            if type(x) is BatchTracer and x._trace is self:
                batched = True
                sources |= x.sources
                dims.append(x.dim)
                values.append(x.value)
            else:
                dims.append(None)
                values.append(x)
        name = self.axes.name
        communicates = name is not None and name in primitive.axis_names(**params)
        if not batched and not communicates:
            return self.parent.process(primitive, operands, params)
        if primitive.process_batch is not None:
            return primitive.process_batch(self, operands, params)
        if communicates:
            sources |= _DIFFERS
        fragment = batch_fragment(
            primitive,
            tuple(params.items()) if params else (),
            tuple(map(aval_of, values)),
            tuple(dims),
            self.axes,
            axis_env() if communicates else None,
        )
        results = self.parent.splice(fragment.jaxpr, values)
        outs = [
            x
            if dim is None
            else BatchTracer(self, x, dim, aval, sources)
            if type(dim) is int
            else BatchTracer(self, x, int(dim), aval, sources & ~_DIFFERS)
            for x, dim, aval in zip(results, fragment.out_dims, fragment.member_avals, strict=True)
        ]
        return outs if primitive.multiple_results else outs[0]

    def process_custom_call(
        self, call: CallWithRules, operands: Sequence[Operand]
    ) -> Sequence[Any]:
        return call.batch(self, operands)

    def wrap(self, value: Operand, dim: int | None, sources: int = _DIFFERS) -> Any:
        """A batch as one member, or the value itself if it is not mapped."""
        if dim is None:
            return value
        if type(dim) is SameAxis:
            dim, sources = int(dim), sources & ~_DIFFERS
        return BatchTracer(self, value, dim, self.member_aval(aval_of(value), dim), sources)

    def member_aval(self, aval: Any, dim: Any) -> Any:
        """The aval of one member; a type that users define says what its members are."""
        return aval.dec_rank(self.axes.size, dim) if aval.is_high else unbatched_aval(aval, dim)

    def split(self, x: Operand) -> tuple[Any, int | None]:
        """Batched value and batch axis."""
        if type(x) is BatchTracer and x._trace is self:
            return x.value, x.dim
        return x, None

    def out_dim(self, x: Operand) -> int | None:
        """The batch axis of a result, a `SameAxis` if all members are known to be the same."""
        if type(x) is not BatchTracer or x._trace is not self:
            return None
        return x.dim if x.sources & _DIFFERS else SameAxis(x.dim)

    def way_to_known(self) -> str:
        return "share the argument among all members (in_axes=None)"

    def describe(self, tracer: BatchTracer) -> str:
        """A batched value in the user's words: an argument by name, or a result."""
        info = self.whose()
        place = f"the function {info.function} mapped by vmap"
        if id(tracer) not in self.arguments:
            return f"a value of one member of a batch, in {place}"
        name = info.argument_name(self.arguments.index(id(tracer)))
        return f"one member of the batch {name}, an argument of {place}"

    def describe_sources(self, tracer: BatchTracer) -> str:
        """The arguments that a result depends on, as a clause."""
        if id(tracer) in self.arguments:
            return ""
        name = self.whose().argument_name
        names = [name(i) for i in range(len(self.arguments)) if tracer.sources >> i & 2]
        if names:
            return f", which depends on {', '.join(names)},"
        return tracer.value.dependence() if isinstance(tracer.value, Tracer) else ""


@memoize_fragment
def batch_fragment(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    dims: tuple[int | None, ...],
    axes: BatchAxes,
    scope: AxisEnv | None,
) -> BatchFragment:
    """The fragment of one primitive for one signature.

    Args:
        primitive: the operation.
        params: its parameters.
        avals: of the operands.
        dims: their batch axes.
        axes: the mapped axis.
        scope: the axes in force, if the operation communicates over the mapped one; it may
            communicate over others too.
    """
    rule = primitive.batch if scope is None else primitive.collect
    # As `stage` does, whose frame would be one more where programs are nested.
    trace = StagingTrace()
    with new_trace(trace):
        operands = [trace.new_argument(aval) for aval in avals]
        outs, where = rule(axes, operands, dims, **dict(params))
        jaxpr, consts = trace.finish(list(outs) if primitive.multiple_results else [outs])
    out_dims = list(where) if primitive.multiple_results else [where]
    return BatchFragment.of(close_open(jaxpr, consts), out_dims)


def batch_jaxpr(
    jaxpr: Jaxpr,
    dims: tuple[int | None, ...],
    axes: BatchAxes,
    out_batched: tuple[bool, ...] | None = None,
) -> BatchFragment:
    """`open_batch` of a program in which no rule of the user closes over a tracer."""
    fragment = open_batch(jaxpr, dims, axes, out_batched)
    check_closed(fragment.jaxpr)
    return fragment


@memoize_fragment
def open_batch(
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

    Returns:
        The program, which is open if a rule of the user closes over a tracer.
    """
    in_avals = [
        v.aval if d is None else batched_aval(v.aval, d, axes)
        for v, d in zip(jaxpr.invars, dims, strict=True)
    ]
    # As `stage` does, whose frame would be one more where programs are nested.
    staging = StagingTrace(jaxpr.debug_info)
    with new_trace(staging):
        operands = [staging.new_argument(aval) for aval in in_avals]
        trace = BatchTrace(staging, axes)
        inputs = [trace.wrap(x, d) for x, d in zip(operands, dims, strict=True)]
        results = trace.splice(without_references(jaxpr), inputs)
        outs = [(trace.split(x)[0], trace.out_dim(x)) for x in results]
        if out_batched is not None:
            outs = [
                (batched_first(axes, x, d), 0) if must else (x, d)
                for (x, d), must in zip(outs, out_batched, strict=True)
            ]
        batched, consts = staging.finish([x for x, _ in outs])
    return BatchFragment.of(close_open(batched, consts), [d for _, d in outs])


def batched_aval(aval: Any, dim: int, axes: BatchAxes) -> Any:
    """The aval of a batch, from that of one member."""
    batch = aval.with_axis(dim, axes.size, axes.sharding)
    return batch.update(vma=batch.vma | axes.varies) if axes.varies else batch


def to_axis(axes: BatchAxes, x: Operand, dim: int | None, destination: int) -> Any:
    """A batch with its batch axis moved (or made, by repetition) at `destination`."""
    if dim is not None:
        return moved_axis(x, dim, destination)
    return moved_axis(batched_first(axes, x, None), 0, destination)
