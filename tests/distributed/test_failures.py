"""A process that is gone, or does something else: the others say so and end, in time."""

from __future__ import annotations

import signal

import pytest

from .launching import started_alone

LOOP = """
own, rows = initialize()
x = jax.make_array_from_callback((4 * jax.device_count(),), rows, lambda i: np.ones(4, np.float32))
step = jax.jit(lambda x: x - x.mean(), out_shardings=rows)
step(x).block_until_ready()
if own == {victim}:
    signal.signal(signal.SIGALRM, lambda *_: {end})
    signal.setitimer(signal.ITIMER_REAL, 0.3)
while True:
    x = step(x)
    {wait}
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_killed_amid_a_collective(victim: int) -> None:
    done = started_alone(LOOP.format(victim=victim, end=KILL, wait="x.block_until_ready()"), 3)
    assert done[victim].returncode == -signal.SIGKILL
    for process in (p for i, p in enumerate(done) if i != victim):
        assert process.returncode not in (0, -signal.SIGKILL)
        assert "UNAVAILABLE" in process.stderr


def test_an_idle_process_when_another_goes() -> None:
    first, _ = started_alone(
        """
        own, rows = initialize(heartbeat_timeout_seconds=5)
        if own == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(100)
        """,
        2,
    )
    assert first.returncode == -signal.SIGABRT
    assert "unhealthy (stopped sending heartbeats):\n1" in first.stderr


def test_an_error_in_one_process_ends_all() -> None:
    first, second = started_alone(
        """
        own, rows = initialize(shutdown_timeout_seconds=40)
        if own == 0:
            raise ValueError("no data")
        hosts.sync_global_devices("here")
        """,
        2,
    )
    assert first.returncode == 1
    assert "ValueError: no data" in first.stderr
    assert second.returncode != 0


def test_the_signal_that_announces_the_end_is_no_end() -> None:
    first, second = started_alone(
        """
        own, rows = initialize()
        hosts.reached_preemption_sync_point(0)
        if own == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        step = 1
        while not hosts.reached_preemption_sync_point(step):
            hosts.sync_global_devices(f"{step}")
            step += 1
        print("saved", flush=True)
        """,
        2,
    )
    for process in (first, second):
        assert process.returncode == 0, process.stderr
        assert process.stdout.endswith("saved\n")


ABSENT = """
import socket
{before}
start = time.monotonic()
try:
    jax.distributed.initialize({arguments}, initialization_timeout=2)
except RuntimeError as error:
    assert time.monotonic() - start < 60
    print(error)
"""


@pytest.mark.parametrize(
    ("before", "arguments", "given"),
    [
        ("", "'127.0.0.1:1', 2, 1", "cannot be reached"),
        ("", "os.environ['MORPHAX_COORDINATOR_ADDRESS'], 3, 0", "1, 2 did not come within"),
        ("s = socket.create_server(('127.0.0.1', 0))", "f'127.0.0.1:{s.getsockname()[1]}', 2, 0",
         "cannot listen at"),
        ("s = socket.create_server(('127.0.0.1', 0))", "f'127.0.0.1:{s.getsockname()[1]}', 2, 1",
         "no answer to the roll call"),
        ("jax.devices()", "'127.0.0.1:1', 2, 1", "after the devices were asked for"),
    ],
)  # fmt: skip
def test_processes_that_cannot_join(before: str, arguments: str, given: str) -> None:
    (done,) = started_alone(ABSENT.format(before=before, arguments=arguments), 1)
    assert done.returncode == 0, done.stderr
    assert given in done.stdout
    assert "\n  expected:" in done.stdout
    assert "\n  fix:" in done.stdout


@pytest.mark.parametrize(
    ("number", "count", "given"),
    [("own", "2 + own", "num_processes 2 in process 0, and 3 in process 1"), ("0", "2", "")],
)
def test_processes_that_disagree(number: str, count: str, given: str) -> None:
    done = started_alone(
        f"""
        own = int(os.environ["MORPHAX_PROCESS_ID"])
        address = os.environ["MORPHAX_COORDINATOR_ADDRESS"]
        jax.distributed.initialize(address, {count}, {number}, initialization_timeout=12)
        """,
        2,
    )
    for process in done:
        assert process.returncode == 1
        assert "RuntimeError: jax.distributed.initialize" in process.stderr
        assert given in process.stderr


def test_processes_that_run_different_programs() -> None:
    """Each waits for the other in vain, until they find out; no other wait is taken for that."""
    done = started_alone(
        """
        from morphax.runtime import interruptible
        interruptible.long_wait_seconds = 0.5
        own, rows = initialize()
        x = jax.make_array_from_callback((4,), rows, lambda i: np.ones(2, np.float32))
        f = jax.jit(lambda x: x - x.mean())
        if own == 0:
            time.sleep(3)  # The other waits for long, but not in vain.
        f(x).block_until_ready()
        print("together", flush=True)
        if own == 0:
            f = jax.jit(lambda x: jnp.cumsum(x)[::-1])
        else:
            f = jax.jit(lambda x: x * x.sum())
        f(x).block_until_ready()
        """,
        2,
    )
    for process in done:
        assert process.stdout.endswith("together\n")
        assert process.returncode not in (0, -signal.SIGKILL)
    assert any(
        [f"in process {i}, which process {1 - i} has not" in p.stderr for i, p in enumerate(done)]
    )


def test_ctrl_c_while_a_process_waits_for_another() -> None:
    first, _ = started_alone(
        """
        own, rows = initialize()
        x = jax.make_array_from_callback((4,), rows, lambda i: np.ones(2, np.float32))
        f = jax.jit(lambda x: x - x.mean())
        f(x).block_until_ready()
        if own == 1:
            time.sleep(40)
            os._exit(0)
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        start = time.monotonic()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            f(x).block_until_ready()
        except KeyboardInterrupt:
            assert time.monotonic() - start < 30
            print("interrupted", flush=True)
            os._exit(0)
        """,
        2,
    )
    assert first.stdout.endswith("interrupted\n"), first.stderr
