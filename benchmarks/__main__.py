"""Run groups of benchmarks in morphax and its peers, in turn; write a table and a picture.

    python -m benchmarks [--group NAME] [--quick] [--rounds N] [--output FOLDER]
                         [--jax-python PATH] [--torch-python PATH]

The folder gets ``benchmarks.md``, ``benchmarks.svg`` and ``benchmarks.json``; ``--output docs``
writes the page of the documentation.

Each round starts one process per package and group, A B A B …, so a drift of the machine's speed
hits all.  A figure is the median over rounds; the ratio is the median of the rounds' ratios.
PyTorch takes part where it is installed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .groups import BOTH, GROUPS
from .page import introduction
from .picture import draw
from .processes import Failed, environments, run_worker
from .report import Line, json_of, lines_of, text_of
from .timing import SCALES


def run_group(group: str, pythons: Mapping[str, str], scale: str, rounds: int) -> list[Line]:
    """All lines of a group; first runs, which compile bytecode and read disks, do not count."""
    taking_part = {p: pythons[p] for p in GROUPS[group].packages if p in pythons}
    taking_part |= dict.fromkeys(GROUPS[group].peers, pythons["morphax"])
    for package in BOTH:
        run_worker(pythons[package], package, "import", scale)
    with environments(taking_part, group, scale) as variables:
        results = [
            {
                package: run_worker(python, package, group, scale, variables[package])
                for package, python in taking_part.items()
            }
            for _ in range(min(rounds, GROUPS[group].rounds))
        ]
    return lines_of(group, results)


def _installed(pythons: Mapping[str, str]) -> Iterator[str]:
    """Packages that their interpreters can import."""
    for package, python in pythons.items():
        done = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
        if done.returncode == 0:
            yield package


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--group", action="append", choices=GROUPS, help="all, if left out")
    parser.add_argument("--quick", action="store_true", help="one round, smaller sizes")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--jax-python", default=sys.executable, help="interpreter that has JAX")
    parser.add_argument("--torch-python", default=sys.executable, help="… that has PyTorch")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    return parser.parse_args()


def main() -> None:
    options = _options()
    scale = "quick" if options.quick else "full"
    pythons = {
        "morphax": sys.executable,
        "jax": options.jax_python,
        "numpy": sys.executable,
        "torch": options.torch_python,
    }
    present = set(_installed(pythons))
    notes = [f"Left out: {p} is not installed." for p in pythons if p not in present]
    if {"morphax", "jax"} - present:
        sys.exit("\n".join(notes))
    pythons = {p: python for p, python in pythons.items() if p in present}
    rounds = options.rounds or SCALES[scale].rounds
    lines: list[Line] = []
    tables = ""
    for group in options.group or GROUPS:
        print(group, file=sys.stderr, flush=True)
        try:
            lines += run_group(group, pythons, scale, rounds)
        except Failed as failure:
            notes.append(f"Left out: the group {group}. {failure}")
        if lines:  # a run that is stopped leaves what it has found
            tables = write(lines, notes, options.output, pythons, rounds)
    if not lines:
        sys.exit("\n".join(notes))
    print(tables)


def write(
    lines: list[Line], notes: list[str], folder: Path, pythons: Mapping[str, str], rounds: int
) -> str:
    """Write the page, the picture and the figures; the tables as text."""
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / "benchmarks.svg"
    condensed = {name for name, group in GROUPS.items() if group.is_condensed}
    draw([line for line in lines if line.group not in condensed] or lines[:1], picture)
    (folder / "benchmarks.json").write_text(json_of(lines))
    text = text_of(lines, {name: group.title for name, group in GROUPS.items()}, notes, condensed)
    (folder / "benchmarks.md").write_text(f"{introduction(pythons, rounds, picture)}\n{text}")
    return text


if __name__ == "__main__":
    main()
