"""Record the shapes and dtypes that JAX gives the calls of the tables, and the programs it prints.

Usage: ``python -m tests.numpy.record_golden``, with an interpreter that has JAX 0.10.1.
"""

from __future__ import annotations

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.numpy.programs import PROGRAMS, text
from tests.numpy.tables import (
    editing,
    elementwise,
    linalg_spectral,
    methods,
    products,
    reductions,
    structure,
)

GOLDEN = Path(__file__).with_name("golden.json")
PROGRAM_TEXTS = Path(__file__).with_name("golden_programs.txt")
TABLES = (elementwise, structure, reductions, products, methods, linalg_spectral, editing)


def facts(jax: Any, result: Any) -> list[list[Any]]:
    """Shape, dtype and weak type of each leaf."""
    leaves = [jax.numpy.asarray(leaf) for leaf in jax.tree.leaves(result)]
    return [[list(x.shape), str(x.dtype), bool(x.weak_type)] for x in leaves]


def record() -> None:
    """Write the file of records."""
    jax = import_module("jax")
    jnp = import_module("jax.numpy")
    records = {}
    for case in [case for table in TABLES for case in table.CASES]:
        for dtype in case.dtypes:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = case.call(jnp, *[jnp.asarray(x) for x in case.draw(dtype)])
            except Exception as error:
                print(f"{case.label} {dtype}: {type(error).__name__}: {str(error)[:120]}")
                continue
            records[f"{case.label}|{dtype}"] = facts(jax, result)
    GOLDEN.write_text("{\n" + ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(records.items())
    ) + "\n}\n")  # fmt: skip


def record_programs() -> None:
    """Write the file of printed programs, each after a line with its label."""
    jax = import_module("jax")
    jnp = import_module("jax.numpy")
    texts = [f"# {label}\n{text(jax, jnp, shape, f)}\n" for label, shape, f in PROGRAMS]
    PROGRAM_TEXTS.write_text("".join(texts))


def programs() -> dict[str, str]:
    """The printed programs by label."""
    sections = PROGRAM_TEXTS.read_text().split("# ")[1:]
    return {label: body.rstrip("\n") for label, body in (s.split("\n", 1) for s in sections)}


if __name__ == "__main__":
    record()
    record_programs()
