"""Checks in branches and loops whose members, under `vmap`, go different ways.

Such a branch or body runs for all members, and results are selected.  A check must count for the
members that came to it alone: it becomes a result, which is selected like the others, and is looked
at behind the operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import BatchAxes, Primitive, apply_jaxpr, aval_of, call_program
from ...transforms.batching import batch_jaxpr, unbatched_aval
from .check_primitive import check_p
from .check_sites import DivisionByZeroError, FailedCheckError, NaNError, OOBError
from .checked_programs import checked_program

_EVERY_CATEGORY = frozenset({DivisionByZeroError, FailedCheckError, NaNError, OOBError})


def batch_with_checks(
    primitive: Primitive,
    axes: BatchAxes,
    operands: Sequence[Any],
    dims: Sequence[int | None],
    params: dict[str, Any],
) -> tuple[list[Any], Sequence[int | None]]:
    """The `batch` rule for an operation whose programs contain checks."""
    avals = [
        aval_of(x) if d is None else unbatched_aval(aval_of(x), d)
        for x, d in zip(operands, dims, strict=True)
    ]
    program = checked_program(call_program(primitive, avals, params), _EVERY_CATEGORY, frozenset())
    fragment = batch_jaxpr(program.jaxpr, tuple(dims), axes)
    results, where = apply_jaxpr(fragment.jaxpr, *operands), fragment.out_dims
    count = program.state_size
    debug = all(site.debug for site in program.sites)
    check_p.batch(axes, results[:count], where[:count], sites=program.sites, debug=debug)
    return results[count:], where[count:]
