"""Times of exported C functions and of the same programs by hand, in turn, in one process."""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import morphax as jax

from .programs import programs

FLAGS = ("-std=c99", "-O3", "-shared", "-fPIC")
HERE = Path(__file__).parent


def _compiled(folder: Path, sources: Sequence[Path], compiler: str, flags: Sequence[str]) -> Any:
    library = folder / f"{sources[0].stem}.so"
    command = [
        compiler,
        *FLAGS,
        *flags,
        "-I",
        str(folder),
        "-o",
        str(library),
        *map(str, sources),
        "-lm",
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def _arguments(values: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    given: list[Any] = [
        ctypes.c_void_p(x.ctypes.data) if x.ndim else ctypes.c_float(float(x)) for x in values
    ]
    return given + [ctypes.c_void_p(x.ctypes.data) for x in results]


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.c_code", description=__doc__)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--flags", nargs="*", default=[], help="such as -march=native")
    parser.add_argument("--rounds", type=int, default=31)
    given = parser.parse_args()
    print(f"{'program':10}{'by hand':>12}{'exported':>12}{'ratio':>8}{'median':>8}   (µs)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        by_hand = _compiled(folder, [HERE / "by_hand.c"], given.compiler, given.flags)
        for label, (function, operands) in programs().items():
            source, _ = jax.export_c(function, *operands, name=label).write(folder)
            exported = _compiled(folder, [source], given.compiler, given.flags)
            expected = [np.asarray(x) for x in jax.tree.leaves(jax.jit(function)(*operands))]
            workspace = np.zeros(1 << 20, np.uint8)
            outs = [[np.zeros_like(x) for x in expected] for _ in range(2)]
            arguments = [_arguments(operands, results) for results in outs]
            arguments[1].append(ctypes.c_void_p(workspace.ctypes.data))
            functions = getattr(by_hand, f"{label}_by_hand"), getattr(exported, label)
            calls = [lambda f=f, a=a: f(*a) for f, a in zip(functions, arguments, strict=True)]
            for call, results in zip(calls, outs, strict=True):
                call()
                for found, truth in zip(results, expected, strict=True):
                    np.testing.assert_allclose(found, truth, rtol=5e-2, atol=1e-3)
            repeats = max(1, int(2e-3 / max(_seconds(calls[0], 3), 1e-7)))
            times = [[_seconds(call, repeats) for call in calls] for _ in range(given.rounds)]
            hand, ours = [min(column) * 1e6 for column in zip(*times, strict=True)]
            median = statistics.median([b / a for a, b in times])
            print(f"{label:10}{hand:12.2f}{ours:12.2f}{ours / hand:8.2f}{median:8.2f}")


if __name__ == "__main__":
    main()
