"""`jax.distributed`: several processes that compute as one.

    python -m morphax.distributed --processes 4 script.py

starts a script in several processes on this machine; see docs/guide/several-processes.md.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Final

from ..array.moves import move_between_processes_by
from ..config import config
from ..lax.shape.process_moves import ProgramsBetweenProcesses
from ..runtime import coordination
from ..runtime.membership import membership
from ..runtime.roll_call import Address
from ..util.messages import described, message
from .clusters import Cluster, detected

__all__ = ["initialize", "is_initialized", "shutdown"]

_WHERE: Final = "jax.distributed.initialize"
_MISSING: Final = {
    "coordinator_address": "'host:port' of process 0, such as '10.0.0.1:1234'",
    "num_processes": "the number of processes",
    "process_id": "the number of this process",
}


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Join other processes, so that `morphax.devices` lists the devices of all of them.

    To be called before any device is asked for, in all processes; it returns when all have come.
    What is not given is found out on Slurm, Open MPI, Kubernetes, Cloud TPU, and where
    ``python -m morphax.distributed`` has started the process.

    The coordinator listens on the loopback interface if its address is one of it, and else on all
    interfaces unless `coordinator_bind_address` names one.  Whoever reaches it can disturb the
    program, so it belongs in a private network.

    Args:
        coordinator_address: ``"host:port"`` of process 0, by which the others reach it.
        num_processes: how many there are.
        process_id: the number of this one, from 0 to `num_processes` - 1.
        local_device_ids: which GPUs of the machine belong to this process, all if left out.
        cluster_detection_method: ``"slurm"``, ``"ompi"``, ``"mpi4py"``, ``"deactivate"``, …; the
            environment tells if left out.
        initialization_timeout: seconds to wait for all processes.
        heartbeat_timeout_seconds: a process that was not heard of for so long counts as dead, which
            ends all others.
        shutdown_timeout_seconds: how long a process that ends waits for the others to end.
        coordinator_bind_address: ``"host:port"`` that process 0 listens at.
        slice_index: an older name of `partition_index`.
        partition_index: numbers the part of the network that the local devices belong to.

    Raises:
        RuntimeError: if it is too late, or the processes do not come together.
        ValueError: if something is not given and cannot be found out, or makes no sense.

    Example:
        >>> import morphax as jax
        >>> jax.distributed.initialize("127.0.0.1:1234", num_processes=2, process_id=2)
        Traceback (most recent call last):
        ValueError: jax.distributed.initialize, argument process_id ...
          given:    2
          expected: a number from 0 to 1, for num_processes=2
          fix:      ...
    """
    if is_initialized():
        coordination.check_can_join()
    if slice_index is not None:
        text = "slice_index is an older name: pass partition_index, which means the same"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        partition_index = slice_index if partition_index is None else partition_index
    timeouts = {
        "initialization_timeout": initialization_timeout,
        "heartbeat_timeout_seconds": heartbeat_timeout_seconds,
        "shutdown_timeout_seconds": shutdown_timeout_seconds,
    }
    for name, seconds in timeouts.items():
        if not seconds > 0:
            raise _wrong(name, f"{seconds}", "a number of seconds above 0", "Leave it out.")
    given = Cluster(coordinator_address, num_processes, process_id, _ids(local_device_ids))
    found = detected(given, cluster_detection_method, initialization_timeout)
    for name, meaning in _MISSING.items():
        if getattr(found, name) is None:
            fix = f"Pass {name}, or start the program by: python -m morphax.distributed script.py"
            raise _wrong(name, "nothing, on no cluster that is known", meaning, fix)
    _check_numbers(found.num_processes, found.process_id)
    coordinator = _address("coordinator_address", found.coordinator_address)
    bound = coordinator_bind_address or os.environ.get("JAX_COORDINATOR_BIND_ADDRESS")
    if found.local_device_ids is not None:
        ids = ",".join(map(str, found.local_device_ids))
        config.update("jax_cuda_visible_devices", ids)
    move_between_processes_by(ProgramsBetweenProcesses())
    coordination.join(
        coordination.Plan(
            coordinator,
            _default_bound(coordinator)
            if bound is None
            else _address("coordinator_bind_address", bound),
            found.process_id,  # type: ignore[arg-type]
            found.num_processes,  # type: ignore[arg-type]
            initialization_timeout,
            heartbeat_timeout_seconds,
            shutdown_timeout_seconds,
            partition_index,
        )
    )


def shutdown() -> None:
    """Leave the other processes, once all of them do; nothing if this one computes alone.

    It is called when the program ends, unless an error ends it.

    Example:
        >>> import morphax as jax
        >>> jax.distributed.shutdown()
    """
    coordination.leave()


def is_initialized() -> bool:
    """Whether this process has joined others.

    Example:
        >>> import morphax as jax
        >>> jax.distributed.is_initialized()
        False
    """
    return membership() is not None


def _ids(given: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        return (given,) if isinstance(given, int) else tuple([int(number) for number in given])
    except (TypeError, ValueError):
        expected, fix = "a number, or several", "Pass the numbers of GPUs of this machine."
        raise _wrong("local_device_ids", described(given), expected, fix) from None


def _check_numbers(processes: Any, process: Any) -> None:
    for name, value in (("num_processes", processes), ("process_id", process)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong(name, described(value), "an int", "Pass a number.", TypeError)
    if processes < 1:
        fix = "Pass the number of processes that you start."
        raise _wrong("num_processes", f"{processes}", "at least 1", fix)
    if not 0 <= process < processes:
        expected = f"a number from 0 to {processes - 1}, for num_processes={processes}"
        raise _wrong("process_id", f"{process}", expected, "Number the processes from 0.")


def _address(name: str, text: Any) -> Address:
    host, separator, port = str(text).rpartition(":")
    if not (isinstance(text, str) and separator and host and port.isdecimal()):
        fix = "Add a port that is free on the machine of process 0."
        raise _wrong(name, described(text), "'host:port', such as '10.0.0.1:1234'", fix)
    if not 0 < int(port) < 2**16:
        raise _wrong(name, described(text), "a port from 1 to 65535", "Choose another port.")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def _default_bound(coordinator: Address) -> Address:
    return coordinator if coordinator.is_loopback else Address("::", coordinator.port)


def _wrong(
    name: str, given: str, expected: str, fix: str, kind: type[Exception] = ValueError
) -> Exception:
    where = f"{_WHERE}, argument {name}"
    return kind(message(where, given=given, expected=expected, fix=fix))
