"""Effects in branches and loops whose members, under `vmap`, go different ways.

Such a branch or body runs for all members as soon as one needs it, and results are selected.  For
prints that is what users expect to see; an effect on the world outside would happen too often.
"""

from __future__ import annotations

from ..core import Effects, unrepeatable
from ..util.messages import message


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
