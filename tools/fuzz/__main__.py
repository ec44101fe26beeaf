"""Search for programs that give different results in different ways.

Usage: ``python -m tools.fuzz [--seconds S | --count N] [--seed SEED] [--start INDEX]``.  To see one
program again: ``--seed SEED --show INDEX``.  Fails if anything disagrees.
"""

from __future__ import annotations

import argparse
import sys

from .generate import make
from .judgement import Judge
from .runner import Runner
from .ways import RELATIONS, SAME
from .worker import prepare, run


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, metavar="INDEX")
    parser.add_argument("--count", type=int, metavar="N", help="so many programs")
    parser.add_argument("--seconds", type=float, metavar="S", help="for about so long")
    parser.add_argument(
        "--known", metavar="FILE", help="Python file with known(way, kind, text, source)"
    )
    parser.add_argument("--show", type=int, metavar="INDEX", help="print and judge one program")
    parser.add_argument("--worker", type=int, nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def _show(seed: int, index: int) -> int:
    program = make(seed, index)
    print(program.script())
    judge = Judge(program)
    print(f"# eager: {judge.base}")
    found = judge.disagreements(["runs", *SAME, *RELATIONS, "float64", "slope"])
    for each in found:
        print(f"# {each.way}: {each.kind}: {each.text}")
    return len(found)


def main() -> int:
    """Run what the command line asks for; the exit status."""
    given = _arguments()
    if given.worker:
        start, stop = given.worker
        prepare()
        run(given.seed, start, stop, given.known)
        return 0
    if given.show is not None:
        return _show(given.seed, given.show) > 0
    stop = None if given.count is None else given.start + given.count
    seconds = given.seconds or (60.0 if stop is None else float("inf"))
    return Runner(given.seed, given.start, stop, seconds, given.known).run() > 0


if __name__ == "__main__":
    sys.exit(main())
