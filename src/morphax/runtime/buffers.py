"""Between host memory and device memory.

On the CPU both are the same memory: a 64-byte aligned, C-contiguous NumPy array becomes a device
buffer without a copy, and a device buffer is read as a NumPy array without a copy.  Sharing is safe
because the memory of an `Array` is never written to after the array is made; memory that belongs to
the user is copied before it gets here.

When jaxlib is asked for the parts of a buffer, or the contents of one, it would like to use classes
of the package jax: it imports that package each time.  Where there is none, this is a search
through all folders, part by part; where there is one, it would be loaded.  So for parts, which are
asked for often, it finds a module with its own class of shardings; for contents, which are asked
for where Python has no name for a dtype, imports of jax fail at once, on this thread alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, final

import numpy as np

from ..core import Layout
from ..util import host_memory
from ..util.messages import message
from .client import device_list, exports_versioned_dlpack, extension, on_forget_clients
from .dealing import dealt, indices_here
from .failures import raise_failure, reported_by_xla
from .interruptible import awaited
from .layouts import layout_of
from .membership import is_readable, membership, own_devices
from .opaque import is_opaque, opaque_of, words_of
from .sharding import Sharding, SingleDeviceSharding
from .turns import wait_for


def to_device(host: np.ndarray[Any, Any], place: Sharding) -> Any:
    """A device buffer with the contents of `host`, sharing its memory where possible.

    Args:
        host: numbers that nobody will change.
        place: where to.
    """
    if host.dtype.type is np.void:
        host = words_of(host)
    try:
        return _put(host, _HostAval(host), place, copy=False)
    except reported_by_xla() as error:
        where = f"moving an array of {host.nbytes} bytes to {place.brief!r}"
        raise_failure(error, where)


def copied_to_device(host: np.ndarray[Any, Any], aval: Any, place: Sharding) -> Any:
    """A device buffer with a copy of the user's numbers, which have the dtype of `aval`."""
    try:
        return _put(host, aval, place, copy=True)
    except reported_by_xla() as error:
        where = f"moving an array of {host.nbytes} bytes to {place.brief!r}"
        raise_failure(error, where)


def _put(host: np.ndarray[Any, Any], aval: Any, place: Sharding, *, copy: bool) -> Any:
    layout, devices = layout_of(place, host.ndim)
    if place.num_devices == 1 and devices:
        parts = [host]
    else:
        parts = dealt(host, place)
        if len(devices) < place.num_devices:
            return _of_own_parts(parts, aval, place, copy)
    return extension().batched_device_put(aval, layout, parts, devices, True, copy, enable_x64=True)


def _of_own_parts(
    parts: Sequence[np.ndarray[Any, Any]], aval: Any, place: Sharding, copy: bool
) -> Any:
    """A buffer of which this process has some parts, one for each of its devices."""
    kind = place.memory_kind
    own = [SingleDeviceSharding(device, memory_kind=kind) for device in own_devices(place)]
    each = zip(parts, own, strict=True)
    return joined(
        [_put(part, _HostAval(part), there, copy=copy) for part, there in each], aval, place
    )


class _HostAval:
    """What jaxlib wants to know of host memory."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, host: np.ndarray[Any, Any], shape: tuple[int, ...] | None = None) -> None:
        self.shape = host.shape if shape is None else shape
        self.dtype = host.dtype
        self.weak_type = False


def to_host(buffer: Any, dtype: Any = None, place: Sharding | None = None) -> np.ndarray[Any, Any]:
    """The contents of a device buffer as a read-only NumPy array; waits for the computation.

    Args:
        buffer: to be read.
        dtype: of the elements, if they may be keys.
        place: where the buffer is, if that may be in parts.

    Raises:
        RuntimeError: if some parts are other processes'.
    """
    if membership() is not None and place is not None and not is_readable(place):
        raise RuntimeError(
            message(
                "reading an array",
                given=f"one of the shape {buffer.aval.shape} that lies on devices of several "
                "processes",
                expected="an array whose numbers this process has",
                fix="Read x.addressable_shards, gather the whole by jax.experimental."
                "multihost_utils.process_allgather(x, tiled=True), or, if a function closes over "
                "it, pass it as an argument.",
            )
        )
    try:
        if place is None or place.num_devices == 1:
            wait_for((buffer,))
            host = _seen(buffer)
        else:
            _wait_at(buffer, place)
            host = _gathered(buffer, place)
    except reported_by_xla() as error:
        raise_failure(error, "reading an array that a program computes")
    if not host.flags.c_contiguous:
        # Its elements lie in another order on the device.
        host = host_memory.aligned_copy(host)
        host.flags.writeable = False
    return opaque_of(host, dtype) if is_opaque(dtype) else host


def _seen(buffer: Any) -> np.ndarray[Any, Any]:
    """The contents of a buffer on one device; shared where it is in the memory of the host."""
    try:
        return np.asarray(memoryview(buffer))
    except BufferError:
        # Dtypes that Python does not know, other memory, failures.
        return _contents_of(buffer)


@final
class _Refusal:
    """Finds no modules, and ends the search for jax where jaxlib is asked for contents."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "jax" and getattr(_asking, "now", False):
            raise ModuleNotFoundError("jaxlib does without jax here", name=name)
        return None


