"""Processes that tests start, none of which stays: the kernel ends them with their launcher."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import morphax
from morphax.distributed.launcher import free_port

SOURCE = Path(morphax.__file__).parents[1]
ROOT = Path(__file__).resolve().parents[2]

PREAMBLE = """
import os, signal, sys, time
import numpy as np
import morphax as jax, morphax.numpy as jnp
from morphax.experimental import multihost_utils as hosts

def initialize(**timeouts):
    jax.config.update("jax_num_cpu_devices", 1)
    # Long enough for busy machines: only those that wait in vain take so long.
    seconds = {"initialization_timeout": 60, "heartbeat_timeout_seconds": 10,
               "shutdown_timeout_seconds": 30}
    jax.distributed.initialize(**(seconds | timeouts))
    mesh = jax.make_mesh((jax.device_count(),), ("x",), (jax.sharding.AxisType.Auto,))
    return jax.process_index(), jax.NamedSharding(mesh, jax.P("x"))
"""


def environment(**more: str) -> dict[str, str]:
    """That of a process which can import morphax and the tests."""
    paths = [str(SOURCE), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | more


def launched(*arguments: str, seconds: float = 240) -> subprocess.CompletedProcess[str]:
    """What ``python -m morphax.distributed`` with some arguments has done."""
    return subprocess.run(
        [sys.executable, "-m", "morphax.distributed", *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment(),
        check=False,
    )


def started_alone(program: str, processes: int) -> list[subprocess.CompletedProcess[str]]:
    """What processes have done that nobody looks after, each running the program."""
    port = free_port()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(
                MORPHAX_COORDINATOR_ADDRESS=f"127.0.0.1:{port}",
                MORPHAX_NUM_PROCESSES=str(processes),
                MORPHAX_PROCESS_ID=str(number),
            ),
        )
        for number in range(processes)
    ]
    try:
        return [
            subprocess.CompletedProcess(p.args, p.returncode, out, error)
            for p in running
            for out, error in [p.communicate(timeout=180)]
        ]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.communicate()
