"""`device_put` inside programs: move arrays while a program runs.

Concrete arrays are placed at once, by `array.placement`.  Traced ones are staged as one equation
for all leaves.  A compiled program runs on one device, so the equation is the identity there:
results lie where the program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import Any, NoReturn, final

from ... import tree
from ...array import Array, placement
from ...core import (
    AxisFlow,
    BatchAxes,
    Tracer,
    aval_of,
    each_alone,
    is_undefined_primal,
    is_zero,
)
from ...engines import loops
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.annotations import sharding_attribute
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.named_sharding import NamedSharding
from ...runtime.sharding import Sharding
from ...util.messages import described, message


@final
class ArrayCopySemantics(Enum):
    """What becomes of the memory of an array that is put on a device."""

    ALWAYS_COPY = 0
    REUSE_INPUT = 1
    DONATE_INPUT = 2

    def __repr__(self) -> str:
        return str(self)


_COPY, _REUSE = ArrayCopySemantics.ALWAYS_COPY, ArrayCopySemantics.REUSE_INPUT


@final
class DevicePut(RunsOnArrays):
    """The operands, each on its device.

    Params:
        devices: a device, a sharding, a memory space or `None` (stay) for each operand.
        srcs: where each operand was, to which cotangents return.
        copy_semantics: an `ArrayCopySemantics` for each operand.
    """

    name = "device_put"
    multiple_results = True
    separate = True
    narrow_in_loops = "kept"

    def abstract_eval(self, *avals: Any, devices: Any, **_: Any) -> list[Any]:
        return [_typed(aval, place) for aval, place in zip(avals, devices, strict=True)]

    def axis_flow(self, *avals: Any, **_: Any) -> AxisFlow:
        return each_alone(*avals)._replace(changes_mesh=True)

    def runs_on(self, *, devices: Any, **_: Any) -> list[Sharding]:
        return [s for s in devices if isinstance(s, Sharding) and s.num_devices > 1]

    def execute(
        self, *operands: Array, devices: Any, srcs: Any, copy_semantics: Any
    ) -> list[Array]:
        return [
            placement.put(x, place, may_alias=False if how is _COPY else None)
            for x, place, how in zip(operands, devices, copy_semantics, strict=True)
        ]

    def lower(self, b: Builder, outs: Any, *operands: Value, devices: Any, **_: Any) -> list[Value]:
        b.module.inspections.extend([partial(_check_reached, p) for p in devices if p is not None])
        each = zip(outs, operands, devices, strict=True)
        return [_laid_out(b, out, x, place) for out, x, place in each]

    def to_loops(
        self, b: loops.Builder, outs: Any, *operands: loops.Value, devices: Any, **_: Any
    ) -> Sequence[loops.Value]:
        if any(place is not None for place in devices):
            b.refuse("it puts arrays elsewhere")
        return operands

    def jvp(
        self,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        *,
        devices: Any,
        srcs: Any,
        copy_semantics: Any,
    ) -> tuple[list[Any], list[Any]]:
        outs = self.bind(*primals, devices=devices, srcs=srcs, copy_semantics=copy_semantics)
        each = zip(tangents, devices, srcs, strict=True)
        return outs, [t if is_zero(t) else _moved(t, place, src) for t, place, src in each]

    def transpose(
        self, cts: Sequence[Any], *operands: Any, devices: Any, srcs: Any, copy_semantics: Any
    ) -> list[Any]:
        each = zip(cts, operands, devices, srcs, strict=True)
        return [
            None if is_zero(ct) or not is_undefined_primal(x) else _moved(ct, src, place)
            for ct, x, place, src in each
        ]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        devices: Any,
        **params: Any,
    ) -> tuple[list[Any], Sequence[Any]]:
        each = zip(devices, dims, operands, strict=True)
        places = [_of_batch(place, dim, axes, aval_of(x).ndim) for place, dim, x in each]
        return self.bind(*operands, devices=tuple(places), **params), dims


def _typed(aval: Any, place: Any) -> Any:
    """The aval of an array once it is at a place, or stays where it is."""
    return place.typed(aval) if isinstance(place, Sharding) else aval


def _of_batch(place: Any, dim: int | None, axes: BatchAxes, ndim: int) -> Any:
    """The place of a batch of arrays each of which is put at a place."""
    if dim is None or not isinstance(place, NamedSharding):
        return place
    along = () if axes.sharding is None else axes.sharding.spec[0]
    entries = [*place.spec, *[None] * (ndim - 1 - len(place.spec))]
    return place.update(spec=place.spec.update([*entries[:dim], along, *entries[dim:]]))


def _laid_out(b: Builder, out: Any, x: Value, place: Any) -> Value:
    """A value of a program on several devices, laid out over them as `place` says."""
    if not isinstance(place, Sharding) or place.num_devices == 1:
        return x
    text = sharding_attribute(place, len(out.shape), b.module.mesh_name)
    return b.op("sdy.sharding_constraint", out, x, sharding=text)


def _check_reached(place: Any, program: Any) -> None:
    """Raise `ValueError` unless values of a program of this sharding lie at `place`."""
    wanted = placement.sharding_of(place, program)
    if wanted.device_set != program.device_set:
        raise ValueError(
            message(
                "device_put in a compiled program, argument device",
                given=f"{place!r}, where the program runs on {program.brief!r}",
                expected="the device of the program, or all of them",
                fix="Call device_put outside of jit, or run the whole program on that device.",
            )
        )


def _moved(x: Any, place: Any, src: Any) -> Any:
    """One traced value, put on `place`."""
    return device_put_p.bind(x, devices=(place,), srcs=(src,), copy_semantics=(_REUSE,))[0]


device_put_p = DevicePut()


def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: Any = False,
    may_alias: Any = None,
) -> Any:
    """Put arrays on a device, and commit them to it.

    In a compiled program, which runs on one device, the values stay on that device.

    Args:
        x: an array, a number, or a tree of them.
        device: a device, a sharding or a `memory.Space`, or a tree of them that is a prefix of
            `x`.  `None` leaves arrays where they are, puts everything else on the default device,
            and commits nothing.
        src: where `x` is now, a tree as `device`; cotangents are returned there.
        donate: whether `x` may be deleted; a truth value or a prefix of `x`.
        may_alias: whether the result may share memory with `x`; `None` means that it may.

    Returns:
        A tree like `x` of arrays.

    Raises:
        TypeError: if a leaf of `x` is no array of numbers.
        ValueError: if `device` names no place, or is no prefix of `x`.

    Example:
        >>> import morphax as jax
        >>> x = jax.device_put(1.5, jax.devices("cpu")[0])
        >>> x, x.committed
        (Array(1.5, dtype=float32, weak_type=True), True)
    """
    leaves, structure = tree.flatten(x)
    if not any([isinstance(leaf, Tracer) for leaf in leaves]):
        return placement.device_put(x, device, src=src, donate=donate, may_alias=may_alias)
    each = placement.for_each_leaf(device, x, "device")
    devices = [placement.checked_place(place) for place in each]
    semantics = [
        _semantics(bool(given), alias)
        for given, alias in zip(
            placement.for_each_leaf(donate, x, "donate"),
            placement.for_each_leaf(may_alias, x, "may_alias"),
            strict=True,
        )
    ]
    results = device_put_p.bind(
        *leaves,
        devices=tuple(devices),
        srcs=tuple(placement.for_each_leaf(src, x, "src")),
        copy_semantics=tuple(semantics),
    )
    return structure.unflatten(results)


def _semantics(donate: bool, may_alias: bool | None) -> ArrayCopySemantics:
    if donate:
        return ArrayCopySemantics.DONATE_INPUT
    return _COPY if may_alias is False else _REUSE


def refuse_layout(where: str, layout: Any, argument: str = "out_sharding") -> NoReturn:
    """Raise because the result cannot be laid out as asked; to ignore that would be a lie.

    Raises:
        NotImplementedError: if `layout` is a sharding.
        TypeError: if it is none.
    """
    kind = NotImplementedError if hasattr(layout, "device_set") else TypeError
    raise kind(
        message(
            f"{where}, argument {argument}",
            given=described(layout),
            expected="None: results of operations lie where their operands lie",
            fix=f"Leave {argument} out, and place the result with jax.device_put.",
        )
    )
