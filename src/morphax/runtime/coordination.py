"""How a process joins others to compute with them, and leaves them.

Process 0 runs jaxlib's coordination service, at which all are registered: it keeps a table of short
texts, barriers, and who is alive.  A process that was not heard of for the heartbeat timeout counts
as dead.  jaxlib then ends all others, with a message and an abort: it can call no function of ours.
See docs/design/several-processes.md.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import sys
import time
from functools import partial
from typing import Any, NoReturn, final

from ..util.messages import message
from ..util.records import dataclass
from .client import extension, is_any_running, jaxlib_module
from .interruptible import interruptible, on_long_wait
from .membership import Membership, membership, set_membership
from .program_ledger import Ledger
from .roll_call import Address, RollCall, RollCallError, own_host, report

_WHERE = "jax.distributed.initialize"


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """How processes come together.

    Args:
        coordinator: the address of process 0.
        bound: the address that process 0 listens at.
        process: the number of this process.
        processes: how many there are.
        joining_seconds: how long to wait for all to be there.
        heartbeat_seconds: after which a process that is not heard of counts as dead.
        leaving_seconds: how long to wait for all to leave.
        partition: of the local devices, as the user numbers them.
    """

    coordinator: Address
    bound: Address
    process: int
    processes: int
    joining_seconds: int
    heartbeat_seconds: int
    leaving_seconds: int
    partition: int | None


def check_can_join() -> None:
    """Raise `RuntimeError` if it is too late to join other processes."""
    if membership() is not None:
        given = "a second call in this process"
        fix = "Call it once, or jax.distributed.shutdown() before."
    elif is_any_running():
        given = "a call after the devices were asked for"
        fix = "Call it before arrays are put on devices, jax.devices() or a compiled function."
    else:
        return
    raise RuntimeError(
        message(_WHERE, given=given, expected="to be called once, before any device is", fix=fix)
    )


def join(plan: Plan) -> None:
    """Join the other processes; returns when all are there.

    Raises:
        RuntimeError: if they do not come, or speak of another number of processes.
    """
    check_can_join()
    facts = {"num_processes": plan.processes, "jaxlib": jaxlib_module("version").__version__}
    deadline = time.monotonic() + plan.joining_seconds
    service = None
    try:
        if plan.process == 0:
            service = _serving(plan, facts, deadline)
        else:
            report(plan.coordinator, facts, plan.process, deadline)
    except RollCallError as error:
        _fail(error)
    client = extension().get_distributed_runtime_client(
        str(plan.coordinator),
        plan.process,
        init_timeout=max(math.ceil(deadline - time.monotonic()), 5),
        shutdown_timeout=plan.leaving_seconds,
        heartbeat_timeout=plan.heartbeat_seconds,
        shutdown_on_destruction=False,
        use_compression=True,
    )
    interruptible(client.connect)
    ledger = Ledger(client, plan.process)
    on_long_wait(ledger.look)
    set_membership(
        Membership(
            plan.process,
            plan.processes,
            client,
            service,
            own_host(plan.coordinator),
            math.ceil(plan.joining_seconds / 60),
            plan.partition,
            ledger,
        )
    )
    atexit.register(_leave_at_exit)


def _serving(plan: Plan, facts: dict[str, Any], deadline: float) -> Any:
    """The coordination service, begun when all processes are there, who then go on."""
    roll_call = RollCall(plan.bound, plan.processes, facts)
    roll_call.hear(deadline)
    try:
        service = extension().get_distributed_runtime_service(
            str(plan.bound),
            plan.processes,
            heartbeat_timeout=plan.heartbeat_seconds,
            cluster_register_timeout=max(math.ceil(deadline - time.monotonic()), 5),
            shutdown_timeout=plan.leaving_seconds,
        )
    except RuntimeError as error:
        failure = RollCallError(
            f"the address {plan.bound}, at which no service can be run: {error}",
            "an address of this machine, with a port that is free",
            "Choose another port.",
        )
        roll_call.answer(failure)
        raise failure from error
    roll_call.answer()
    return service


def _fail(error: RollCallError) -> NoReturn:
    raise RuntimeError(
        message(_WHERE, given=error.given, expected=error.expected, fix=error.fix)
    ) from error.__cause__


def leave(*, at_exit: bool = False) -> None:
    """Wait until all processes leave, and compute alone from then on; nothing if this one does.

    Args:
        at_exit: whether the interpreter ends, when no thread can be started.
    """
    own = membership()
    if own is None:
        return
    set_membership(None)
    on_long_wait(None)
    atexit.unregister(_leave_at_exit)
    if own.preemption is not None:
        own.preemption.shutdown()
    if at_exit:
        own.client.shutdown()
    else:
        interruptible(own.client.shutdown)
    if own.service is not None:
        own.service.shutdown()


def _leave_at_exit() -> None:
    """Leave in peace where the program has ended in peace.

    After an error the others do not come to the end, and to wait for them would keep them waiting
    for this process: it goes at once, and its absence is noticed.
    """
    own = membership()
    failed = hasattr(sys, "last_value") and not hasattr(sys, "ps1")
    if own is None or not failed:
        leave(at_exit=True)
        return
    # Their destructors would wait for the others.
    for lasting in (own.service, own.client):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(lasting))


def preemption_watch() -> Any:
    """Jaxlib's watch for the signal SIGTERM, which it catches once it is first asked for.

    Raises:
        RuntimeError: if this process computes alone.
    """
    own = membership()
    assert own is not None, "one process alone has no watch"
    if own.preemption is None:
        own.preemption = extension().create_preemption_sync_manager()
        interruptible(partial(own.preemption.initialize, own.client))
    return own.preemption
