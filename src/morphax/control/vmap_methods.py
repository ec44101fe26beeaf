"""What `vmap` makes of calls whose insides nobody knows: `pure_callback` and `ffi_call`.

The caller says by a name what the called function can do: one call per member is always right; a
function that treats leading axes as a batch is called once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..core import BatchAxes, Operand, Param, aval_of
from ..lax.ground.linear_structure import broadcast_in_dim_p, moved_axis
from ..transforms.batching import to_axis
from ..util.messages import message
from .bodies.wiring import Parts
from .loops.scan_primitive import scan_p

Batched = tuple[list[Any], list[int | None]]


class CallOnBatches(Protocol):
    """A primitive that can do a whole batch, whose axis is in front, in one call."""

    def bind(self, *operands: Operand, **params: Param) -> Any: ...

    def params_of_batch(
        self, size: int, dims: Sequence[bool], params: dict[str, Param]
    ) -> dict[str, Param]:
        """The parameters of that call.

        Args:
            size: of the batch.
            dims: which operands have one more axis in front.
            params: of the call for one member.
        """
        ...


def batched_avals(size: int, avals: Sequence[Any]) -> tuple[Any, ...]:
    """Avals with one more axis in front; a token stays what it is."""
    return tuple([a.update(shape=(size, *a.shape)) if hasattr(a, "shape") else a for a in avals])


def one_by_one(
    primitive: CallOnBatches,
    axes: BatchAxes,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
    params: dict[str, Param],
    unroll: int = 1,
) -> Batched:
    """A call for each member of the batch, in turn."""
    mapped = [d is not None for d in dims]
    consts = [x for x, on in zip(operands, mapped, strict=True) if not on]
    slices = [moved_axis(x, d, 0) for x, d in zip(operands, dims, strict=True) if d is not None]

    def step(*values: Operand) -> list[Any]:
        same, own = iter(values[: len(consts)]), iter(values[len(consts) :])
        return primitive.bind(*[next(own if on else same) for on in mapped], **params)

    operands_by_role = Parts(consts=consts, carry=[], xs=slices)
    steps = {"length": axes.size, "reverse": False, "unroll": unroll}
    outs = scan_p.staged({"jaxpr": step}, operands_by_role, **steps)
    return outs, [0] * len(outs)


def _unrolled(
    primitive: CallOnBatches,
    axes: BatchAxes,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
    params: dict[str, Param],
) -> Batched:
    return one_by_one(primitive, axes, operands, dims, params, unroll=max(axes.size, 1))


def _at_once(prepare: Callable[[BatchAxes, Any], Any]) -> Callable[..., Batched]:
    """One call on whole batches; `prepare` makes something of operands that are not mapped."""

    def method(
        primitive: CallOnBatches,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        params: dict[str, Param],
    ) -> Batched:
        batches = [
            prepare(axes, x) if d is None else moved_axis(x, d, 0)
            for x, d in zip(operands, dims, strict=True)
        ]
        ranks = zip(batches, operands, dims, strict=True)
        grown = [d is not None or b is not x for b, x, d in ranks]
        outs = primitive.bind(*batches, **primitive.params_of_batch(axes.size, grown, params))
        return outs, [0] * len(outs)

    return method


def _with_size_one(axes: BatchAxes, x: Operand) -> Any:
    shape = aval_of(x).shape
    return broadcast_in_dim_p.bind(
        x,
        shape=(1, *shape),
        broadcast_dimensions=tuple(range(1, len(shape) + 1)),
        sharding=None,
    )


VMAP_METHODS: dict[str, Callable[..., Batched]] = {
    "sequential": one_by_one,
    "sequential_unrolled": _unrolled,
    "expand_dims": _at_once(_with_size_one),
    "broadcast_all": _at_once(lambda axes, x: to_axis(axes, x, None, 0)),
    "legacy_vectorized": _at_once(lambda axes, x: x),
}


def check_vmap_method(where: str, vmap_method: str | None) -> None:
    """Raise `ValueError` unless there is such a method; `None` leaves it open."""
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            message(
                f"{where}, argument vmap_method",
                given=repr(vmap_method),
                expected=f"one of {', '.join(map(repr, VMAP_METHODS))}, or None",
                fix="Pass 'sequential' unless the function treats leading axes as a batch.",
            )
        )


def batched_call(
    where: str,
    primitive: CallOnBatches,
    axes: BatchAxes,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
    params: dict[str, Param],
) -> Batched:
    """The batching rule of a call, by the method that its parameters name.

    Raises:
        NotImplementedError: they name none.
    """
    method = params["vmap_method"]
    if method is None:
        raise NotImplementedError(
            message(
                f"vmap of {where}",
                given="vmap_method=None",
                expected=f"one of {', '.join(map(repr, VMAP_METHODS))}",
                fix="Pass vmap_method: 'sequential' is always right, 'broadcast_all' is fast "
                "for functions that treat leading axes as a batch.",
            )
        )
    return VMAP_METHODS[method](primitive, axes, operands, dims, params)
