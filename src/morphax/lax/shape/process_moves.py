"""Arrays that move between processes: by a program that all of them run, the identity."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, final

import numpy as np

from ...array import Array
from ...array.moves import BetweenProcesses
from ...core import ShapedArray, call_program
from ...engines.engine import Options, Plan
from ...engines.xla.engine import XLA
from ...runtime import buffers
from ...runtime.device import Device
from ...runtime.gspmd_sharding import Tiling, repeated_on, tiled_on
from ...runtime.layouts import tiling
from ...runtime.membership import own_devices
from ...runtime.places import Places
from ...runtime.sharding import Sharding
from ...util.memo import memoize
from ...util.messages import message
from .filling import copy_p


@final
class ProgramsBetweenProcesses(BetweenProcesses):
    """Moves by programs whose operands lie at one place, and their results at the other."""

    def moved(self, x: Array, place: Sharding) -> Any:
        source = x.place.own_memory
        devices = source.device_assignment
        target = _reordered(place, x.ndim, devices)
        (result,) = _program(x.aval, source, target).run([x], True)
        if place.device_assignment == devices:
            return result.buffer_at(target)
        # The same parts, in the order of the devices of the other place.
        parts: dict[Device, Any] = {s.device: s.data for s in result.addressable_shards}
        own = [parts[device].buffer_at(parts[device].place) for device in own_devices(place)]
        return buffers.joined(own, result.aval, place)

    def check_same(self, x: Array, place: Sharding, where: str, given: str) -> None:
        # Each process says a digest of its numbers, on each of its devices, and all compare.
        host, devices = x.to_host(), place.device_assignment
        digest = sha256(f"{host.dtype}{host.shape}".encode())
        digest.update(np.ascontiguousarray(host).reshape(-1).view(np.uint8).data)
        own = np.frombuffer(digest.digest(), np.uint32)[None]
        count = len(devices)
        row = tiled_on(devices, Tiling((count, 1), 1, tuple(range(count))))
        aval = ShapedArray((count, own.shape[1]), own.dtype)
        array = Array(aval, None, buffers.same_on_each(own, aval, row), row, True)
        rows = array.placed(repeated_on(devices), committed=True).to_host()
        differs = (rows != own).any(axis=1)
        if not differs.any():
            return
        others = [d.process_index for d, does in zip(devices, differs, strict=True) if does]
        raise AssertionError(
            message(
                where,
                given=f"{given} in process {own_devices(place)[0].process_index}, and something "
                f"else in process {min(others)}",
                expected="the same in all processes that take part",
                fix="See that all processes run the same program on the same values; of values "
                "that differ make an array by jax.make_array_from_process_local_data.",
            )
        )


def _reordered(place: Sharding, ndim: int, devices: tuple[Device, ...]) -> Sharding:
    """A place that deals out arrays of `ndim` axes as another does, with its devices in order."""
    if place.device_assignment == devices:
        return place
    parts, copies, order = tiling(place, ndim)
    numbers = [devices.index(place.device_assignment[i]) for i in order]
    return tiled_on(devices, Tiling(parts, copies, tuple(numbers)))


@memoize
def _program(aval: ShapedArray, source: Sharding, target: Sharding) -> Plan:
    places = Places((source,), (target,), source.device_assignment)
    return XLA.compile(call_program(copy_p, (aval,), {}), places, Options("device_put"))