_asking: Final = threading.local()


def _refuse_jax() -> None:
    """Let imports of jax fail on this thread, until the flag is taken back."""
    if _Refusal not in sys.meta_path:
        sys.meta_path.insert(0, _Refusal)
    _asking.now = "jax" not in sys.modules


_ABSENT: Final = ModuleType("absent")
_IMPLS: Final = "jax._src.sharding_impls"


@cache
def _seeming_jax() -> tuple[ModuleType, ModuleType]:
    """What jaxlib takes for jax and for its module of shardings."""
    shardings = ModuleType(_IMPLS)
    shardings.make_single_device_sharding = (  # type: ignore[attr-defined]
        extension().SingleDeviceSharding
    )
    return ModuleType("jax"), shardings


def parts_of(buffer: Any) -> list[Any]:
    """The parts of a buffer on the devices of this process, each as a buffer, in their order."""
    modules, (jax, shardings) = sys.modules, _seeming_jax()
    # Nothing is called until the modules are what they were, so no other thread sees these.
    try:
        own_jax = modules["jax"]
    except KeyError:
        own_jax = _ABSENT
    try:
        own_shardings = modules[_IMPLS]
    except KeyError:
        own_shardings = _ABSENT
    modules["jax"], modules[_IMPLS] = jax, shardings
    try:
        parts: list[Any] = buffer._arrays
        return parts
    finally:
        if own_jax is _ABSENT:
            del modules["jax"]
        else:
            modules["jax"] = own_jax
        if own_shardings is _ABSENT:
            del modules[_IMPLS]
        else:
            modules[_IMPLS] = own_shardings


def _contents_of(buffer: Any) -> np.ndarray[Any, Any]:
    """What a buffer on one device holds, shared where it is in the memory of the host."""
    _refuse_jax()
    try:
        contents: np.ndarray[Any, Any] = awaited(buffer._single_device_array_to_np_array_did_copy)[
            0
        ]
        return contents
    finally:
        _asking.now = False


def _gathered(buffer: Any, place: Sharding) -> np.ndarray[Any, Any]:
    """The whole of a buffer that lies in parts."""
    if place.is_fully_replicated:
        return _seen(parts_of(buffer)[0])
    parts = [_seen(part) for part in parts_of(buffer)]
    whole = np.empty(buffer.aval.shape, parts[0].dtype)
    for index, part in zip(indices_here(place, whole.shape), parts, strict=True):
        whole[index] = part
    whole.flags.writeable = False
    return whole


def dealt_out(buffer: Any, source: Sharding, target: Sharding) -> Any:
    """A buffer at `target`, each of whose parts is copied from parts at `source`, in host memory.

    Args:
        buffer: that lies in parts on CPUs.
        source: where it is.
        target: where to.
    """
    layout, devices = layout_of(target, len(buffer.aval.shape))
    try:
        _wait_at(buffer, source)
        pieces = _pieces(buffer, source)
        known: dict[Any, np.ndarray[Any, Any]] = {}
        for box in (boxes := _boxes(target, buffer.aval.shape)):
            if box not in known:
                known[box] = _assembled(box, pieces)
        parts = [known[box] for box in boxes]
        aval = _HostAval(parts[0], buffer.aval.shape)
        if len(devices) < target.num_devices:
            return _of_own_parts(parts, aval, target, copy=False)
        return extension().batched_device_put(aval, layout, parts, devices, True, enable_x64=True)
    except reported_by_xla() as error:
        raise_failure(error, f"moving an array to {target.brief!r}")


_Box = tuple[tuple[int, int], ...]


def _boxes(place: Sharding, shape: tuple[int, ...]) -> list[_Box]:
    """First and last plus one of each axis of what the devices of a place hold, one by one."""
    return [
        tuple([s.indices(n)[:2] for s, n in zip(index, shape, strict=True)])
        for index in indices_here(place, shape)
    ]


