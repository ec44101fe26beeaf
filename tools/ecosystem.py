"""Run the programs of ``examples/ecosystem``, compare them with JAX, and say how it went.

Usage: ``python tools/ecosystem.py PYTHON [NAME ...] [--against JAX] [--record] [--write]``.

`PYTHON` is an interpreter in whose environment the libraries are, with morphax under the name
`jax`; `JAX` is one with the same libraries and the real JAX, whose times stand beside ours.  With
``--write`` the tables of ``docs/ecosystem.md`` are written anew, for which all programs are run.
With ``--record`` `PYTHON` is one with the real JAX, whose results are kept in
``examples/ecosystem/recorded.json``.

Programs print a list of numbers.  They are compared to `TOLERANCE`, for results of iterations
differ with the order of sums; a program whose results amplify that has a tolerance of its own.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "ecosystem"
RECORD = EXAMPLES / "recorded.json"
PAGE = ROOT / "docs" / "ecosystem.md"
STEPS = ROOT / "benchmarks" / "ecosystem_steps.py"
TOLERANCE = 1e-3
# Markov chains part after some hundred steps, whatever the first difference was, and what is
# fitted by evolution or by draws follows the draws.
TOLERANCES = {"blackjax_sampling": 0.05, "numpyro_nuts": 0.05, "pymc_model": 0.05}
LIMIT = 600.0


class Outcome(NamedTuple):
    """How a program went: what failed, or how far its results are from those of JAX."""

    failure: str = ""
    difference: float = math.inf
    seconds: float = math.nan
    seconds_of_jax: float = math.nan

    def agrees(self, name: str) -> bool:
        return not self.failure and self.difference <= TOLERANCES.get(name, TOLERANCE)


def run(python: str, path: Path, *arguments: str) -> tuple[str, float]:
    """What a program prints last, and the seconds of processor time it took."""
    start = _seconds_of_children()
    command = [python, "-W", "ignore", str(path), *arguments]
    # morphax is installed for edits here, and has the compiled modules of any installation.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=LIMIT, env=environment
    )
    if result.returncode:
        raise RuntimeError(result.stderr.strip())
    return result.stdout.strip().splitlines()[-1], _seconds_of_children() - start


def _seconds_of_children() -> float:
    """Processor time of the programs that have been run, all threads: others disturb it least."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def results_of(python: str, name: str) -> tuple[list[float], float]:
    """The numbers of a program, and the seconds it took."""
    text, seconds = run(python, EXAMPLES / f"{name}.py")
    return ast.literal_eval(text), seconds


def worst_difference(found: list[float], expected: list[float]) -> float:
    """The largest relative difference, with respect to 1 for small numbers."""
    if len(found) != len(expected):
        return math.inf
    pairs = zip(found, expected, strict=True)
    differences = [abs(a - b) / max(1.0, abs(b)) for a, b in pairs]
    return max(differences, key=lambda d: math.inf if math.isnan(d) else d)


def check(python: str, against: str | None, name: str, expected: list[float]) -> Outcome:
    """Run one program, and say in a line how it went."""
    seconds_of_jax = math.nan if against is None else results_of(against, name)[1]
    try:
        found, seconds = results_of(python, name)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"{name}: failed\n{error}")
        return Outcome(f"fails: {heart_of(str(error))[:80]}")
    outcome = Outcome("", worst_difference(found, expected), seconds, seconds_of_jax)
    verdict = "agrees" if outcome.agrees(name) else "DIFFERS"
    print(f"{name}: {verdict} to {outcome.difference:.1e}, {seconds:.1f} s", flush=True)
    return outcome


def heart_of(error: str) -> str:
    """The line of a traceback that names the error: its text may go on, and a note may follow."""
    named = [
        line for line in error.splitlines() if re.match(r"[\w.]+(Error|Exception|Warning)\b", line)
    ]
    return (named or error.splitlines() or [""])[-1]


def record(python: str, names: list[str]) -> None:
    """Keep what the programs print with JAX."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in names:
        known[name], seconds = results_of(python, name)
        print(f"{name}: recorded, {seconds:.1f} s", flush=True)
        RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def versions(python: str, distributions: list[str]) -> dict[str, str]:
    """The versions of distributions in an environment."""
    program = "import sys, importlib.metadata as m; print({n: m.version(n) for n in sys.argv[1:]})"
    command = [python, "-c", program, *distributions]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(ast.literal_eval(result.stdout))


def table_of_programs(python: str, outcomes: dict[str, Outcome]) -> str:
    """The rows of the libraries, as Markdown."""
    libraries = tomllib.loads((EXAMPLES / "libraries.toml").read_text(encoding="utf-8"))
    found = versions(python, sorted({entry["distribution"] for entry in libraries.values()}))
    lines = [
        "| library | version | program | agrees to | seconds, JAX's | own tests: pass, of those "
        "that pass with JAX |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, entry in libraries.items():
        outcome = outcomes[name]
        difference = f"{outcome.difference:.0e}" if outcome.difference else "exact"
        seconds = outcome.seconds, outcome.seconds_of_jax
        cells = (
            entry["name"],
            found[entry["distribution"]],
            f"`{name}`",
            outcome.failure or difference,
            ", ".join([f"{s:.1f}" for s in seconds if not math.isnan(s)]),
            entry.get("tests", "not run yet"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table_of_steps(python: str, against: str, rounds: int = 1) -> str:
    """How long steps of libraries take to compile and to run, both in turns, as Markdown."""
    names = json.loads(run(python, STEPS)[0])
    lines = [
        "| step | trace and compile, ms: here, JAX's | ratio | run, ms: here, JAX's | ratio |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in names:
        pairs = [[json.loads(run(p, STEPS, name)[0]) for p in (python, against)]
                 for _ in range(rounds)]  # fmt: skip
        best = [
            [min(times[i] for times in side) for i in (0, 1)] for side in zip(*pairs, strict=True)
        ]
        (compile_, step), (compile_jax, step_jax) = best
        lines.append(
            f"| {name} | {compile_:.0f}, {compile_jax:.0f} | {compile_ / compile_jax:.2f} "
            f"| {step:.3f}, {step_jax:.3f} | {step / step_jax:.2f} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def write_page(**tables: str) -> None:
    """Put tables between their marks in the page."""
    page = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        start, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        head, _, rest = page.partition(start)
        page = f"{head}{start}\n{table}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(page, encoding="utf-8")


def main() -> int:
    """Run what is asked for; the result is the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", help="interpreter of the environment with the libraries")
    parser.add_argument("names", nargs="*", help="programs; all of them if none is named")
    parser.add_argument("--against", help="interpreter with the same libraries and the real JAX")
    parser.add_argument("--record", action="store_true", help="keep the results, which are JAX's")
    parser.add_argument("--write", action="store_true", help="write docs/ecosystem.md")
    given = parser.parse_args()
    names = given.names or sorted(path.stem for path in EXAMPLES.glob("*.py"))
    if given.record:
        record(given.python, names)
        return 0
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    outcomes = {n: check(given.python, given.against, n, recorded[n]) for n in names}
    if given.write:
        write_page(programs=table_of_programs(given.python, outcomes))
        if given.against:
            write_page(steps=table_of_steps(given.python, given.against))
    return int(not all([outcome.agrees(name) for name, outcome in outcomes.items()]))


if __name__ == "__main__":
    sys.exit(main())
