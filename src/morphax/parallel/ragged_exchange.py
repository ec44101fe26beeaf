"""Ragged all-to-all: members send each other slices of rows, whose places and sizes are numbers.

A member has K slices, K a multiple of the number n of members: slice i goes to member ⌊i n / K⌋.
XLA has an operation for it on some platforms.  Everywhere else, and for `vmap` and derivatives,
`_delivery` says what it means: each member learns which slices come to it, and takes their rows
from the operands of all.  So the cotangent of a row that was sent to several places is the sum of
theirs, and a row that is overwritten has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from ..core import (
    AxisFlow,
    BatchAxes,
    Jaxpr,
    NamedAxis,
    ShapedArray,
    aval_of,
    axes_in_types,
    axis_env,
    close_open,
    current_trace,
    like,
    new_trace,
    stage,
    with_axes,
)
from ..core.axes import AxisEnv
from ..core.varying import varying_over
from ..engines.xla.members import mesh_axes
from ..engines.xla.stablehlo import Builder, Value, i64_matrix
from ..lax.elementwise.arithmetic import add, mul, sub
from ..lax.elementwise.bitwise import bitwise_and
from ..lax.elementwise.comparison import eq, ge, lt
from ..lax.elementwise.convert import convert
from ..lax.elementwise.selection import select
from ..lax.ground.dimension_numbers import GatherDimensionNumbers
from ..lax.ground.linear_structure import batched_first, instantiate, moved_axis
from ..lax.indexing.gather import gather
from ..lax.reduction.reductions import reduce_max
from ..lax.shape.filling import broadcasted_iota, full
from ..lax.shape.joining import stack, unstack
from ..lax.shape.shape_operations import broadcast_in_dim, reshape
from ..transforms.batching import BatchTrace
from ..transforms.flattening import check_values
from ..transforms.transposition import backward_pass
from ..util.memo import memoize
from ..util.messages import message
from .collective import Collective
from .exchange import all_to_all
from .gathering import all_gather
from .groups import Groups, communicating

_WHERE: Final = "lax.ragged_all_to_all"
_SLICES: Final = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")
_PLATFORMS_THAT_HAVE_IT: Final = ("cuda", "rocm", "tpu")


@final
class RaggedAllToAll(Collective):
    """The second operand, with the slices of the first operands that come to this member.

    Params:
        axis_name: names of the axes.
        axis_index_groups: positions of the members that communicate, `None` for all.
    """

    name = "ragged_all_to_all"
    linear = False

    def abstract_eval(self, operand: Any, output: Any, *slices: Any, **_: Any) -> ShapedArray:
        return like(output)

    def axis_flow(self, operand: Any, output: Any, *slices: Any, **_: Any) -> AxisFlow:
        row = tuple(range(1, output.ndim))
        return AxisFlow(((None, *row), (None, *row), *[(None,)] * len(slices)), ((None, *row),))

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        axes = mesh_axes(b, self.name)
        if b.module.platform in _PLATFORMS_THAT_HAVE_IT:
            groups = axes.groups(self.axis_names(**params), params["axis_index_groups"])
            channel = f"channel_id = {next(b.module.channels)} : i64"
            return b.op(
                "stablehlo.custom_call",
                out,
                *operands,
                call_target_name='"ragged_all_to_all"',
                api_version="4 : i32",
                backend_config=f"{{{channel}, replica_groups = {i64_matrix(groups)}}}",
            )
        scope = tuple(map(NamedAxis, axes.names, axes.sizes))
        avals = tuple([x.aval.update(vma=frozenset()) for x in operands])
        return b.inline(_delivery(avals, tuple(params.items()), scope), *operands)[0]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        sent, written = map(instantiate, tangents[:2])
        out = self.bind(*primals, **params)
        return out, self.bind(sent, written, *primals[2:], **params)

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> list[Any]:
        avals = tuple(map(aval_of, operands))
        program = _delivery(avals, tuple(params.items()), axis_env())
        return backward_pass(program, operands, [ct])

    def batch(
        self, batch: BatchAxes, operands: Any, dims: Any, **params: Any
    ) -> tuple[Any, int | None]:
        """Members of the batch lie one after the other; each slice is as many slices."""
        rows = [batched_first(batch, x, d) for x, d in zip(operands[:2], dims[:2], strict=True)]
        slices = zip(operands[2:], dims[2:], strict=True)
        starts, sent, places, received = [
            moved_axis(batched_first(batch, x, d), 0, 1) for x, d in slices
        ]
        starts = _further(starts, rows[0].aval.shape[1])
        places = _further(places, rows[1].aval.shape[1])
        flat = [_joined(x) for x in (*rows, starts, sent, places, received)]
        return reshape(self.bind(*flat, **params), rows[1].aval.shape), 0

    def collect(
        self, batch: BatchAxes, operands: Any, dims: Any, **params: Any
    ) -> tuple[Any, int | None]:
        trace = BatchTrace(current_trace(), batch)
        with new_trace(trace):
            members = [trace.wrap(x, dim) for x, dim in zip(operands, dims, strict=True)]
            return trace.split(_delivered(*members, **params))


ragged_all_to_all_p = RaggedAllToAll()


def _further(offsets: Any, rows: int) -> Any:
    """Offsets into the rows of each member of a batch, as offsets into those of all."""
    first = mul(broadcasted_iota(offsets.aval.dtype, offsets.aval.shape, 1), rows)
    return add(offsets, first)


def _joined(x: Any) -> Any:
    """The first two axes as one."""
    first, second, *rest = x.aval.shape
    return reshape(x, (first * second, *rest))


@memoize
def _delivery(avals: tuple[Any, ...], params: tuple[tuple[str, Any], ...], scope: AxisEnv) -> Jaxpr:
    """`_delivered` as a program, for members along the axes of `scope`."""
    with with_axes(scope):
        return close_open(*stage(lambda *xs: [_delivered(*xs, **dict(params))], avals))


def _delivered(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Groups,
) -> Any:
    """What a member has afterwards, by operations that all platforms have.

    Of the slices that come to it, in the order of those who send them, the last decides on a row.
    The sizes are those that are sent; users promise that they are those that are received.
    """
    shape, out_shape = aval_of(operand).shape, aval_of(output).shape
    if 0 in shape or 0 in out_shape:
        return output
    dtype = np.result_type(np.int32, *[aval_of(x).dtype for x in (input_offsets, output_offsets)])
    sent = stack([convert(x, dtype) for x in (input_offsets, send_sizes, output_offsets)])
    arrived = all_to_all(sent, axis_name, 1, 1, axis_index_groups=axis_index_groups, tiled=True)
    starts, sizes, places = unstack(arrived)
    everything = all_gather(operand, axis_name, axis_index_groups=axis_index_groups, tiled=True)
    source = _source(starts, sizes, places, out_shape[0], shape[0], everything.aval.shape[0])
    row = tuple(range(1, len(shape)))
    taken = gather(
        everything,
        reshape(source, (*source.aval.shape, 1)),
        GatherDimensionNumbers(row, (0,), (0,)),
        (1, *shape[1:]),
        mode="fill",
        fill_value=0,
    )
    is_written = broadcast_in_dim(ge(source, _constant(source, 0)), out_shape, (0,))
    return select(is_written, taken, output)


def _source(starts: Any, sizes: Any, places: Any, to: int, rows: int, total: int) -> Any:
    """For each of `to` rows of a result, the row of all operands that is written there, or -1.

    Args:
        starts, sizes, places: (K,), the slices that come, as many from each member: where each
            starts in the operand of its sender, its size, and where it starts in the result.
        to: rows of the result.
        rows: rows of each operand.
        total: rows of all operands.
    """
    count = starts.aval.shape[0]
    table = (to, count)

    def along(x: Any) -> Any:
        return broadcast_in_dim(x, table, (1,))

    within = sub(broadcasted_iota(starts.aval.dtype, table, 0), along(places))
    row = add(within, along(starts))
    none = _constant(row, 0)
    is_meant = bitwise_and(ge(within, none), lt(within, along(sizes)))
    exists = bitwise_and(ge(row, none), lt(row, _constant(row, rows)))
    number = broadcasted_iota(row.aval.dtype, table, 1)
    number = select(bitwise_and(is_meant, exists), number, _constant(row, -1))
    last = reduce_max(number, (1,))
    first_rows = np.repeat(np.arange(0, total, rows), count * rows // total)
    of_all = add(row, along(first_rows.astype(row.aval.dtype)))
    is_last = bitwise_and(eq(number, broadcast_in_dim(last, table, (0,))), ge(number, none))
    return reduce_max(select(is_last, of_all, _constant(row, -1)), (1,))


def _constant(x: Any, value: int) -> Any:
    return full(x.aval.shape, value, x.aval.dtype)


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> Any:
    """Exchange slices of rows, of sizes that are numbers, between the members along a named axis.

    With n members, slice i of a member, ``operand[input_offsets[i]:][:send_sizes[i]]``, goes to
    member ⌊i n / K⌋, which has it in its result from row ``output_offsets[i]`` (of the sender) on.

    Args:
        operand: array (N, ...), rows to send.
        output: array (M, ...) of the same dtype, into which the rows that arrive are written.
        input_offsets: integers (K,), where the slices start; K is a multiple of n.
        send_sizes: integers (K,), how many rows they have.
        output_offsets: integers (K,), where they start in the results of those who get them.
        recv_sizes: integers (K,), how many rows come: those of
            ``all_to_all(send_sizes, axis_name, 0, 0, tiled=True)``, which nobody checks.
        axis_name: name of the axis; of several, the first counts slowest.
        axis_index_groups: lists of positions, which part the members into groups of one size.

    Returns:
        Array (M, ...): `output` with what arrived.  Slices must lie within the arrays, which nobody
        checks; where they overlap in the result, which of them is seen depends on the platform.

    Raises:
        NameError: no axis of that name is in scope.
        TypeError: `operand` and `output` differ in dtype.
        ValueError: offsets and sizes are no integers (K,) of one K, a multiple of n; or rows of
            `operand` and `output` differ in shape.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> def exchange(x, start, size, place, received):
        ...     empty = jnp.zeros(4, x.dtype)
        ...     return jax.lax.ragged_all_to_all(
        ...         x, empty, start, size, place, received, axis_name="i"
        ...     )
        >>> x = jnp.array([[1, 2, 2], [3, 4, 0]])
        >>> start, size = jnp.array([[0, 1], [0, 1]]), jnp.array([[1, 2], [1, 1]])
        >>> place, received = jnp.array([[0, 0], [1, 2]]), jnp.array([[1, 1], [2, 1]])
        >>> jax.vmap(exchange, axis_name="i")(x, start, size, place, received)
        Array([[1, 3, 0, 0],
               [2, 2, 4, 0]], dtype=int32)
    """
    names, groups, members = communicating(_WHERE, axis_name, axis_index_groups)
    operands = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    check_values(_WHERE, lambda: ["operand", "output", *_SLICES], operands)
    _check_rows(*map(aval_of, operands[:2]))
    _check_slices([aval_of(x) for x in operands[2:]], members)
    in_types = axes_in_types(names)
    return ragged_all_to_all_p.bind(
        *[varying_over(x, in_types) for x in operands],
        axis_name=names,
        axis_index_groups=groups,
    )


def _check_rows(operand: Any, output: Any) -> None:
    if operand.dtype != output.dtype:
        raise TypeError(_refusal("output", f"{operand} and {output}", "arrays of one dtype"))
    if operand.ndim == 0 or output.ndim == 0 or operand.shape[1:] != output.shape[1:]:
        raise ValueError(
            _refusal(
                "output", f"{operand} and {output}", "rows, of one shape, along the first axis"
            )
        )


def _check_slices(avals: Sequence[Any], members: int) -> None:
    for name, aval in zip(_SLICES, avals, strict=True):
        if aval.dtype.kind not in "iu" or aval.ndim != 1:
            raise ValueError(_refusal(name, f"{aval}", "integers along one axis"))
        size = aval.shape[0]
        if size == 0 or size % members or size != avals[0].shape[0]:
            raise ValueError(
                _refusal(
                    name,
                    f"{aval}, for {members} members",
                    f"as many integers as {_SLICES[0]}, which has {avals[0].shape[0]}, and as many "
                    "for each member",
                )
            )


def _refusal(argument: str, given: str, expected: str) -> str:
    return message(
        f"{_WHERE}, argument {argument}",
        given=given,
        expected=expected,
        fix="Give a row for each thing sent, and an offset and a size for each slice.",
    )
