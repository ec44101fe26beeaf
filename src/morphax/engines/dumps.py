"""Programs as files, for whoever wants to read what is compiled (`jax_dump_ir_to`).

The files are numbered in the order in which they are written, by all threads of the process.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..config import current
from ..util.messages import message

_numbers: Final = itertools.count()
_UNFIT: Final = re.compile(r"[^\w.-]")
_OUTPUTS_OF_A_TEST: Final = "TEST_UNDECLARED_OUTPUTS_DIR"
"""What ``sponge`` stands for, the variable in which Bazel names the directory."""


def dump_jaxpr(name: str, text: Callable[[], str]) -> None:
    """Write the jaxpr of a function, where this is asked for."""
    if current().dump_ir_to and _wants("jaxpr"):
        _write(f"jax_{next(_numbers):06}_{name}.jaxpr.txt", text())


def dump_module(name: str, text: Callable[[bool], str]) -> None:
    """Write the StableHLO of a program, where this is asked for.

    Args:
        name: of the module.
        text: gives it, with or without the user's source lines.
    """
    if current().dump_ir_to and _wants("stablehlo"):
        with_lines = current().include_debug_info_in_dumps
        _write(f"jax_ir{next(_numbers):04}_{name}_compile.mlir", text(with_lines))


def _wants(mode: str) -> bool:
    return mode in map(str.strip, current().dump_ir_modes.split(","))


def _write(name: str, text: str) -> None:
    try:
        directory = _directory()
        directory.mkdir(parents=True, exist_ok=True)
        (directory / _UNFIT.sub("_", name)).write_text(text)
    except OSError as error:
        raise OSError(
            message(
                "config option jax_dump_ir_to",
                given=f"{current().dump_ir_to!r}, where {name} cannot be written: {error}",
                expected="a directory that can be written to",
                fix="Name another one, or '' to write nothing.",
            )
        ) from error


def _directory() -> Path:
    chosen = current().dump_ir_to
    if chosen != "sponge":
        return Path(chosen)
    if _OUTPUTS_OF_A_TEST not in os.environ:
        raise FileNotFoundError(f"the variable {_OUTPUTS_OF_A_TEST} is not set")
    return Path(os.environ[_OUTPUTS_OF_A_TEST])
