"""The handlers of `handlers.cc`, compiled once per session and registered."""

from __future__ import annotations

import atexit
import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from morphax import devices, ffi

NAMES = (
    *("scale", "combine", "sum_and_difference", "refuse", "copy_bytes", "add_one_in_place"),
    *("attributes",),
)


@cache
def path() -> str:
    """Where the compiled library is, until the process ends."""
    compiler = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    assert compiler, "the tests need a C++ compiler, as building the package does"
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    made = Path(folder) / "handlers.so"
    source = Path(__file__).with_name("handlers.cc")
    flags = ["-O1", "-w", "-std=c++17", "-shared", "-fPIC", f"-I{ffi.include_dir()}"]
    subprocess.run([compiler, *flags, str(source), "-o", str(made)], check=True)
    return str(made)


@cache
def handlers(library: str | None = None) -> ctypes.CDLL:
    """The library; its handlers are known to XLA as ``test_scale`` and so on."""
    # Before there is a client, registrations wait for it, and so do their errors.
    devices("cpu")
    loaded = ctypes.CDLL(library or path())
    for name in NAMES:
        ffi.register_ffi_target(f"test_{name}", ffi.pycapsule(getattr(loaded, name)))
    return loaded
