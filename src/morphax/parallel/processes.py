"""What programs of several processes ask of each other: `jax.experimental.multihost_utils`.

Values travel by programs on one device of each process.  Where there is one process, its values are
those of all, and nobody has to be waited for; so the functions return at once, with what they would
return among several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import tree
from ..array import Array
from ..array.assembly import make_array_from_callback
from ..array.moves import check_same_in_all
from ..core.partition_spec import PartitionSpec
from ..lax.ground.placing import device_put
from ..runtime.coordination import preemption_watch
from ..runtime.device import Device
from ..runtime.devices import default_platform, devices
from ..runtime.membership import membership
from ..runtime.mesh import Mesh
from ..runtime.named_sharding import NamedSharding
from ..util.messages import described, message


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, on each.

    Args:
        in_tree: a tree of arrays and numbers, of the same shapes in all processes; or of arrays
            over devices of several processes, which are gathered whole.
        tiled: whether to put values one after the other along their first axis; else they are
            stacked along a new one.

    Returns:
        A tree like `in_tree` of NumPy arrays, of the shape `(processes, ...)` unless `tiled`.

    Raises:
        AssertionError: if trees, shapes or dtypes differ from process to process.
        TypeError: if a leaf is an array of keys.
        ValueError: if one is an array over several processes, but `tiled` is not set.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.process_allgather({"loss": 0.5})
        {'loss': array([0.5])}
    """
    if membership() is None:
        return tree.map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)
    _check_alike(in_tree, "process_allgather")
    return tree.map(lambda x: _gathered(x, tiled), in_tree)


def _gathered(x: Any, tiled: bool) -> np.ndarray[Any, Any]:
    if isinstance(x, Array) and not x.is_fully_addressable:
        if not tiled:
            raise ValueError(
                message(
                    "process_allgather, argument tiled",
                    given=f"False for {x.aval.str_short()} over devices of several processes",
                    expected="True: what is gathered is the array itself, not one of each process",
                    fix="Pass tiled=True.",
                )
            )
        return np.asarray(_whole(x))
    rows = np.asarray(_whole(_rows(x)))
    return rows.reshape(-1, *rows.shape[2:]) if tiled and rows.ndim > 1 else rows


def _mesh() -> Mesh:
    """The first device of each process."""
    first: dict[int, Device] = {}
    for device in devices(default_platform()):
        first.setdefault(device.process_index, device)
    return Mesh([first[process] for process in sorted(first)], "process")


def _rows(x: Any) -> Array:
    """An array `(processes, ...)` of which each process brings its row."""
    host = np.asarray(x)
    mesh = _mesh()
    return make_array_from_callback(
        (mesh.size, *host.shape),
        NamedSharding(mesh, PartitionSpec("process")),
        lambda index: host[None],
    )


def _whole(x: Array) -> Array:
    """The same array, whole on each of its devices."""
    if x.is_fully_replicated:
        return x
    mesh = Mesh(list(x.sharding.device_assignment), "device")
    return device_put(x, NamedSharding(mesh, PartitionSpec()))


def _check_alike(in_tree: Any, where: str) -> None:
    """Raise `AssertionError` unless all processes have the same tree of the same avals.

    Programs for other shapes would wait for each other in vain, or mix up their numbers.
    """
    leaves, structure = tree.flatten(in_tree)
    avals = [(np.shape(leaf), str(np.asarray(leaf).dtype)) for leaf in map(_outline, leaves)]
    _check_same_text(f"{where}: {structure} of {avals}", f"{where}, argument in_tree")


def _outline(leaf: Any) -> Any:
    """An array of the shape and dtype of a leaf, which may have no numbers here."""
    if isinstance(leaf, Array) and not leaf.is_fully_addressable:
        return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)
    return leaf


