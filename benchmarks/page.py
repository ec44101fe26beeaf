"""The page of the documentation that shows a run."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import date
from pathlib import Path

_INTRODUCTION = """# Measured

`make bench` runs the same programs in morphax and in JAX on the same jaxlib, and writes this page's
tables and picture.  Each figure comes from processes of their own, started in turn (A B A B …): the
shortest of many repetitions in each, then the median over the processes.  The ratio is morphax to
JAX, so below 1 is ahead; lines where we are behind say so, and promises are those that we set
ourselves.  NumPy and PyTorch, where they can do the same, run eagerly.

{machine}

![Ratios to JAX as bars]({picture})
"""

_VERSIONS = (
    "import sys; from importlib.metadata import version; "
    "print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))"
)


def versions(python: str, *packages: str) -> str:
    """Names and versions of packages that an interpreter has."""
    done = subprocess.run(
        [python, "-c", _VERSIONS, *packages], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def introduction(pythons: Mapping[str, str], rounds: int, picture: Path) -> str:
    """What stands above the tables."""
    packages = [versions(pythons["jax"], "jax", "jaxlib", "numpy")]
    if "torch" in pythons:
        packages.append(versions(pythons["torch"], "torch"))
    machine = (
        f"This run: {date.today():%d %B %Y}, {', '.join(packages)}, Python "
        f"{platform.python_version()}, {os.cpu_count()} {platform.machine()} cores, "
        f"rounds: {rounds}."
    )
    return _INTRODUCTION.format(machine=machine, picture=picture.name)
