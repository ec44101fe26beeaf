"""Rules that a primitive has not, and why."""

from __future__ import annotations

from typing import Any, Protocol, final

from ..util.messages import message
from .abstract_value import Param


class Rule(Protocol):
    """What interpreters call: arguments as the table above says, parameters by keyword."""

    def __call__(self, *args: Any, **params: Param) -> Any: ...


# Who calls a rule, in the words of users.
_ASKED_BY = {
    "abstract_eval": "tracing",
    "evaluate": "eager evaluation",
    "lower": "compilation",
    "jvp": "differentiation",
    "transpose": "transposition (reverse-mode differentiation)",
    "batch": "batching (vmap)",
    "discharge": "use of references",
    "collect": "communication over a mapped axis",
}


@final
class NoRule:
    """A rule that does not exist; `reason` is None if nobody has declared that it cannot.

    For primitives without a class of their own, `fix` tells how the rule is set, and `error` is
    what their users expect.
    """

    def __init__(
        self,
        kind: str,
        reason: str | None,
        fix: str | None = None,
        error: type[Exception] = TypeError,
    ) -> None:
        self.kind = kind
        self.reason = reason
        self.fix = fix
        self.error = error

    def __get__(self, instance: object, owner: type) -> Rule:
        name = getattr(owner if instance is None else instance, "name", owner.__name__)
        fix = self.fix or f"Define the method `{self.kind}` of the class {owner.__name__}."
        if self.reason is not None:
            fix = f"Write the program without {name} here: {self.reason}."

        def refuse(*args: object, **params: Param) -> Any:
            raise self.error(
                message(
                    f"{_ASKED_BY[self.kind]} of {name}",
                    given=f"a program that applies {name}",
                    expected=f"primitives that have the rule `{self.kind}`",
                    fix=fix,
                )
            )

        return refuse


def not_differentiable(reason: str) -> Any:
    """Declare that there is no derivative rule, for `reason`."""
    return NoRule("jvp", reason)


def not_linear(reason: str = "the operation is not linear in any operand") -> Any:
    """Declare that there is no transpose rule, for `reason`."""
    return NoRule("transpose", reason)


def not_batchable(reason: str) -> Any:
    """Declare that there is no batching rule, for `reason`."""
    return NoRule("batch", reason)


def undeclared(kind: str) -> Any:
    """The state of a rule that nobody has written."""
    return NoRule(kind, None)