def _check_same_text(text: str, where: str) -> None:
    host = np.frombuffer(text.encode(), np.uint8)
    place = NamedSharding(_mesh(), PartitionSpec())
    check_same_in_all(Array.from_host(host), place, where, text)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of one process, on all.

    Args:
        in_tree: a tree of arrays and numbers, of the same shapes in all processes.
        is_source: whether it is this process; that with the number 0 if left out.

    Returns:
        A tree like `in_tree` of NumPy arrays.

    Raises:
        AssertionError: if trees, shapes or dtypes differ from process to process.
        RuntimeError: if a leaf is an array over several processes.
        TypeError: if a leaf is an array of keys.
        ValueError: if not exactly one process is the source.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.broadcast_one_to_all([1, 2.0])
        [array(1), array(2.)]
    """
    own = membership()
    values = tree.map(np.asarray, in_tree)
    if own is None:
        return values
    _check_alike(values, "broadcast_one_to_all")
    is_this = own.process == 0 if is_source is None else bool(is_source)
    sources = np.flatnonzero(_gathered(is_this, tiled=False)).tolist()
    if len(sources) != 1:
        raise ValueError(
            message(
                "broadcast_one_to_all, argument is_source",
                given=f"true in the processes {sources}",
                expected="true in exactly one process",
                fix="Leave it out for process 0, or compare jax.process_index() with a number.",
            )
        )
    return tree.map(lambda x: _row(x, sources[0]), values)


def _row(x: Any, process: int) -> np.ndarray[Any, Any]:
    """The value of one process.

    It travels as bytes: a row is told by the sum with zeros, which takes the sign of -0 away.
    """
    host = np.asarray(Array.from_host(x))
    data = np.frombuffer(host.tobytes(), np.uint8)
    rows: Any = _rows(data)
    found = np.asarray(_whole(rows[process]))
    return np.frombuffer(found.tobytes(), host.dtype).reshape(host.shape)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values.

    NaN is not equal to itself, and so to no value of another process.

    Args:
        in_tree: a tree of arrays and numbers.
        fail_message: what the error begins with.

    Raises:
        AssertionError: in all processes, if values differ in one.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.assert_equal({"step": 3})
    """
    ours = tree.map(np.asarray, in_tree)
    first = broadcast_one_to_all(in_tree)
    equal = all(tree.leaves(tree.map(lambda a, b: bool(np.all(a == b)), ours, first)))
    if membership() is not None:
        differing = np.flatnonzero(~_gathered(equal, tiled=False)).tolist()
        if differing and equal:
            raise AssertionError(f"{fail_message}. Other values in the processes {differing}.")
    if not equal:
        raise AssertionError(f"{fail_message}. Expected: {first}; got: {ours}.")


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come to the same point.

    Args:
        name: of the point, the same in all processes.

    Raises:
        AssertionError: if processes have come to other points.
        TypeError: if `name` is no text.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.sync_global_devices("parameters are loaded")
    """
    if not isinstance(name, str):
        raise TypeError(
            message(
                "sync_global_devices, argument name",
                given=described(name),
                expected="a text",
                fix="Name the point at which processes wait for each other.",
            )
        )
    if membership() is not None:
        _check_same_text(name, "sync_global_devices, argument name")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether this is the step after which all processes save their state, to be stopped then.

    It is some steps after one of them was sent the signal SIGTERM, by which schedulers announce
    that they stop a program.  From the first call on, the signal does nothing else.  Where the
    process is alone, there is no such step.

    Args:
        step_id: the number of the step; each has to be asked for, in all processes.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.reached_preemption_sync_point(7)
        False
    """
    if membership() is None:
        return False
    return bool(preemption_watch().reached_sync_point(step_id))


class ProcessFailureError(Exception):
    """Processes have gone within a block of `live_devices`.

    Attributes:
        failed_devices: their devices.
    """

    def __init__(self, failed_devices: set[Device]) -> None:
        super().__init__(
            message(
                "live_devices",
                given=f"the processes {sorted({d.process_index for d in failed_devices})}, which "
                "have gone within the block",
                expected="the same processes at its end",
                fix="Do the work of the block again without their devices.",
            )
        )
        self.failed_devices = failed_devices


@contextmanager
def live_devices(devices: Sequence[Device]) -> Iterator[list[Device]]:
    """Context that gives those of some devices whose processes are alive.

    All these processes enter it together.  When they leave it, they make sure that none has gone.

    Args:
        devices: to choose from, some of them this process's.

    Raises:
        ProcessFailureError: if a process has gone meanwhile.
        RuntimeError: if this process is alone.
        ValueError: if no device is this process's.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import multihost_utils
        >>> with multihost_utils.live_devices(jax.devices("cpu")):
        ...     pass
        Traceback (most recent call last):
        RuntimeError: live_devices ...
          given:    a process that computes alone
          expected: ...
    """
    own = membership()
    if own is None:
        raise RuntimeError(
            message(
                "live_devices",
                given="a process that computes alone",
                expected="one of several processes",
                fix="Call jax.distributed.initialize first.",
            )
        )
    processes = sorted({device.process_index for device in devices})
    if own.process not in processes:
        raise ValueError(
            message(
                "live_devices, argument devices",
                given=f"devices of the processes {processes}",
                expected=f"some of this process, which is number {own.process}",
                fix="Add elements of jax.local_devices().",
            )
        )
    before = own.client.get_live_nodes(processes)
    yield [device for device in devices if device.process_index in before]
    after = own.client.get_live_nodes(sorted(before))
    gone = [process for process, life in before.items() if after.get(process) != life]
    if gone:
        raise ProcessFailureError({d for d in devices if d.process_index in gone})
