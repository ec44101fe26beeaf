"""Measure one group of one package in this process; print its figures as JSON.

    python -m benchmarks.worker PACKAGE GROUP SCALE

Only public names that both packages have are used.  Figures are seconds per unit of work (equation,
call, step, process), unless their names say otherwise.
"""

from __future__ import annotations

import importlib
import json
import sys

from .groups import GROUPS
from .timing import SCALES


def main() -> None:
    package, group, scale = sys.argv[1:4]
    if (peer := GROUPS[group].peers.get(package)) is not None:
        figures = peer(SCALES[scale])
    else:
        figures = GROUPS[group].measure(importlib.import_module(package), SCALES[scale])
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
