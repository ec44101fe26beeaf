"""Run all groups of benchmarks in morphax and JAX, in turn, and write a table of ratios.

    python -m benchmarks [--jax-python PATH] [--rounds N] [--groups a,b] [--output FOLDER]

Each round starts one process per package and group, A B A B …, so a drift of the machine's speed
hits both.  A figure is the median over rounds; the ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

from .worker import GROUPS

# What we promise (ratio to JAX); lines without a promise are reported all the same.
TARGETS = {
    "import + first array": 0.5,
    "trace, lax": 0.25,
    "trace, jnp": 0.25,
    "trace under grad, lax": 0.25,
    "trace under grad, jnp": 0.25,
    "first eager x + y": 0.02,
    "first eager x[3]": 0.02,
    "first eager sum": 0.02,
    "first eager softmax": 0.02,
    "MLP step: run": 1.05,
    "CNN step: run": 1.05,
}


class Line(NamedTuple):
    """One figure: seconds here, seconds in JAX, ratio."""

    name: str
    ours: float
    theirs: float
    ratio: float

    @property
    def verdict(self) -> str:
        target = TARGETS.get(self.name)
        if target is None:
            return "behind" if self.ratio > 1 else ""
        return f"≤ {target}" + ("" if self.ratio <= target else " MISSED")


def run_worker(python: str, package: str, group: str) -> dict[str, float]:
    """The figures of one process, with compiled bytecode, as an installed package has it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [python, "-m", "benchmarks.worker", package, group],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=Path(__file__).resolve().parent.parent,
    )
    if done.returncode:
        sys.exit(f"benchmark {group} of {package} failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def run_group(group: str, jax_python: str, rounds: int) -> list[Line]:
    """All figures of a group over all rounds; a first run of each, to warm up, does not count."""
    run_worker(sys.executable, "morphax", "import")
    run_worker(jax_python, "jax", "import")
    pairs = [
        (run_worker(sys.executable, "morphax", group), run_worker(jax_python, "jax", group))
        for _ in range(rounds)
    ]
    return [
        Line(
            name,
            median([ours[name] for ours, _ in pairs]),
            median([theirs[name] for _, theirs in pairs]),
            median([ours[name] / theirs[name] for ours, theirs in pairs]),
        )
        for name in pairs[0][0]
    ]


def in_units(seconds: float) -> str:
    """Seconds in a unit that people read."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= factor:
            return f"{seconds / factor:.2f} {unit}"
    return f"{seconds * 1e6:.2f} µs"


def table(lines: list[Line]) -> str:
    rows = [
        f"| {x.name} | {in_units(x.ours)} | {in_units(x.theirs)} | {x.ratio:.3f} | {x.verdict} |"
        for x in lines
    ]
    head = ["| | morphax | JAX | ratio | promise |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jax-python", default=sys.executable, help="interpreter that has JAX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    lines = []
    for group in options.groups.split(","):
        if group not in GROUPS:
            parser.error(f"argument --groups: got {group!r}, expected some of {', '.join(GROUPS)}")
        lines += run_group(group, options.jax_python, options.rounds)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "results.json").write_text(json.dumps([x._asdict() for x in lines], indent=1))
    (options.output / "results.md").write_text(table(lines) + "\n")
    print(table(lines))


if __name__ == "__main__":
    main()
