"""What the operations with a body share: tangents in pairs, and eager execution."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..array import Array
from ..array.colocation import placement_of
from ..core import Jaxpr, Primitive, Zero
from ..engines.xla.operation import run_operation
from .checks.check_primitive import has_checks


def split_tangents(
    results: Sequence[Any], out_active: Sequence[bool], out_avals: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Results of a program with tangents as a pair of lists, `Zero` where there is no tangent."""
    count = len(out_active)
    tangents = iter(results[count:])
    return list(results[:count]), [
        next(tangents) if on else Zero(aval.to_tangent_aval())
        for on, aval in zip(out_active, out_avals, strict=True)
    ]


_nothing = nullcontext()


def no_scope(step: int) -> AbstractContextManager[Any]:
    """The context in which a step runs that nobody looks at."""
    return _nothing


def run_compiled(
    primitive: Primitive, operands: Sequence[Array], params: dict[str, Any]
) -> list[Array]:
    """Apply one operation by a compiled program, made once per signature."""
    place, committed = placement_of(operands, primitive.name)
    return run_operation(primitive, operands, params, place, committed)


# An eager loop is interpreted as long as that takes no longer than to call a compiled program.
INTERPRETED_OPERATIONS = 16
# Above this many elements per operation a compiled loop is worth its compilation.
_TINY_ELEMENTS = 1024


def tiny(jaxpr: Jaxpr) -> bool:
    """Whether interpreting a program with NumPy takes microseconds per operation.

    Never with checks, so that a loop does not begin to refuse them when it grows.
    """
    return not has_checks(jaxpr.effects) and all(
        v.aval.size <= _TINY_ELEMENTS for eqn in jaxpr.eqns for v in eqn.outvars
    )
