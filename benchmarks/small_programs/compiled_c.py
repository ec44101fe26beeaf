"""The programs by hand, compiled by the system's compiler, as functions of NumPy arrays."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FLAGS = ("-std=c99", "-O3", "-march=native", "-shared", "-fPIC")


@cache
def _library(compiler: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "by_hand.so")
        source = Path(__file__).with_name("by_hand.c")
        subprocess.run([compiler, *FLAGS, "-o", str(path), str(source), "-lm"], check=True)
        return ctypes.CDLL(str(path))


def call_of(
    name: str,
    operands: Sequence[np.ndarray[Any, Any]],
    results: Sequence[np.ndarray[Any, Any]],
    compiler: str = "cc",
) -> Callable[[], None]:
    """What runs a program on operands and writes to the arrays of the results."""
    function = getattr(_library(compiler), name)
    given, made = [
        (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
        for arrays in (operands, results)
    ]
    # The arrays live as long as what refers to them.
    return lambda held=(operands, results): function(given, made)
