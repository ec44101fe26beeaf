"""Run one group of one package in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .groups import GROUPS
from .timing import Figures

ROOT = Path(__file__).resolve().parent.parent

# Nothing on disk is to speed up one side, but compiled bytecode, which installed packages have.
_WITHOUT = ("PYTHONDONTWRITEBYTECODE", "JAX_COMPILATION_CACHE_DIR")
# PyTorch's threads wait for each other in a loop by default, and starve on a machine with others.
_COMMON = {"JAX_PLATFORMS": "cpu", "OMP_WAIT_POLICY": "passive"}
_COMPILING = _COMMON | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
_KEEPING = _COMMON | {
    "JAX_ENABLE_COMPILATION_CACHE": "true",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}

Environments = Mapping[str, Mapping[str, str]]


class Failed(Exception):
    """A process has ended with an error."""


def run_worker(
    python: str,
    package: str,
    group: str,
    scale: str,
    environment: Mapping[str, str] = _COMPILING,
) -> Figures:
    """The figures of one process.

    Args:
        python: the interpreter that has the package.
        package, group, scale: see `worker`.
        environment: variables besides those of this process; without the compile cache by default.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _WITHOUT}
    done = subprocess.run(
        [python, "-m", "benchmarks.worker", package, group, scale],
        capture_output=True,
        text=True,
        check=False,
        env=kept | dict(environment),
        cwd=ROOT,
    )
    if done.returncode:
        raise Failed(f"benchmark {group} of {package} failed:\n{done.stderr}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


@contextmanager
def environments(pythons: Mapping[str, str], group: str, scale: str) -> Iterator[Environments]:
    """The variables of each package's processes, once caches on disk are as the group wants them.

    Raises:
        Failed: a package keeps nothing on disk.
    """
    if not GROUPS[group].keeps_programs:
        yield dict.fromkeys(pythons, _COMPILING)
        return
    with tempfile.TemporaryDirectory() as folder:
        chosen = {}
        for package, python in pythons.items():
            place = Path(folder, package)
            place.mkdir(mode=0o700)
            chosen[package] = _KEEPING | {"JAX_COMPILATION_CACHE_DIR": str(place)}
            run_worker(python, package, group, scale, chosen[package])
            if not any(file.is_file() for file in place.rglob("*")):
                raise Failed(f"{package} keeps no compiled programs on disk")
        yield chosen
