"""Run worker processes one after the other, and tell what they find."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any

CHUNK = 400
HANG_SECONDS = 120.0


@dataclass
class Tally:
    """What has been done."""

    seed: int
    programs: int = 0
    memory: int = 0
    found: int = 0
    began: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        each = 1000 * seconds / max(self.programs, 1)
        return (
            f"{seconds / 60:.0f} min: {self.programs} programs of seed {self.seed}, "
            f"{each:.0f} ms each, "
            f"{self.found} disagreements, {self.memory} MiB"
        )


class Runner:
    """Programs of one seed, from an index on, for a time or up to a number."""

    def __init__(self, seed: int, start: int, stop: int | None, seconds: float, known: str | None):
        self.seed, self.next, self.stop, self.known = seed, start, stop, known
        self.deadline = time.monotonic() + seconds
        self.tally = Tally(seed)

    def run(self) -> int:
        """The number of disagreements."""
        while time.monotonic() < self.deadline and (self.stop is None or self.next < self.stop):
            end = self.next + CHUNK if self.stop is None else min(self.next + CHUNK, self.stop)
            self.next = self.chunk(end)
        print(self.tally, flush=True)
        return self.tally.found

    def chunk(self, end: int) -> int:
        """Run a worker; the index to go on with."""
        command = [sys.executable, "-m", "tools.fuzz", "--worker", str(self.next), str(end)]
        command += ["--seed", str(self.seed), *(["--known", self.known] if self.known else [])]
        with tempfile.TemporaryFile("w+") as errors:
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
            try:
                return self.followed(worker, end, errors)
            finally:
                worker.kill()
                worker.wait()

    def followed(self, worker: subprocess.Popen[str], end: int, errors: IO[str]) -> int:
        """Read what a worker writes until it ends, hangs, or time is over."""
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_pump, args=(worker.stdout, lines), daemon=True).start()
        current, silent = self.next, time.monotonic()
        while time.monotonic() < self.deadline:
            self.progress()
            try:
                line = lines.get(timeout=5)
            except queue.Empty:
                if time.monotonic() - silent > HANG_SECONDS:
                    self.died(current, f"no answer in {HANG_SECONDS:.0f} s", errors)
                    return current + 1
                continue
            silent = time.monotonic()
            if line is None:
                code = worker.wait()
                if code == 0:
                    return end
                self.died(current, f"the process ended with {code}", errors)
                return current + 1
            current = self.heard(json.loads(line), current)
        return current

    def heard(self, message: dict[str, Any], current: int) -> int:
        """Take one message; the index that the worker is at."""
        if "found" in message:
            self.report(**message["found"])
        elif "done" in message:
            self.tally.programs += 1
            self.tally.memory = message["memory"]
        return int(message.get("start", current))

    def progress(self) -> None:
        """One line a minute."""
        if time.monotonic() - self.tally.told >= 60:
            self.tally.told = time.monotonic()
            print(self.tally, flush=True)

    def report(self, index: int, way: str, kind: str, text: str, script: str) -> None:
        """Tell of a disagreement."""
        self.tally.found += 1
        title = f"seed {self.seed}, program {index}: {way}: {kind}"
        comment = "\n".join("# " + line for line in text.split("\n"))
        print(f"\n#### {title}\n{script}{comment}\n", flush=True)

    def died(self, index: int, how: str, errors: IO[str]) -> None:
        """Tell of a worker that crashed or hangs."""
        errors.seek(0)
        self.report(index, "process", how, errors.read()[-3000:], "")


def _pump(stream: IO[str] | None, lines: queue.Queue[str | None]) -> None:
    for line in stream or ():
        lines.put(line)
    lines.put(None)
