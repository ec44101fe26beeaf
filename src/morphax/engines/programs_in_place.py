"""Operations that are computed by a program in their place.

Their primitive says so, or a user has given them a rule of lowering that is a function of arrays
(`mlir.lower_fun`).  Engines that write loops write that program where the operation is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..core import Equation, Jaxpr


class RuleWithProgram(ABC):
    """A rule of lowering that may be a program, the rule `lower` of a primitive."""

    @abstractmethod
    def program(
        self, platform: str, avals: tuple[Any, ...], outs: Any, params: dict[str, Any]
    ) -> Jaxpr | None:
        """What the rule for a platform computes, if that is known.

        Args:
            platform: that the operation runs on.
            avals: of the operands.
            outs: the aval of the result, a list of them if the primitive has several results.
            params: of the operation.
        """


def program_in_place_of(eqn: Equation, platform: str) -> Jaxpr | None:
    """The program of the primitive or of a user's lowering rule, `None` if there is no such."""
    rules = vars(eqn.primitive).get("lower")
    if rules is None or not isinstance(rules, RuleWithProgram):
        made = eqn.primitive.program_in_place
        return None if made is None else made(*[a.aval for a in eqn.invars], **eqn.params)
    outs: Any = [v.aval for v in eqn.outvars]
    if not eqn.primitive.multiple_results:
        (outs,) = outs
    return rules.program(platform, tuple([a.aval for a in eqn.invars]), outs, eqn.params)
