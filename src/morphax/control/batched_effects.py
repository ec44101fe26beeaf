"""Effects in branches and loops whose members, under `vmap`, go different ways.

Such a branch or body runs for all members as soon as one needs it, and results are selected.  For
prints that is what users expect to see; an effect on the world outside would happen too often.  A
check must count for the members that came to it alone: it becomes a result, which is selected like
the others, and is looked at behind the operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import (
    BatchAxes,
    Effects,
    Operand,
    Param,
    Primitive,
    apply_jaxpr,
    aval_of,
    call_program,
    unrepeatable,
)
from ..transforms.batching import batch_jaxpr, unbatched_aval
from ..util.messages import message
from . import checks
from .checks.check_primitive import check_p
from .checks.check_sites import DivisionByZeroError, FailedCheckError, NaNError, OOBError

_EVERY_CATEGORY = frozenset({DivisionByZeroError, FailedCheckError, NaNError, OOBError})


def batch_with_checks(
    primitive: Primitive,
    axes: BatchAxes,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
    params: dict[str, Param],
) -> tuple[list[Any], Sequence[int | None]]:
    """The `batch` rule for an operation whose programs contain checks."""
    avals = [
        aval_of(x) if d is None else unbatched_aval(aval_of(x), d)
        for x, d in zip(operands, dims, strict=True)
    ]
    checked_program = checks.checked_programs.checked_program
    program = checked_program(call_program(primitive, avals, params), _EVERY_CATEGORY, frozenset())
    fragment = batch_jaxpr(program.jaxpr, tuple(dims), axes)
    results, where = apply_jaxpr(fragment.jaxpr, *operands), fragment.out_dims
    count = program.state_size
    debug = all(site.debug for site in program.sites)
    check_p.batch(axes, results[:count], where[:count], sites=program.sites, debug=debug)
    return results[count:], where[count:]


def check_repeatable(operation: str, effects: Effects) -> None:
    """Raise an error if `operation` may not run for members that did not ask for it.

    Args:
        operation: what is batched, in the words of users: ``"lax.cond"``.
        effects: of its programs.
    """
    names = unrepeatable(effects)
    if names:
        raise NotImplementedError(
            message(
                f"vmap of {operation}",
                given=f"the effect {', '.join(names)}, and a predicate that differs between "
                "members of the batch",
                expected="effects that may happen for all members as soon as one needs them",
                fix="Make the predicate the same for all members, or use lax.map instead of vmap.",
            )
        )
