"""The table of a run: Markdown for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from itertools import groupby
from statistics import median
from typing import NamedTuple

from .timing import Figures

# What we promise, as ratios to JAX, by how the names of lines begin; the longest beginning counts.
PROMISES = {
    "import + first array": 0.4,
    "trace, ": 0.25,
    "trace under grad": 0.2,
    "trace under vmap": 0.25,
    "lower, ": 0.4,
    "first step of a process": 0.4,
    "jit call, 1 → 1": 1.0,
    "jit call, 100 → 100": 0.85,
    "jit call, 1000 → 1000": 0.85,
    "jit call, 1000 → 1": 0.7,
    "flatten, ": 1.0,
    "unflatten, ": 1.0,
    "map, ": 1.0,
    "eager ": 0.5,
    "first eager ": 0.01,
    "function, ": 0.5,
    "function of a thousand, ": 0.5,
    "compiled call, ": 1.1,
    "of very many, ": 1.0,
    "first call, ": 0.01,
    "traced call, ": 0.25,
    "scan of a fresh lambda": 0.01,
    "transformer of 12 layers: trace + lower": 0.35,
    "MLP: step": 1.0,
    "CNN: step": 1.0,
    "transformer of 12 layers: step": 1.0,
}
# Why we are behind, where we know, by how the names of lines begin.
_FUSION = "the library's maximum loses NaN: a sum beside it says whether there is one"
REASONS: dict[str, str] = {
    "np ": "eager mode on the CPU is NumPy, one thread and no fusion; XLA compiles the operation",
    "eager ": "what NumPy's error state and our bookkeeping cost",
    "compile sort": "keys are packed with their places: longer to compile, a third of the run time",
    "first step of a process": "half of it is spent by NumPy's import and jaxlib, as in JAX",
    "jit call, 100": "jaxlib's own part alone is 0.84",
    "jit softmax": _FUSION,
    "jit logsumexp": _FUSION,
    "jit layer norm": _FUSION,
    "jit gelu": "σ(2u), which keeps the digits of the left tail, in place of ½ (1 + tanh u)",
    "jit max along": _FUSION,
}
_WORST = 12
RIVALS = {"jax": "JAX", "scipy": "SciPy"}
"""What we are compared with: the first that a group has."""
PEERS = {"numpy": "NumPy", "torch": "PyTorch", "xla": "on XLA", "c": "C by hand"}


class Line(NamedTuple):
    """One figure of each package, and the ratio of ours to that of the rival.

    Args:
        group: it belongs to.
        name: tells what is measured, and the unit unless it is seconds.
        ours, theirs: medians over rounds.
        ratio: median of the rounds' ratios.
        peers: medians of other libraries.
        rival: with whom we are compared.
    """

    group: str
    name: str
    ours: float
    theirs: float
    ratio: float
    peers: Figures
    rival: str = "jax"

    @property
    def promise(self) -> float | None:
        """The ratio that we promise, if any."""
        known = [start for start in PROMISES if self.name.startswith(start)]
        return PROMISES[max(known, key=len)] if known else None

    @property
    def is_behind(self) -> bool:
        """Whether the rival does better."""
        return self.ratio > 1.0

    @property
    def verdict(self) -> str:
        """What the table says of it."""
        words = [] if self.promise is None else [f"≤ {self.promise:g}"]
        if self.promise is not None and self.ratio > self.promise:
            words.append("missed")
        if self.is_behind:
            words.append("**behind**")
        return " ".join(words)


def lines_of(group: str, rounds: Sequence[dict[str, Figures]]) -> list[Line]:
    """The lines of a group, from the figures of each round by package."""
    first = rounds[0]
    rival = next(name for name in RIVALS if name in first)

    def middle(package: str, name: str) -> float:
        return median([figures[package][name] for figures in rounds])

    return [
        Line(
            group,
            name,
            middle("morphax", name),
            middle(rival, name),
            median([x["morphax"][name] / x[rival][name] for x in rounds]),
            {peer: middle(peer, name) for peer in PEERS if name in first.get(peer, {})},
            rival,
        )
        for name in first["morphax"]
        if name in first[rival]
    ]


def in_units(line: Line, value: float | None) -> str:
    """A figure in a unit that people read."""
    if value is None:
        return ""
    if line.name.endswith("(MB)"):
        return f"{value:.2f} MB"
    if "×" in line.name and "multiple" in line.name:
        return f"{value:.2f}"
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if value >= factor:
            return f"{value / factor:.2f} {unit}"
    return f"{value * 1e6:.2f} µs"


def table(lines: Sequence[Line]) -> str:
    """All lines, in Markdown."""
    peers = [peer for peer in PEERS if any(peer in line.peers for line in lines)]
    titles = [
        "",
        "morphax",
        RIVALS[lines[0].rival],
        "ratio",
        *(PEERS[p] for p in peers),
        "promise",
    ]
    rows = [titles, ["---"] * len(titles)]
    for line in lines:
        values = [line.ours, line.theirs]
        others = [line.peers.get(peer) for peer in peers]
        rows.append(
            [
                line.name,
                *(in_units(line, value) for value in values),
                f"{line.ratio:.3f}",
                *(in_units(line, value) for value in others),
                line.verdict,
            ]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def shares(lines: Sequence[Line]) -> str:
    """How many of many lines keep the promise, and the worst."""
    worst = sorted(lines, key=lambda line: -line.ratio)
    kept = sum([x.promise is None or x.ratio <= x.promise for x in lines]) / len(lines)
    ahead = sum([not x.is_behind for x in lines]) / len(lines)
    count = (
        f"{len(lines)} functions: share that keeps the promise {kept:.1%}, ahead of JAX "
        f"{ahead:.1%}, median ratio {median([x.ratio for x in lines]):.3f}.  The worst:"
    )
    return f"{count}\n\n{table(worst[:_WORST])}"


def summary(lines: Sequence[Line]) -> str:
    """How many lines are where, and why we are behind where we know."""
    behind = [line for line in lines if line.is_behind]
    missed = [x for x in lines if x.promise is not None and x.ratio > x.promise]
    count = f"{len(lines)} lines: behind in {len(behind)}, promises missed in {len(missed)}."
    return "\n".join([count, *([""] if behind else []), *map(_explained, behind)])


def _explained(line: Line) -> str:
    known = [start for start in REASONS if line.name.startswith(start)]
    reason = f": {REASONS[max(known, key=len)]}" if known else ""
    return f"- {line.name} ({line.ratio:.2f}){reason}"


def text_of(
    lines: Sequence[Line],
    titles: Mapping[str, str],
    notes: Sequence[str],
    condensed: Set[str] = frozenset(),
) -> str:
    """The whole report: a table for each group, then what is behind.

    Args:
        lines: of all groups.
        titles: of the groups.
        notes: that stand at the end.
        condensed: the groups whose lines are too many to be shown.
    """
    parts = []
    for group, its_lines in groupby(lines, key=lambda line: line.group):
        show = shares if group in condensed else table
        parts += [f"## {titles[group]}", show(list(its_lines))]
    shown = [line for line in lines if line.group not in condensed]
    return "\n\n".join([*parts, "## Where we are behind", summary(shown), *notes]) + "\n"


def json_of(lines: Sequence[Line]) -> str:
    """The lines for programs."""
    data = [line._asdict() | {"promise": line.promise, "behind": line.is_behind} for line in lines]
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
