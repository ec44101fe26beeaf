"""Run the programs of ``examples/ecosystem`` and compare their results with those of JAX.

Usage: ``python tools/ecosystem.py PYTHON [NAME ...] [--record]``; `PYTHON` is an interpreter in
whose environment the libraries are.  With ``--record`` it is one with the real JAX, whose results
are kept in ``examples/ecosystem/recorded.json``.

Programs print a list of numbers.  They are compared to `TOLERANCE`, for results of iterations
differ with the order of sums; a program whose results amplify that has a tolerance of its own.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "ecosystem"
RECORD = EXAMPLES / "recorded.json"
TOLERANCE = 1e-3
# Markov chains part after some hundred steps, whatever the first difference was.
TOLERANCES = {"numpyro_nuts": 0.05}
LIMIT = 600.0


def results_of(python: str, name: str) -> tuple[list[float], float]:
    """What a program prints last, as numbers, and the seconds it took."""
    start = time.perf_counter()
    command = [python, "-W", "ignore", str(EXAMPLES / f"{name}.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    if result.returncode:
        raise RuntimeError(result.stderr.strip())
    return ast.literal_eval(result.stdout.strip().splitlines()[-1]), time.perf_counter() - start


def worst_difference(found: list[float], expected: list[float]) -> float:
    """The largest relative difference, with respect to 1 for small numbers."""
    if len(found) != len(expected):
        return math.inf
    pairs = zip(found, expected, strict=True)
    differences = [abs(a - b) / max(1.0, abs(b)) for a, b in pairs]
    return max(differences, key=lambda d: math.inf if math.isnan(d) else d)


def check(python: str, name: str, recorded: dict[str, list[float]]) -> bool:
    """Run one program, and say in a line how it went."""
    try:
        found, seconds = results_of(python, name)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"{name}: failed\n{error}")
        return False
    difference = worst_difference(found, recorded[name])
    good = difference <= TOLERANCES.get(name, TOLERANCE)
    print(f"{name}: {'agrees' if good else 'DIFFERS'} to {difference:.1e}, {seconds:.1f} s")
    return good


def record(python: str, names: list[str]) -> None:
    """Keep what the programs print with JAX."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in names:
        known[name], seconds = results_of(python, name)
        print(f"{name}: recorded, {seconds:.1f} s")
        RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    """Run what is asked for; the result is the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", help="interpreter of the environment with the libraries")
    parser.add_argument("names", nargs="*", help="programs; all of them if none is named")
    parser.add_argument("--record", action="store_true", help="keep the results, which are JAX's")
    given = parser.parse_args()
    names = given.names or sorted(path.stem for path in EXAMPLES.glob("*.py"))
    if given.record:
        record(given.python, names)
        return 0
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    return int(not all([check(given.python, name, recorded) for name in names]))


if __name__ == "__main__":
    sys.exit(main())
