"""One operation as a program: eager mode on devices other than the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...array import Array
from ...core import Equation, Jaxpr, Primitive, Var, infer
from ...util.memo import memoize
from .executable import Executable
from .lowering import lower


def call_program(primitive: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Jaxpr:
    """The program that consists of one application of `primitive`."""
    out_avals, effects = infer(primitive, tuple(params.items()), *avals)
    invars = tuple([Var(aval) for aval in avals])
    outvars = tuple([Var(aval) for aval in out_avals])
    call = Equation(primitive, invars, outvars, params, effects)
    return Jaxpr(invars, outvars, (call,), effects=effects)


def run_operation(
    primitive: Primitive,
    operands: Sequence[Array],
    params: dict[str, Any],
    device: Any,
    committed: bool,
) -> list[Array]:
    """Apply one operation on a device, by a program that is compiled once per signature."""
    avals = tuple([x.aval for x in operands])
    return _executable(primitive, tuple(params.items()), avals, device)(operands, committed)


@memoize
def _executable(
    primitive: Primitive, params: tuple[tuple[str, Any], ...], avals: tuple[Any, ...], device: Any
) -> Executable:
    program = call_program(primitive, avals, dict(params))
    return Executable.compile(lower(program, primitive.name, platform=device.platform), device)
