"""Run a program in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import morphax

SOURCE = Path(morphax.__file__).parents[1]

PREAMBLE = """
import gc, os, signal, sys, threading, time
import morphax as jax, morphax.numpy as jnp

# Jobs that a shell runs in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

def megabytes():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
"""


def run(program: str, seconds: float = 60) -> str:
    """What the program prints; an error of it fails the test."""
    environment = os.environ | {
        "PYTHONPATH": f"{SOURCE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env=environment,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
