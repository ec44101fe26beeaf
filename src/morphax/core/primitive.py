"""The contract of a primitive: one final class, its rules side by side.

A primitive is an operation that transformations know.  Each is a subclass of `Primitive` with one
instance; `bind` applies it in the current trace.  The rules, all called with the parameters as
keyword arguments:

===================  ===============================================================================
`abstract_eval`      avals of the operands → aval of the result (a list if `multiple_results`).
                     Depends on avals and params alone, for it is memoised; raises `TypeError` or
                     `ValueError` on wrong operands.
`effects`            params → the set of effects of the equation.
`evaluate`           NumPy operands → NumPy result: the meaning, used by the reference engine.
`execute`            Arrays → Array(s), if eager mode should not use `evaluate` (programs, say).
`lower`              StableHLO: a builder, the result's aval(s), operand values → result value(s).
`jvp`                primals, tangents (`Zero` where known to be zero) → result, tangent of it.
                     Or `linear = True`: linear in all operands together, so the rule is `bind`.
`transpose`          cotangent(s) of the result(s), operands (`UndefinedPrimal` where linear) →
                     one cotangent or `None` per operand.
`batch`              a `BatchAxes` (axis size and name), operands, their batch axes (`None` if not
                     mapped) → result(s), batch axis (axes) of the result(s).
===================  ===============================================================================

Operations that carry programs may also define

===================  ===============================================================================
`linearize`          avals, which operands are active, params → a `Linearization`, where deriving it
                     from `jvp` would lose structure (`jit`, `scan`, …).
`process_jvp`        A trace of differentiation or batching, operands, params → result(s): for
`process_linearize`  operations that run functions of the user, such as custom derivatives, and so
`process_batch`      must see the operands themselves.
`collect`            like `batch`, where the batch axis is one of `axis_names(params)`, over which
                     the operation communicates.
===================  ===============================================================================

A rule that cannot exist is declared with its reason, `jvp = not_differentiable("…")`.  A rule that
is simply missing fails the completeness test (`tests/core/test_completeness.py`), and a user who
meets it is told which method to write.

Rules are written in terms of other primitives and run while staging, on abstract operands; what
they write is remembered per signature (see `core.trace`).  `printed_params` chooses what the text
of an equation shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, final

from ..util.memo import memoize_if_hashable
from ..util.messages import message
from .aval import AbstractValue
from .effects import Effects, no_effects
from .trace import _current


@final
@dataclass(frozen=True, slots=True)
class BatchAxes:
    """The mapped axis of one `vmap`: its size, and its name if collectives may refer to it."""

    size: int
    name: Any = None


class Rule(Protocol):
    """What interpreters call: arguments as the table above says, parameters by keyword."""

    def __call__(self, *args: Any, **params: Any) -> Any: ...


# Who calls a rule, in the words of users.
_ASKED_BY = {
    "abstract_eval": "tracing",
    "evaluate": "eager evaluation",
    "lower": "compilation",
    "jvp": "differentiation",
    "transpose": "transposition (reverse-mode differentiation)",
    "batch": "batching (vmap)",
    "collect": "communication over a mapped axis",
}


@final
class NoRule:
    """A rule that does not exist; `reason` is None if nobody has declared that it cannot."""

    def __init__(self, kind: str, reason: str | None) -> None:
        self.kind = kind
        self.reason = reason

    def __get__(self, instance: Any, owner: type) -> Rule:
        name = getattr(owner if instance is None else instance, "name", owner.__name__)
        fix = f"Define the method `{self.kind}` of the class {owner.__name__}."
        if self.reason is not None:
            fix = f"Write the program without {name} here: {self.reason}."

        def refuse(*args: Any, **params: Any) -> Any:
            raise TypeError(
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


class Primitive:
    """Base of all primitives; see the module's text for the rules."""

    name: ClassVar[str]
    multiple_results: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    # Whether the parameters `name` and `jaxpr` are a call, printed with the caller's variables.
    is_call: ClassVar[bool] = False

    abstract_eval: Rule = undeclared("abstract_eval")
    evaluate: Rule = undeclared("evaluate")
    lower: Rule = undeclared("lower")
    jvp: Rule = undeclared("jvp")
    execute: Callable[..., Any] | None = None
    linearize: Callable[..., Any] | None = None
    process_jvp: Callable[..., Any] | None = None
    process_linearize: Callable[..., Any] | None = None
    process_batch: Callable[..., Any] | None = None
    collect: Rule = undeclared("collect")
    transpose: Rule = undeclared("transpose")
    batch: Rule = undeclared("batch")

    def effects(self, **params: Any) -> Effects:
        return no_effects

    def axis_names(self, **params: Any) -> tuple[Any, ...]:
        """Names of mapped axes that the operation communicates over."""
        return ()

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Apply the primitive in the current trace."""
        return _current.trace.process(self, operands, params)

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that the text of an equation shows, in their order."""
        return dict(sorted(params.items()))

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Functions and params with which an interpreter calls `bind` again."""
        return [], params

    def __repr__(self) -> str:
        return self.name


@memoize_if_hashable
def infer(
    primitive: Primitive, params: tuple[tuple[str, Any], ...], *avals: AbstractValue
) -> tuple[tuple[AbstractValue, ...], Effects]:
    """Result avals and effects of one application; worked out once per signature."""
    named = dict(params)
    result = primitive.abstract_eval(*avals, **named)
    outs = tuple(result) if primitive.multiple_results else (result,)
    return outs, primitive.effects(**named)
