"""Numbers that Python asks for while the program of a member is written: ``if psum(x) > 0``.

Outside of compiled programs the operands are there, so what a number depends on can be run at once:
the equations up to it, as a program of members with one result.  That is possible for what is the
same for all members, which types tell.  Members cannot go different ways in one Python program.

The program that is written then holds for this number only, and is not kept; each question costs a
compilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context
from typing import Any, final

from ...core import (
    Jaxpr,
    Literal,
    Operand,
    StagingTrace,
    Tracer,
    Var,
    current_trace,
    note_concretised,
    outside_transformations,
)
from ...core.partition_spec import PartitionSpec
from .shard_map_primitive import shard_map_p
from .specs import Members, Specs

_WHOLE = PartitionSpec()


def ask_for_numbers(
    given: Sequence[Operand], in_specs: Specs, members: Members, outside: Context
) -> None:
    """Let the current trace, which writes the program of a member, find out numbers.

    Args:
        given: the whole operands.
        in_specs: how they are split.
        members: who runs it.
        outside: the context of whoever called the function of whole arrays.
    """
    trace = current_trace()
    assert isinstance(trace, StagingTrace), "programs of members are staged"
    trace.ask = AskedNumbers(trace, given, in_specs, members, outside)


@final
class AskedNumbers:
    """Finds out numbers behind variables of a program that is being written.

    Args:
        trace: what writes the program of a member.
        given, in_specs, members, outside: see `ask_for_numbers`.
    """

    def __init__(
        self,
        trace: StagingTrace,
        given: Sequence[Operand],
        in_specs: Specs,
        members: Members,
        outside: Context,
    ) -> None:
        self._trace = trace
        self._given = given
        self._in_specs = in_specs
        self._members = members
        self._outside = outside
        self._known: dict[Var, Any] = {}

    def __call__(self, atom: Var | Literal) -> Any | None:
        """The number; `None` if there is none yet, or not one for all members."""
        if isinstance(atom, Literal):
            return atom.val
        aval: Any = atom.aval
        same_for_all = self._members.check_vma and not aval.vma & self._members.manual_axes
        if not same_for_all or not self._trace.live:
            return None
        if atom not in self._known:
            self._known[atom] = self._run_up_to(atom)
        note_concretised()
        return self._known[atom]

    def _run_up_to(self, atom: Var) -> Any | None:
        needed, equations = {atom}, []
        for eqn in reversed(self._trace.equations):
            if not needed.isdisjoint(eqn.outvars):
                if eqn.effects:
                    # They would come about once more, when the whole program is run.
                    return None
                equations.append(eqn)
                needed.update([a for a in eqn.invars if type(a) is Var])
        constants = {v: x for v, x in self._trace.constants().items() if v in needed}
        operands = [*constants.values(), *self._given]
        numbers = [x.concrete() if isinstance(x, Tracer) else x for x in operands]
        if any([x is None for x in numbers]):
            return None
        program = Jaxpr((*constants, *self._trace.invars), (atom,), tuple(reversed(equations)))
        return self._outside.copy().run(self._result, program, numbers, len(constants))

    def _result(self, program: Jaxpr, operands: Sequence[Any], constants: int) -> Any:
        with outside_transformations():
            (number,) = shard_map_p.bind(
                *operands,
                jaxpr=program,
                in_specs=(*[_WHOLE] * constants, *self._in_specs),
                out_specs=(_WHOLE,),
                **self._members._asdict(),
            )
        return number
