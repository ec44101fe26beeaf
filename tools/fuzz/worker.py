"""Run a range of programs and write what happens as lines of JSON.

It is a process of its own, so that a crash or a program that hangs does not end the search.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import logging
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TextIO

import morphax as jax

from .comparison import Failure, outcome
from .generate import make
from .judgement import Disagreement, Judge, chosen_ways
from .program import Program
from .shrink import shrunk
from .ways import SHOWN, interpret_loops

BATCH = 6
# One in so many programs is compiled by XLA, too, with others as one program.
COMPILED = 8
COMPILED_LOOPS = 8
SHRINK_SECONDS = 30.0

Known = Callable[[str, str, str, str], bool]
Report = dict[str, Any]


def read_known(path: str | None) -> Known:
    """The function ``known(way, kind, text, source)`` of a Python file; without one, of nothing."""
    if path is None:
        return lambda way, kind, text, source: False
    spec = importlib.util.spec_from_file_location("known_findings", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Known = module.known
    return found


class Search:
    """Judge programs one by one, and compile some together."""

    def __init__(self, seed: int, known: Known, shrink: bool = True, batch: int = BATCH) -> None:
        self.seed = seed
        self.known = known
        self.shrink = shrink
        self.batch = batch
        self.waiting: list[tuple[int, Judge]] = []

    def judged(self, index: int, ways: list[str] | None = None) -> Iterator[Report]:
        """The disagreements of one program, and at times those of a batch that was compiled."""
        interpret_loops(index % COMPILED_LOOPS != 0)
        program = make(self.seed, index)
        rng = random.Random(f"ways {self.seed}/{index}")
        judge = Judge(program)
        chosen = ways or chosen_ways(rng)
        if isinstance(judge.base, Failure) and "clear_caches" not in chosen:
            chosen.append("clear_caches")  # an error may be due to what was remembered
        for found in judge.disagreements(chosen):
            yield from self.reported(index, program, found)
        if ways is None and not judge.subject.x64 and rng.random() < 1 / COMPILED:
            self.waiting.append((index, judge))
        if len(self.waiting) >= self.batch:
            yield from self.compiled()

    def compiled(self) -> Iterator[Report]:
        """The disagreements of the programs that wait, which are compiled as one."""
        waiting, self.waiting = self.waiting, []
        mains = [judge.subject.main() for _, judge in waiting]
        results = []
        try:
            run = jax.jit(
                lambda args: [main(*each) for main, each in zip(mains, args, strict=True)]
            )
            args = [judge.subject.args() for _, judge in waiting]
            results = run.lower(args).compile({"jax_cpu_engine": "xla"})(args)
            jax.block_until_ready(results)
        except Exception:
            results = []
        for position, (index, judge) in enumerate(waiting):
            if results and judge.compared(outcome(partial(list, results[position]))) is None:
                continue
            for found in judge.disagreements(["xla"]):
                yield from self.reported(index, judge.program, found)

    def reported(self, index: int, program: Program, found: Disagreement) -> Iterator[Report]:
        """The report of a disagreement, unless it is known."""
        if self.known(found.way, found.kind, found.text, program.source()):
            return
        small = self.smaller(program, found) if self.shrink else program
        again = next(iter(Judge(small).disagreements([found.way])), None)
        text = again.text if again else found.text + " (only after other programs)"
        if not self.known(found.way, found.kind, text, small.source()):
            yield {
                "index": index,
                "way": found.way,
                "kind": found.kind,
                "text": text,
                "script": small.script() + shown(found.way),
            }

    def smaller(self, program: Program, found: Disagreement) -> Program:
        """The program with all taken away that the disagreement does not need."""

        def still(candidate: Program) -> bool:
            try:
                each = Judge(candidate).disagreements([found.way])
            except Exception:
                return False
            return any(new.kind == found.kind for new in each)

        return shrunk(program, still, SHRINK_SECONDS)


def shown(way: str) -> str:
    """The end of a script: both sides, where a line can show them."""
    return "".join(f"print({call})\n" for call in ("main(*args)", SHOWN.get(way)) if call)


def memory() -> int:
    """The resident memory of this process in MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def prepare() -> None:
    """Make this process that of a worker: it reports crashes, and is silent otherwise."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    faulthandler.enable()


def run(seed: int, start: int, stop: int, known: str | None, out: TextIO = sys.stdout) -> None:
    """Judge the programs of a range."""
    search = Search(seed, read_known(known))
    began = time.monotonic()

    def say(**message: Any) -> None:
        print(json.dumps(message), file=out, flush=True)

    for index in range(start, stop):
        say(start=index)
        faulthandler.dump_traceback_later(50)
        for report in search.judged(index):
            say(found=report)
        faulthandler.cancel_dump_traceback_later()
        say(done=index, seconds=time.monotonic() - began, memory=memory())
    for report in search.compiled():
        say(found=report)
