"""The ratios of a run as bars: to the left of the middle line morphax is ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from .report import Line


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draw one bar per line, as long as the logarithm of its ratio to JAX, or to SciPy.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.2 + 0.2 * len(lines)), layout="constrained")
    axes = figure.add_subplot()
    lengths = [math.log2(max(line.ratio, 1e-4)) for line in lines]
    colours = ["tab:red" if line.is_behind else "tab:blue" for line in lines]
    places = [-i for i in range(len(lines))]
    axes.barh(places, lengths, color=colours, height=0.8)
    for line, place in zip(lines, places, strict=True):
        if line.promise is not None:
            middle = math.log2(line.promise)
            axes.plot([middle, middle], [place - 0.4, place + 0.4], color="black", linewidth=1.5)
    axes.set_yticks(places, [line.name for line in lines], fontsize=7)
    ticks = range(math.floor(min([*lengths, -1])), math.ceil(max([*lengths, 1])) + 1)
    axes.set_xticks(list(ticks), [_ratio(tick) for tick in ticks], fontsize=7)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_ylim(places[-1] - 1, 1)
    axes.set_title("Time or memory relative to JAX or SciPy; black marks are promises", fontsize=9)
    figure.savefig(path)


def _ratio(power: int) -> str:
    return f"{2**power}×" if power >= 0 else f"1/{2**-power}"
