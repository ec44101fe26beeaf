"""The check that no other `jax` is there: two would be taken for one another, file by file."""

from __future__ import annotations

import os
import sys


def check_alone() -> None:
    """Refuse to go on where the real JAX can be imported too.

    pip takes it away, as both have one name; it comes back by ``--target``, ``PYTHONPATH``, conda.

    Raises:
        ImportError: the sources of JAX are on the path.
    """
    for folder in sys.path:
        package = os.path.join(folder, "jax")
        # What no version of the real JAX is without, and this distribution has as no file.
        if os.path.isdir(os.path.join(package, "_src")):
            raise ImportError(
                "import jax, which is morphax here\n"
                f"  given:    the real JAX, too, in {os.path.abspath(package)}\n"
                "  expected: one distribution named jax\n"
                "  fix:      Take one away: `pip uninstall jax` until none is left, then install "
                "the one you want; or remove that folder from the path."
            )
