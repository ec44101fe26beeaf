"""One operation as a compiled program: what eager mode does not leave to NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...array import Array
from ...array.sharding import SingleDeviceSharding
from ...core import Primitive, call_program
from ...util.memo import memoize
from .executable import Executable
from .lowering import lower


def run_operation(
    primitive: Primitive,
    operands: Sequence[Array],
    params: dict[str, Any],
    place: SingleDeviceSharding,
    committed: bool,
) -> list[Array]:
    """Apply one operation at a place, by a program that is compiled once per signature."""
    avals = tuple([x.aval for x in operands])
    return _executable(primitive, tuple(params.items()), avals, place)(operands, committed)


@partial(memoize, maxsize=1024)
def _executable(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    place: SingleDeviceSharding,
) -> Executable:
    program = call_program(primitive, avals, dict(params))
    return Executable.compile(lower(program, primitive.name, platform=place.platform), place)
