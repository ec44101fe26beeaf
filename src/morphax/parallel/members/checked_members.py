"""How `checkify` treats `shard_map`: each member has a state of its own, and they are results.

Members do not wait for each other, so none of them failed first; the first along the axes of the
mesh is told, with its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...control.checks.check_sites import CheckState, Site
from ...control.checks.checkify_bodies import CheckedProgram, apply_changed, apply_unchanged
from ...core import Equation, Jaxpr, Operand, ShapedArray, stage_closed
from ...core.partition_spec import PartitionSpec
from ...lax.indexing.dynamic_slicing import dynamic_index_in_dim
from ...lax.reduction.argreductions import argmax
from ...lax.shape.shape_operations import expand_dims
from .scope import member_scope
from .specs import Members

if TYPE_CHECKING:
    from ...control.checks.checked_programs import Interpreter


def check_members(
    interpreter: Interpreter, eqn: Equation, operands: Sequence[Operand], members: Members
) -> list[Any]:
    """Apply a `shard_map` of the checked program, and enter the state of a member that failed."""
    with member_scope(members):
        program = interpreter.program(eqn.params["jaxpr"])
        if not program.changed:
            return apply_unchanged(eqn, operands)
        checked = _with_rows(program)
    names = tuple([name for name in members.mesh.axis_names if name in members.manual_axes])
    count = program.state_size
    out_specs = (*[PartitionSpec(names)] * count, *eqn.params["out_specs"])
    results = apply_changed(eqn, operands, jaxpr=checked, out_specs=out_specs)
    member = argmax(results[0], 0, np.int32)
    state = [dynamic_index_in_dim(rows, member, keepdims=False) for rows in results[:count]]
    interpreter.ledger.add(_numbered(state, program, member), tuple(map(_of_member, program.sites)))
    return results[count:]


def _with_rows(program: CheckedProgram) -> Jaxpr:
    """The program with each number of its state as a row, for rows of members can be joined."""

    def function(*operands: Operand) -> list[Any]:
        state, outs = program.run(*operands)
        return [*[expand_dims(x, (0,)) for x in state.pack(program.layout)], *outs]

    return stage_closed(function, program.jaxpr.in_avals, program.jaxpr.debug_info)


def _of_member(site: Site) -> Site:
    """The site as it is outside: with the number of the member before the values."""
    avals = [ShapedArray(aval.shape, aval.dtype) for aval in site.signature]
    number = ShapedArray((), np.dtype(np.int32))
    return replace(site, signature=(number, *avals), members=site.members + 1)


def _numbered(packed: Sequence[Any], program: CheckedProgram, member: Operand) -> CheckState:
    """The state of one member, with its number before the values."""
    state, _ = CheckState.unpack(packed, program.layout)
    values: dict[Any, Any] = {_of_member(site).signature: [member] for site in program.sites}
    for site in program.sites:
        values[_of_member(site).signature] = [member, *state.values.get(site.signature, ())]
    return state._replace(values=values)