def _pieces(buffer: Any, place: Sharding) -> dict[_Box, np.ndarray[Any, Any]]:
    """The different parts of a buffer, without a copy."""
    parts = map(_seen, parts_of(buffer))
    return dict(zip(_boxes(place, buffer.aval.shape), parts, strict=True))


def _assembled(box: _Box, pieces: dict[_Box, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """A part of an array, from the parts that it overlaps."""
    whole = None
    for other, piece in pieces.items():
        common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, other, strict=True)]
        if all([start < stop for start, stop in common]):
            found = piece[_within(common, other)]
            if common == list(box):
                return np.ascontiguousarray(found)
            if whole is None:
                sizes = tuple([stop - start for start, stop in box])
                whole = host_memory.empty(sizes, piece.dtype)
            whole[_within(common, box)] = found
    if whole is None:
        # An array without elements.
        return np.zeros([stop - start for start, stop in box], next(iter(pieces.values())).dtype)
    return whole


def _within(part: Sequence[tuple[int, int]], box: _Box) -> tuple[slice, ...]:
    """The index of a part of an array in another, of which it is a part."""
    each = zip(part, box, strict=True)
    return tuple([slice(start - first, stop - first) for (start, stop), (first, _) in each])


def same_on_each(part: np.ndarray[Any, Any], aval: Any, place: Sharding) -> Any:
    """A buffer whose parts in this process are all the same."""
    devices = own_devices(place)
    return _of_own_parts([part] * len(devices), aval, place, copy=True)


def joined(parts: Sequence[Any], aval: Any, place: Sharding) -> Any:
    """One buffer of parts that lie on this process's devices of a place, in their order."""
    layout, _ = layout_of(place, len(aval.shape))
    return extension().ArrayImpl(aval, layout, list(parts), True, _skip_checks=True)


def wait(buffers: Sequence[Any], spread: Sequence[Any] = ()) -> None:
    """Wait until all buffers are computed; a failure of their program is raised here.

    Args:
        buffers: to be waited for.
        spread: likewise, of arrays that are `spread_here`.
    """
    try:
        wait_for(buffers, spread)
        awaited(extension().batched_block_until_ready, [*buffers, *spread])
    except reported_by_xla() as error:
        raise_failure(error, "waiting for an array that a program computes")


def _wait_at(buffer: Any, place: Sharding) -> None:
    """Wait for a buffer at a place, if Ctrl-C may come."""
    if spread_here(place):
        wait_for((), (buffer,))
    else:
        wait_for((buffer,))


def spread_here(place: Sharding) -> bool:
    """Whether arrays at a place lie in parts on CPUs of this process."""
    return membership() is None and _is_spread(place)


@cache
def _is_spread(place: Sharding) -> bool:
    return place.num_devices > 1 and place.platform == "cpu"


on_forget_clients(_is_spread.cache_clear)


def moved(buffer: Any, ndim: int, place: Sharding) -> Any:
    """A copy of a buffer on another device of the same client, or in another memory."""
    layout, _ = layout_of(place, ndim)
    devices = place.device_assignment
    copy = extension().ArrayCopySemantics.ALWAYS_COPY
    try:
        return extension().batched_copy_array_to_devices_with_sharding(
            [buffer], [device_list(*devices)], [layout], [copy]
        )[0]
    except reported_by_xla() as error:
        raise_failure(error, f"moving an array to {place.brief!r}")


def layout(buffer: Any, ndim: int) -> Layout:
    """In which order the elements of a buffer lie; of host memory (`None`), row by row."""
    known = None if buffer is None else buffer._pjrt_layout
    return Layout.row_major(ndim) if known is None else Layout.from_xla(str(known))


def to_dlpack(buffer: Any, stream: int | None, max_version: tuple[int, int] | None) -> Any:
    """A DLPack capsule that shows the memory of a buffer."""
    keywords = {"max_version": max_version} if exports_versioned_dlpack() else {}
    try:
        return extension().buffer_to_dlpack_managed_tensor(buffer, stream=stream, **keywords)
    except reported_by_xla() as error:
        raise_failure(error, "exporting an array through DLPack")


def from_dlpack(capsule: Any, device: Any, stream: int | None) -> Any:
    """A buffer that shares the memory of a DLPack capsule where it is aligned, else a copy."""
    try:
        return extension().dlpack_managed_tensor_to_buffer(capsule, device, stream)
    except reported_by_xla() as error:
        raise_failure(error, "importing an array through DLPack")
